"""A bad node before anvil: it fails, is slow, refuses what it should take, loses its answer, or
forgets that something waits.

What it does to request n follows from sha256(seed, name, n) alone. Every raw transaction that
reaches it is looked up in the keeper's rows at that moment: bytes that are not committed must not
leave the process, but for stops.

A node may also be bad for good, in calm too: one that swallows transactions and says that they
wait, one that tells absurd fees, one that refuses large batches. Of the first two an honest one
stands beside it.
"""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Any

from core.mandate.chain import calldata
from tests.integration.chaos.server import Answer, DropError, capped, ok
from tests.integration.keeper.chaos.mempool import REFUSED_CODE, Mempool, read, tx_hash_of

TRANSPORT_SHARE = 0.05
SLOW_SHARE, SLOW_S = 0.05, 0.12
SEND_SHARE = 0.12
GARBAGE_SHARE = 0.1
ABSURD_FEE_WEI = 10**24  # 10^15 gwei
BATCH_TOO_LARGE = {"code": -32600, "message": "batch too large"}
STOP = calldata.enforce_stop_line().removeprefix("0x")
GARBAGE: tuple[Any, ...] = (7, {}, [], True, "0xzz", "", "worth", "0x" + "f" * 10_000)
WORTHLESS: tuple[Any, ...] = (*GARBAGE, None, "0x", "0x" + "00" * 31)  # of a word
SEND = "eth_sendRawTransaction"
BY_HASH = "eth_getTransactionByHash"

Body = dict[str, Any]


class Ill(StrEnum):
    """What is wrong with a node for the whole of a story; `GARBAGE` ends in calm."""

    SWALLOWS = "swallows transactions"
    ABSURD_FEES = "tells absurd fees"
    SMALL_BATCHES = "refuses large batches"
    GARBAGE = "answers one call of a batch with garbage"


@dataclass(slots=True)
class BadNode:
    """`is_committed` answers None when the database can't say.

    `early` and `unsure` are what was sent before it was committed, and what could not be looked up;
    `batch_limit` is of a node that refuses large ones.
    """

    name: str
    seed: int
    upstream_port: int
    pool: Mempool
    is_committed: Callable[[str], bool | None]
    ill: Ill | None = None
    batch_limit: int = 20
    is_faulty: bool = True
    is_down: bool = False
    faults: dict[str, int] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    early: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    _swallowed: dict[str, str] = field(default_factory=dict)  # raw by hash
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, raw: bytes, ask: Callable[[Any], Any]) -> Answer:
        """The answer to one HTTP request. Errors: DropError."""
        request = json.loads(raw)
        calls = request if isinstance(request, list) else [request]
        self._watch([call["params"][0] for call in calls if call["method"] == SEND])
        if self.is_down:
            raise DropError
        with self._lock:
            self._count += 1
            number = self._count
        broken = self._broken(number) if self.is_faulty else None
        if broken is not None:
            return broken
        if self.ill is Ill.SMALL_BATCHES and len(calls) > self.batch_limit:
            self.note(self.ill)
            return self._too_large(calls)
        answers = self._answers(number, calls, ask)
        if self.is_faulty and self._happens(
            "lost", number, TRANSPORT_SHARE if calls[0]["method"] != SEND else SEND_SHARE
        ):
            self.note("answer lost")
            raise DropError
        return ok(answers if isinstance(request, list) else answers[0])

    def note(self, fault: str) -> None:
        with self._lock:
            self.faults[fault] = self.faults.get(fault, 0) + 1

    def _watch(self, raws: list[str]) -> None:
        for raw in raws:
            if STOP in raw:
                continue  # its row is written afterwards
            committed = self.is_committed(raw)
            with self._lock:
                self.sent.append(raw)
                if committed is not True:
                    (self.unsure if committed is None else self.early).append(raw)

    def _broken(self, number: int) -> Answer | None:
        """Before the chain hears of the request."""
        if self._happens("slow", number, SLOW_SHARE):
            self.note("slow")
            time.sleep(SLOW_S * self._chance("how slow", number))
        if not self._happens("broken", number, TRANSPORT_SHARE):
            return None
        fault = self._pick("broken", number, ("dropped", "dropped", "429", "500", "no JSON"))
        self.note(fault)
        if fault == "dropped":
            raise DropError
        return Answer(200, b"<html>") if fault == "no JSON" else Answer(int(fault), b"slow down")

    def _answers(self, number: int, calls: list[Body], ask: Callable[[Any], Any]) -> list[Body]:
        others = [capped(call) for call in calls if call["method"] != SEND]
        by_id = {answer["id"]: answer for answer in (ask(others) if others else [])}
        for index, call in enumerate(calls):
            if call["method"] == SEND:
                by_id[call["id"]] = self._sent(f"{number}.{index}", call)
            elif call["method"] == BY_HASH and by_id[call["id"]].get("result", 0) is None:
                by_id[call["id"]]["result"] = self._waiting(f"{number}.{index}", call["params"][0])
        answers = [by_id[call["id"]] for call in calls]
        if self.ill is Ill.ABSURD_FEES:
            self._tell_absurd_fees(number, calls, answers)
        if self.ill is Ill.GARBAGE and self.is_faulty:
            self._garble(number, calls, answers)
        return answers

    def _too_large(self, calls: list[Body]) -> Answer:
        """As nodes word it: one refusal in a list, or no list at all."""
        refusal = {"jsonrpc": "2.0", "id": calls[0]["id"], "error": BATCH_TOO_LARGE}
        return ok([refusal] if self.name == "first" else {**refusal, "id": None})

    def _tell_absurd_fees(self, number: int, calls: list[Body], answers: list[Body]) -> None:
        """A tip that buys the block, and a base fee of nothing in every second answer that shows
        one.
        """
        for index, (call, answer) in enumerate(zip(calls, answers, strict=True)):
            result = answer.get("result")
            if call["method"] in ("eth_maxPriorityFeePerGas", "eth_gasPrice"):
                answer["result"] = hex(ABSURD_FEE_WEI)
            elif call["method"] == "eth_feeHistory" and result:
                result["reward"] = [
                    [hex(ABSURD_FEE_WEI)] * len(tips) for tips in result.get("reward") or []
                ]
            elif (
                isinstance(result, dict)
                and "baseFeePerGas" in result
                and self._happens("no base fee", f"{number}.{index}", 0.5)
            ):
                result["baseFeePerGas"] = "0x0"
            else:
                continue
            self.note(Ill.ABSURD_FEES)

    def _garble(self, number: int, calls: list[Body], answers: list[Body]) -> None:
        asked = [
            (call["method"], answer)
            for call, answer in zip(calls, answers, strict=True)
            if call["method"] != SEND
        ]
        asked = [(method, answer) for method, answer in asked if answer.get("result") is not None]
        if len(asked) > 1 and self._happens("garbage", number, GARBAGE_SHARE):
            self.note(Ill.GARBAGE)
            method, garbled = self._pick("garbled", number, tuple(asked))
            garbled["result"] = self._pick(
                "garbage", number, WORTHLESS if method == "eth_call" else GARBAGE
            )

    def _sent(self, number: str, call: Body) -> Body:
        """One in a few is refused, or taken and forgotten at once."""
        raw, head = call["params"][0], {"jsonrpc": "2.0", "id": call["id"]}
        if self.ill is Ill.SWALLOWS:
            self.note(self.ill)
            self._swallowed[tx_hash_of(raw)] = raw
            return {**head, "result": tx_hash_of(raw)}
        if self.is_faulty and self._happens("send", number, SEND_SHARE):
            fault = self._pick(
                "send", number, ("txpool is full", "internal error", "nonce too low", "swallowed")
            )
            self.note(fault)
            if fault != "swallowed":
                return {**head, "error": {"code": REFUSED_CODE, "message": fault}}
            return {**head, "result": "0x" + "00" * 32}
        return {**head, **self.pool.offer(raw)}

    def _waiting(self, number: str, tx_hash: str) -> Body | None:
        """A pending transaction, unless the node forgot about it for a moment."""
        if tx_hash in self._swallowed:
            return read(self._swallowed[tx_hash]).as_told()
        told = self.pool.told_of(tx_hash)
        if told is None:
            return None
        if self.is_faulty and self._happens("forgets", number, SEND_SHARE):
            self.note("forgets")
            return None
        return told

    def _happens(self, what: str, number: int | str, share: float) -> bool:
        return self._chance(what, number) < share

    def _chance(self, what: str, number: int | str) -> float:
        return (
            int.from_bytes(sha256(f"{self.seed}:{self.name}:{what}:{number}".encode()).digest()[:6])
            / 2**48
        )

    def _pick(self, what: str, number: int | str, choices: tuple[Any, ...]) -> Any:
        return choices[int(self._chance(f"pick {what}", number) * len(choices))]
