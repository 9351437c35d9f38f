"""The lens's answers, read strictly: what no lens can say is the node's failure."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from core.chain.abi import function
from core.chain.errors import RpcUnreachableError
from core.chain.nodes import Nodes
from core.mandate.chain.lens import (
    LensBlock,
    LensMissingError,
    LensReading,
    LensRow,
    NotSeenError,
)
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.lifecycle import Status, VaultStatus
from tests.each import each
from tests.node_transport import in_threads

LENS = "0x" + "33" * 20
USDC = "0x" + "22" * 20
AGENT = "0x" + "44" * 20
BLOCK = (16, 0x64000000, "0x" + "cd" * 32, 3)
HEAD = LensBlock(*BLOCK)
LOG_HEAD = "0x" + "ab" * 32
READING = (1, AGENT, 5, 2, 3, 1, LOG_HEAD)
POSITION = (AGENT, 0, 9, (10, 4, 3, 2, 1, 2, 7))
READ = LensReading(
    block=HEAD,
    status=VaultStatus.WORKING,
    agent=AGENT,
    worth_usdc_e6=5,
    unvalued_out_usdc_e6=2,
    own_cash_usdc_e6=3,
    fee_owed_usdc_e6=1,
    log_head=LOG_HEAD,
)
NOTHING = (0, "0x" + "00" * 20, 0, 0, 0, 0, "0x" + "00" * 32)


def vault(number: int) -> str:
    return "0x" + f"{number:040x}"


def row(outcome: int, **changes: Any) -> tuple[Any, ...]:
    """A reading of the lens, as the words of its struct."""
    names = ("status", "agent", "worth", "unvalued_out", "own_cash", "fee_owed", "log_head")
    values = dict(zip(names, READING if outcome > 1 else NOTHING, strict=True))
    if outcome == 2:
        values["worth"] = 0
    return (outcome, *(values | changes).values())


def words(*values: Any) -> str:
    """Of ints, hex texts and tuples of them."""
    flat = ""
    for value in values:
        if isinstance(value, tuple):
            flat += words(*value)
        elif isinstance(value, str):
            flat += value.removeprefix("0x").rjust(64, "0")
        else:
            flat += f"{value:064x}"
    return flat


def answer(*rows: tuple[Any, ...]) -> str:
    return "0x" + words(BLOCK, 160, len(rows)) + "".join(words(*one) for one in rows)


class Node(httpx.BaseTransport):
    """Answers an eth_call of the lens by what the test says of the vaults that it names."""

    def __init__(self, says: Callable[[list[str]], str | dict[str, Any]]) -> None:
        self.says = says
        self.asked: list[list[str]] = []
        self.requests = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests += 1
        body = json.loads(request.content)
        answers = [self._answer(call) for call in (body if isinstance(body, list) else [body])]
        return httpx.Response(200, json=answers if isinstance(body, list) else answers[0])

    def _answer(self, call: dict[str, Any]) -> dict[str, Any]:
        transaction, _ = call["params"]
        assert (transaction["to"], int(transaction["gas"], 16)) == (LENS, 50_000_000)
        name = next(
            name
            for name in ("readings", "positions")
            if transaction["data"].startswith(function("VaultLens", name).selector)
        )
        (vaults,) = function("VaultLens", name).decode_input(transaction["data"])
        self.asked.append([one.lower() for one in vaults])
        said = self.says(self.asked[-1])
        told = {"result": said} if isinstance(said, str) else {"error": said}
        return {"jsonrpc": "2.0", "id": call["id"], **told}


def reader_of(node: httpx.BaseTransport) -> VaultReader:
    rpc = Nodes(["http://node"], transport=in_threads(node), deadline_s=0.5)
    return VaultReader(rpc, {"usdc": USDC, "vault_lens": LENS})


def read(said: str, *vaults: str) -> dict[str, LensRow[LensReading]] | None:
    """What the only node's lens says; None: the node failed."""
    reader = reader_of(Node(lambda asked: said))
    try:
        return next(iter(reader.lens_of_each(vaults, 0.5).values()), None)
    finally:
        reader.rpc.close()


def test_readings__of_the_first_vaults__are_what_the_lens_says_of_each() -> None:
    said = answer(row(3), row(0), row(1), row(2))
    found = read(said, *[vault(number) for number in range(1, 6)])
    assert found is not None
    assert list(found) == [vault(number) for number in range(1, 5)]
    assert [one.outcome for one in found.values()] == [3, 0, 1, 2]
    assert {one.block for one in found.values()} == {HEAD}
    assert found[vault(1)].reading == READ
    assert (found[vault(2)].reading, found[vault(3)].reading) == (None, None)
    unvalued = found[vault(4)].reading
    assert unvalued is not None
    assert (unvalued.worth_usdc_e6, unvalued.own_cash_usdc_e6) == (None, 3)


LIES: dict[str, str] = {
    "a head alone": "0x" + words(BLOCK),
    "no vault": answer(),
    "more vaults than were asked for": answer(row(3), row(3)),
    "a word short": answer(row(3))[:-64],
    "a word long": answer(row(3)) + "00" * 32,
    "half a word": answer(row(3))[:-32],
    "a count without rows": "0x" + words(BLOCK, 160, 1),
    "a count of 2^255": "0x" + words(BLOCK, 160, 2**255, *row(3)),
    "rows elsewhere": "0x" + words(BLOCK, 128, 1, *row(3)),
    "a block of 2^60": "0x" + words(2**60, *BLOCK[1:], 160, 1, *row(3)),
    "a time of 2^36": "0x" + words(BLOCK[0], 2**36, *BLOCK[2:], 160, 1, *row(3)),
    "2^60 vaults": "0x" + words(*BLOCK[:3], 2**60, 160, 1, *row(3)),
    "an outcome of 4": answer(row(4)),
    "a status of 4": answer(row(3, status=4)),
    "a status of 256": answer(row(3, status=256)),
    "no address": answer(row(3, agent=2**160)),
    "own cash of 2^96": answer(row(3, own_cash=2**96)),
    "a fee of 2^96": answer(row(3, fee_owed=2**96)),
    "cost of 2^96": answer(row(3, unvalued_out=2**96)),
    "unread with a status": answer(row(0, status=1)),
    "no vault with a log": answer(row(1, log_head=LOG_HEAD)),
    "unvalued with a worth": answer(row(2, worth=1)),
    "not hex": "0xzz",
    "ones alone": "0x" + "ff" * 32 * 13,
}


@each("lie", LIES.values(), ids=list(LIES))
def test_readings__of_another_form__are_that_nodes_failure(lie: str) -> None:
    assert read(lie, vault(1)) is None


@each(
    "changes, known",
    [
        ({"own_cash": 2**96 - 1}, ("own_cash_usdc_e6", 2**96 - 1)),
        ({"worth": 2**256 - 1}, ("worth_usdc_e6", 2**256 - 1)),
        ({"status": 3}, ("status", VaultStatus.SETTLED)),
    ],
)
def test_readings__at_the_bounds__are_read(changes: Any, known: tuple[str, Any]) -> None:
    found = read(answer(row(3, **changes)), vault(1))
    assert found is not None
    assert getattr(found[vault(1)].reading, known[0]) == known[1]


# The longer form


def position(outcome: int, *, stopped_at: int = 0, nonce: int = 7) -> tuple[Any, ...]:
    payee, _, balance, totals = POSITION
    return (*row(outcome), payee, stopped_at, balance, (*totals[:6], nonce))


def seen(*rows: tuple[Any, ...]) -> Any:
    reader = reader_of(Node(lambda asked: answer(*rows)))
    try:
        return reader.vault_seen(vault(1))
    finally:
        reader.rpc.close()


def test_seen__where_there_is_no_lens__is_an_error_that_names_it() -> None:
    reader = reader_of(Node(lambda asked: "0x"))
    with pytest.raises(
        LensMissingError, match="no code at 0x3333333333333333333333333333333333333"
    ):
        reader.vault_seen(vault(1))
    reader.rpc.close()


def test_seen__is_what_the_position_says() -> None:
    found = seen(position(3))
    assert (found.at, found.status, found.agent, found.payee) == (
        BLOCK[1],
        Status.WORKING,
        AGENT,
        AGENT,
    )
    assert (found.balance_usdc_e6, found.worth_usdc_e6, found.fee_owed_usdc_e6) == (9, 5, 1)
    assert (found.deposited_usdc_e6, found.unvalued_out_usdc_e6) == (10, 2)
    assert seen(position(2)).worth_usdc_e6 is None


@each(
    "lie",
    [position(3, stopped_at=2**36), position(3, nonce=2**96), row(3), (*position(3), 0)],
    ids=["a stop of 2^36", "a total of 2^96", "a reading", "a word long"],
)
def test_seen__what_no_vault_can_say__is_that_nodes_failure(lie: tuple[Any, ...]) -> None:
    """A stop in 2^63 once passed the reader and overflowed where the time was made."""
    with pytest.raises(RpcUnreachableError):
        seen(lie)


@each("outcome", [0, 1])
def test_seen__a_vault_that_cannot_be_read__is_not_seen(outcome: int) -> None:
    nothing = (*row(outcome), NOTHING[1], 0, 0, (0,) * 7)
    with pytest.raises(NotSeenError):
        seen(nothing)
