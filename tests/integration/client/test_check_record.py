"""The console's check of a record: the hash chain, transactions and the newest anchor, by node.

What it leaves to verify-record (signatures, sums, rows that were left out) is in test_tampering.
"""

import base64
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from core.db.embedded import EmbeddedPostgres
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.client.anchoring import AnchoredRecord, anchored_record
from tests.integration.client.conftest import Exported
from tests.integration.client.forging import Forgery
from tests.integration.client.tampering import WRONG_HASH
from tests.integration.client.test_node_clients import run

Change = Callable[[Forgery], None]


def checked(
    chain: DeployedChain,
    records: Mapping[str, Sequence[bytes]],
    mandate: str,
    anchor: str | None = None,
    looks_up: bool = True,
) -> dict[str, dict[str, Any]]:
    """What the page finds of each record, by name."""
    listed = [
        {
            "name": name,
            "mandate": mandate,
            "base64": base64.b64encode(b"".join(lines)).decode(),
            "looksUp": looks_up,
        }
        for name, lines in records.items()
    ]
    return run("check_records.mjs", rpc_url=chain.anvil.url, anchor=anchor, records=listed)


def problems(found: Mapping[str, Any]) -> list[str]:
    return [one["text"] for one in found["problems"]]


def _set(word: str, **changes: object) -> Change:
    return lambda forgery: forgery.body(word).update(changes)


def _not_reverted(forgery: Forgery) -> None:
    del forgery.body("reverted")["payload"]["reverted"]


# sealed again, as a cheat would: only the chain gives it away
FORGED: dict[str, tuple[Change, str]] = {
    "another transaction": (_set("executed", tx_hash=WRONG_HASH), "does not know transaction"),
    "another block": (_set("executed", block_hash=WRONG_HASH), "is in another block: 0x"),
    "a row that claims to take another back": (
        _set("executed", tx_hash=WRONG_HASH, reverses_seq="x"),
        "The row takes back row x, which it may not.",
    ),
    "another log": (_set("executed", log_index=99), "has no log 99."),
    "a failed call as one that passed": (_not_reverted, "The transaction failed."),
}


def test_an_honest_record__agrees_with_the_chain(exported: Exported) -> None:
    lines, mandate = exported.other, str(Forgery.of(exported.other).first["mandate_id"])
    found = checked(exported.deployed, {"honest": lines}, mandate)["honest"]
    assert (found["problems"], found["unknown"], found["anchor"]) == ([], [], None)
    bodies = Forgery.of(lines).bodies
    on_chain = {body["tx_hash"] for body in bodies if body["block_number"] is not None}
    assert (found["rows"], found["transactions"]) == (len(bodies), len(on_chain))
    assert found["claims"] == sum(body["block_number"] is None for body in bodies) > 0


def test_a_record_that_is_sealed_again__is_given_away_by_the_chain(exported: Exported) -> None:
    mandate = str(Forgery.of(exported.lines).first["mandate_id"])
    records = {}
    for what, (change, _) in FORGED.items():
        forgery = Forgery.of(exported.lines)
        change(forgery)
        forgery.seal()
        records[what] = forgery.lines()
    found = checked(exported.deployed, records, mandate)
    for what, (_, text) in FORGED.items():
        assert [one for one in problems(found[what]) if text in one], what


def test_a_file_that_contradicts_itself__is_found_without_any_node(exported: Exported) -> None:
    lines = list(exported.other)
    mandate = str(Forgery.of(lines).first["mandate_id"])
    altered = Forgery.of(lines)
    altered.body("buy")["amount_usdc"] = "0.000001"
    dropped = [*lines[:2], *lines[3:]]
    broken = [*lines[:2], b"{\n", *lines[3:]]
    fraction = [*lines[:2], lines[2].replace(b'"seq":2', b'"seq":2.5'), *lines[3:]]
    found = checked(
        exported.deployed,
        {
            "honest": lines,
            "altered": altered.lines(),
            "dropped": dropped,
            "broken": broken,
            "fraction": fraction,
            "cut": lines[:-1],
            "after the head": [*lines, lines[1]],
            "empty": [],
        },
        mandate,
        looks_up=False,
    )
    of = {name: problems(one) for name, one in found.items()}
    assert of["honest"] == []
    assert found["honest"]["unknown"] == ["No wallet is connected: nothing was looked up."]
    assert of["altered"] == ["row_hash is not the hash of the row's content."]
    assert of["dropped"][:2] == [
        "The row says that it is number 3.",
        "prev_hash is not the hash of the row before.",
    ]
    assert of["broken"][0] == "Line 3 cannot be read."
    assert "row_hash is not the hash of the row's content." in of["fraction"]
    assert of["cut"] == ["The file ends without its head."]
    assert of["after the head"] == [f"Line {len(lines) + 1} comes after the head."]
    assert of["empty"] == [f"The file does not begin as a record of {mandate}, version 2."]
    other = checked(exported.deployed, {"other": lines}, "m_another", looks_up=False)
    assert problems(other["other"]) == [
        "The file does not begin as a record of m_another, version 2."
    ]


def test_what_is_no_text_and_no_number__is_a_problem_and_no_error(exported: Exported) -> None:
    lines = list(exported.other)
    mandate = str(Forgery.of(lines).first["mandate_id"])
    shy, deep = {"toString": 1, "valueOf": 1}, b"[" * 100_000 + b"]" * 100_000
    odd = [{"body": {"seq": shy, "tx_hash": shy, "block_number": 1, "log_index": shy}}]
    odd += [{"anchor": {"seq": shy, "tx_hash": shy, "root": None}}, {"head": shy}]
    records = {
        "odd": [lines[0], *(json.dumps(one).encode() + b"\n" for one in odd)],
        "deep": [lines[0], b'{"body":{"seq":' + deep + b"}}\n"],
    }
    for looks_up in (True, False):
        found = checked(exported.deployed, records, mandate, WRONG_HASH[:42], looks_up)
        assert "The row says that it is number that is none." in problems(found["odd"])
        assert "The newest anchor's proof does not lead to its root." in problems(found["odd"])
        assert "row_hash is not the hash of the row's content." in problems(found["deep"])


def test_many_rows_of_one_transaction__cost_as_much_as_of_many(exported: Exported) -> None:
    first = exported.other[0]
    body = {"tx_hash": WRONG_HASH, "block_number": 1, "log_index": 0}
    row = json.dumps({"body": body}).encode() + b"\n"
    began = time.monotonic()
    mandate = str(Forgery.of(exported.other).first["mandate_id"])
    found = checked(exported.deployed, {"many": [first, *[row] * 50_000]}, mandate)["many"]
    assert (found["rows"], found["transactions"]) == (50_000, 1)
    assert time.monotonic() - began < 20


@pytest.fixture(scope="module")
def anchored(postgres: EmbeddedPostgres, template: str) -> Iterator[AnchoredRecord]:
    with anchored_record(postgres, template) as record:
        yield record


def test_the_newest_anchor__is_the_contracts_and_holds_this_record(
    anchored: AnchoredRecord,
) -> None:
    mandate = str(Forgery.of(anchored.lines).first["mandate_id"])
    altered, moved, invented = (Forgery.of(anchored.lines) for _ in range(3))
    altered.body("buy")["amount_usdc"] = "0.000001"
    altered.seal()
    moved.anchors[-1]["anchor"]["tx_hash"] = altered.anchors[0]["anchor"]["tx_hash"]
    invented.anchors[-1]["anchor"]["root"] = WRONG_HASH
    records = {
        "honest": anchored.lines,
        "altered": altered.lines(),
        "moved": moved.lines(),
        "invented": invented.lines(),
    }
    found = checked(anchored.chain, records, mandate, anchored.contract)
    newest = Forgery.of(anchored.lines).anchors[-1]["anchor"]
    assert problems(found["honest"]) == []
    assert found["honest"]["anchor"] == {
        "epoch": newest["epoch"],
        "seq": newest["seq"],
        "isOnChain": True,
    }
    not_posted = "The contract of anchors did not post the newest anchor's root."
    not_proven = "The newest anchor's proof does not lead to its root."
    assert "The newest anchor holds another row of this number." in problems(found["altered"])
    assert problems(found["moved"]) == [not_posted]
    assert set(problems(found["invented"])) == {not_posted, not_proven}
    elsewhere = checked(anchored.chain, {"one": anchored.lines}, mandate, anchored.gappy)
    assert problems(elsewhere["one"]) == [not_posted]
