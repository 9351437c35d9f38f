"""What a node says that is valid JSON and not true: omissions that look whole, other types, other
blocks, other methods.

A lie takes a request's calls and the honest answers and answers other ones, or None where it does
not apply.

Laws
- What is changed is a copy; the honest answers stay as they were.
- An omission is one that can be proved: a log whose bloom bits no other log has, or one that moves
  money or takes a nonce. What no client can tell from the truth (another number in an `eth_call`)
  is not told.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from enum import StrEnum
from typing import Any

from eth_utils.crypto import keccak

from core.chain.abi import events_by_topic

Body = dict[str, Any]
Draw = Callable[[str], float]  # a number in [0, 1) for a word
Ask = Callable[[Any], Any]

TOO_MANY_DIGITS = "0x" + "f" * 10_000
FOREIGN_ID = 10**9
MONEY = ("Deposited", "Executed", "Unwound", "ProceedsReceived", "Settled", "Withdrawn")
BLOCK_METHODS = ("eth_getBlockByNumber", "eth_getBlockByHash")
NUMBERS = (
    "number",
    "timestamp",
    "blockNumber",
    "transactionIndex",
    "logIndex",
    "status",
    "gasUsed",
)
HASHES = ("hash", "parentHash", "blockHash", "transactionHash")
NEEDED = (
    "hash",
    "parentHash",
    "timestamp",
    "logsBloom",
    "transactions",
    "status",
    "blockHash",
    "logs",
    "topics",
    "address",
)


class Lie(StrEnum):
    """Those about ranges stand together: every fourth of the list falls to the same seeds."""

    LOG_LEFT_OUT = "a receipt without one of its logs"
    NULL_HASH = "a hash that is null"
    MISSING_FIELD = "an object without a field"
    RANGE_LOG_LEFT_OUT = "a range without one of a vault's logs"
    LOG_AND_BLOOM_LEFT_OUT = "a receipt without one of its logs, and a bloom that fits"
    INTEGER = "an integer for hex"
    ENDLESS_HEX = "hex of ten thousand digits"
    RANGE_STOPS_SHORT = "a range that ends before its end"
    BATCH_IDS = "a batch with an id twice, or a foreign one"
    OTHER_METHOD = "the result of another method"
    OTHER_BLOCK = "another block"
    FACTORY_STOPS_SHORT = "a range in which the factory falls silent"


RANGE_LIES = (Lie.RANGE_LOG_LEFT_OUT, Lie.RANGE_STOPS_SHORT, Lie.FACTORY_STOPS_SHORT)


def due_lies(seed: int) -> tuple[Lie, ...]:
    """What the seed's liar tells, the one it begins with first: any four seeds in a row tell every
    lie, so those of every run do too.
    """
    due = [lie for number, lie in enumerate(Lie) if number % 4 == seed % 4]
    first = seed // 4 % len(due)
    return (*due[first:], *due[:first])


def tell(
    lie: Lie, calls: Sequence[Body], answers: Sequence[Body], draw: Draw, ask: Ask
) -> list[Body] | None:
    """The untrue answers to a request of one call or a batch; None: there is nothing here to lie
    about.
    """
    if any("result" not in answer for answer in answers):
        return None
    return _TELLERS[lie](calls, deepcopy(list(answers)), draw, ask)


def pick(draw: Draw, what: str, choices: Sequence[Any]) -> Any:
    return choices[int(draw(what) * len(choices))]


# Omissions at the tip


def bloom_of(log: Body) -> int:
    """The three bits of a log's address and of each topic."""
    bloom = 0
    for item in (log["address"], *log["topics"]):
        digest = keccak(hexstr=item)
        for start in (0, 2, 4):
            bloom |= 1 << (int.from_bytes(digest[start : start + 2]) % 2048)
    return bloom


def _provable(logs: Sequence[Body]) -> list[Body]:
    """Those with a bloom bit that no other of these logs has."""
    blooms = [bloom_of(log) for log in logs]
    found = []
    for number, log in enumerate(logs):
        rest = 0
        for other, bloom in enumerate(blooms):
            rest |= bloom if other != number else 0
        found += [log] if blooms[number] & ~rest else []
    return found


def _without(receipts: Sequence[Body], left_out: Body) -> Body:
    """Take the log out and count the later ones again; the receipt that had it."""
    (owner,) = (receipt for receipt in receipts if left_out in receipt["logs"])
    owner["logs"].remove(left_out)
    for number, log in enumerate(log for receipt in receipts for log in receipt["logs"]):
        log["logIndex"] = hex(number)
    return owner


def _log_left_out(
    calls: Sequence[Body], answers: list[Body], draw: Draw, ask: Ask
) -> list[Body] | None:
    return _with_a_log_left_out(calls, answers, draw, with_bloom=False)


def _log_and_bloom_left_out(
    calls: Sequence[Body], answers: list[Body], draw: Draw, ask: Ask
) -> list[Body] | None:
    return _with_a_log_left_out(calls, answers, draw, with_bloom=True)


def _with_a_log_left_out(
    calls: Sequence[Body], answers: list[Body], draw: Draw, *, with_bloom: bool
) -> list[Body] | None:
    """`with_bloom`: the receipt's bloom is of what is left, and the block's as it was."""
    for receipts in _results(calls, answers, "eth_getBlockReceipts"):
        found = _provable([log for receipt in receipts for log in receipt["logs"]])
        if not found:
            continue
        owner = _without(receipts, pick(draw, "log", _rather_of_vaults(found)))
        if with_bloom:
            bloom = 0
            for log in owner["logs"]:
                bloom |= bloom_of(log)
            owner["logsBloom"] = f"0x{bloom:0512x}"
        return answers
    return None


def _rather_of_vaults(logs: Sequence[Body]) -> Sequence[Body]:
    """A log with a topic of the record's, if there is one: one that nobody keeps would not be
    missed.
    """
    kept = [
        log
        for log in logs
        if log["topics"] and log["topics"][0] in events_by_topic() and not _is_transfer(log)
    ]
    return kept or logs


def _is_transfer(log: Body) -> bool:
    return events_by_topic()[log["topics"][0]].name == "Transfer"


# Omissions in ranges


def _range_log_left_out(
    calls: Sequence[Body], answers: list[Body], draw: Draw, ask: Ask
) -> list[Body] | None:
    money = [
        (logs, log)
        for logs in _results(calls, answers, "eth_getLogs")
        for log in logs
        if _name(log) in MONEY
    ]
    if not money:
        return None
    logs, log = pick(draw, "range log", money)
    logs.remove(log)
    return answers


def _range_stops_short(
    calls: Sequence[Body], answers: list[Body], draw: Draw, ask: Ask
) -> list[Body] | None:
    """As a node whose index of logs lags behind its blocks."""
    money = [
        log
        for logs in _results(calls, answers, "eth_getLogs")
        for log in logs
        if _name(log) in MONEY
    ]
    if not money:
        return None
    _cut(calls, answers, int(pick(draw, "short", money)["blockNumber"], 16))
    return answers


def _factory_stops_short(
    calls: Sequence[Body], answers: list[Body], draw: Draw, ask: Ask
) -> list[Body] | None:
    """Whoever is not told of a vault never asks for its logs."""
    named = [
        log
        for logs in _results(calls, answers, "eth_getLogs")
        for log in logs
        if _name(log) in ("VaultCreated", "AdapterListed")
    ]
    if not named:
        return None
    _cut(calls, answers, int(pick(draw, "factory", named)["blockNumber"], 16))
    return answers


def _cut(calls: Sequence[Body], answers: Sequence[Body], at: int) -> None:
    """Nothing from that height on."""
    for logs in _results(calls, answers, "eth_getLogs"):
        logs[:] = [log for log in logs if int(log["blockNumber"], 16) < at]


def _name(log: Body) -> str | None:
    found = events_by_topic().get(log["topics"][0]) if log["topics"] else None
    return None if found is None else found.name


# Types


def _null_hash(
    calls: Sequence[Body], answers: list[Body], draw: Draw, ask: Ask
) -> list[Body] | None:
    def spoil(field: tuple[Body, str]) -> None:
        field[0][field[1]] = None

    return _with_a_field(answers, HASHES, draw, spoil)


def _missing_field(
    calls: Sequence[Body], answers: list[Body], draw: Draw, ask: Ask
) -> list[Body] | None:
    def spoil(field: tuple[Body, str]) -> None:
        del field[0][field[1]]

    return _with_a_field(answers, NEEDED, draw, spoil)


def _integer(calls: Sequence[Body], answers: list[Body], draw: Draw, ask: Ask) -> list[Body] | None:
    def spoil(field: tuple[Body, str]) -> None:
        field[0][field[1]] = int(field[0][field[1]], 16)

    return _with_a_field(answers, NUMBERS, draw, spoil)


def _endless_hex(
    calls: Sequence[Body], answers: list[Body], draw: Draw, ask: Ask
) -> list[Body] | None:
    def spoil(field: tuple[Body, str]) -> None:
        field[0][field[1]] = TOO_MANY_DIGITS

    return _with_a_field(answers, NUMBERS, draw, spoil)


def _with_a_field(
    answers: list[Body], names: Sequence[str], draw: Draw, spoil: Callable[[tuple[Body, str]], None]
) -> list[Body] | None:
    """Spoil one field of one object: a kind of field is drawn first, since a block has many more
    logs than headers.
    """
    fields = [field for answer in answers for field in _fields(answer["result"], names)]
    if not fields:
        return None
    name = pick(draw, "name", sorted({field[1] for field in fields}))
    spoil(pick(draw, "field", [field for field in fields if field[1] == name]))
    return answers


def _fields(value: Any, names: Sequence[str]) -> Iterator[tuple[Body, str]]:
    """Every field of these names in the objects that clients read: blocks, receipts and logs, not
    transactions.
    """
    if isinstance(value, list):
        for item in value:
            yield from _fields(item, names)
    elif isinstance(value, dict) and ("logsBloom" in value or "topics" in value):
        yield from ((value, name) for name in names if value.get(name) is not None)
        yield from _fields(value.get("logs", []), names)


# Answers of something else


def _batch_ids(
    calls: Sequence[Body], answers: list[Body], draw: Draw, ask: Ask
) -> list[Body] | None:
    results = {repr(answer["result"]) for answer in answers}
    if len(results) < 2:
        return None
    first, second = next((a, b) for a in answers for b in answers if a["result"] != b["result"])
    how = pick(draw, "ids", ("twice", "foreign", "text"))
    if how == "twice":
        return [*answers, {**second, "id": first["id"]}]
    first["id"] = FOREIGN_ID if how == "foreign" else str(first["id"])
    return answers


def _other_method(
    calls: Sequence[Body], answers: list[Body], draw: Draw, ask: Ask
) -> list[Body] | None:
    number = int(draw("which") * len(answers))
    others: dict[str, Any] = {
        "a number": "0x10",
        "a block": _block(ask, "latest"),
        "a list": ["0x10"],
        "a flag": False,
    }
    result = answers[number]["result"]
    if isinstance(result, str):
        del others["a number"]  # of a call it would be an answer
    answers[number]["result"] = others[pick(draw, "method", sorted(others))]
    return (
        None
        if answers[number]["result"] == result
        or _is_a_block(calls[number], answers[number]["result"])
        else answers
    )


def _is_a_block(call: Body, result: Any) -> bool:
    return call["method"] in BLOCK_METHODS and isinstance(result, dict)


def _other_block(
    calls: Sequence[Body], answers: list[Body], draw: Draw, ask: Ask
) -> list[Body] | None:
    """The block before the one that was asked for; of logs, those of the heights before."""
    named = [n for n, call in enumerate(calls) if _names_a_block(call) and answers[n]["result"]]
    if not named:
        return None
    number = pick(draw, "block", named)
    call, result = calls[number], answers[number]["result"]
    if call["method"] in BLOCK_METHODS:
        answers[number]["result"] = _block(ask, hex(max(0, int(result["number"], 16) - 1)))
    else:
        first = int(call["params"][0]["fromBlock"], 16)
        earlier = {**call["params"][0], "fromBlock": "0x0", "toBlock": hex(max(0, first - 1))}
        answers[number]["result"] = ask({**call, "params": [earlier]})["result"]
    return None if answers[number]["result"] == result else answers


def _names_a_block(call: Body) -> bool:
    if call["method"] == "eth_getLogs":
        return True
    return call["method"] in BLOCK_METHODS and call["params"][0].startswith("0x")


def _block(ask: Ask, at: str) -> Any:
    return ask(
        {"jsonrpc": "2.0", "id": 0, "method": "eth_getBlockByNumber", "params": [at, False]}
    )["result"]


def _results(calls: Sequence[Body], answers: Sequence[Body], method: str) -> list[Any]:
    """What that method answered here, where it answered anything."""
    return [
        answer["result"]
        for call, answer in zip(calls, answers, strict=True)
        if call["method"] == method and answer["result"]
    ]


_TELLERS: dict[Lie, Callable[[Sequence[Body], list[Body], Draw, Ask], list[Body] | None]] = {
    Lie.LOG_LEFT_OUT: _log_left_out,
    Lie.LOG_AND_BLOOM_LEFT_OUT: _log_and_bloom_left_out,
    Lie.RANGE_LOG_LEFT_OUT: _range_log_left_out,
    Lie.RANGE_STOPS_SHORT: _range_stops_short,
    Lie.FACTORY_STOPS_SHORT: _factory_stops_short,
    Lie.NULL_HASH: _null_hash,
    Lie.MISSING_FIELD: _missing_field,
    Lie.INTEGER: _integer,
    Lie.ENDLESS_HEX: _endless_hex,
    Lie.BATCH_IDS: _batch_ids,
    Lie.OTHER_METHOD: _other_method,
    Lie.OTHER_BLOCK: _other_block,
}
