"""An operator who serves records and not the chain: lies that no option named, and honest records
that were called false.
"""

import copy
from datetime import datetime, timedelta
from typing import Any

import pytest

from api.client.verify.findings import MOST_TEXTS, Verdict
from core.times import exact_instant_text
from tests.integration.client.conftest import Exported, judged, names
from tests.integration.client.forging import Forgery, Line
from tests.integration.client.inventions import refused_that_was_not
from tests.integration.client.tampering import WRONG_HASH
from tests.integration.client.test_tampering import EVERY

NEW_SEQ = 90_000  # of rows that are put in; sealing numbers them


def taken_back(body: Line) -> Line:
    """The row that takes this one back."""
    delta = body["cash_delta_usdc"]
    other = delta if delta == "0.000000" else delta[1:] if delta[0] == "-" else f"-{delta}"
    return copy.deepcopy(body) | {
        "seq": NEW_SEQ,
        "base_key": f"reversal:{body['base_key']}",
        "reverses_seq": body["seq"],
        "reported_by": "chain",
        "cash_delta_usdc": other,
        "payload": {"reversal": True, "reverses_seq": body["seq"], "cause": "reorg"},
    }


# Reverted calls


def test_a_reverted_call_hidden_by_a_row_of_a_lost_block__is_found(exported: Exported) -> None:
    """That row names the transaction, and so explained the agent's nonce."""
    forgery = Forgery.of(exported.lines)
    hidden = forgery.body("revert")
    hidden["block_hash"] = WRONG_HASH
    forgery.insert(taken_back(hidden))
    forgery.seal()
    assert names(judged(exported.deployed, forgery.lines())) == {"revert.left_out"}


def test_calls_of_the_agent_elsewhere_after_the_records_last_block__are_no_doubt(
    exported: Exported,
) -> None:
    """Its nonce rose by what it did with another vault."""
    forgery = Forgery.of(exported.other)
    last = forgery.body("revert")
    for body in [
        one for one in forgery.bodies if (one["block_number"] or 0) > last["block_number"]
    ]:
        forgery.drop(body)
    forgery.head["as_of"] = {
        "block_number": last["block_number"], "block_hash": last["block_hash"],
        "reverts_block_number": last["block_number"],
    }  # fmt: skip
    forgery.seal()
    report = judged(exported.deployed, forgery.lines())
    assert (names(report), report.unchecked) == (set(), [])


def test_a_reverted_call_after_a_block_that_the_reader_named__is_no_doubt(
    exported: Exported,
) -> None:
    forgery = Forgery.of(EVERY["reverted call cut off"].apply(exported))
    assert judged(exported.deployed, forgery.lines()).unchecked
    end = forgery.head["as_of"]["block_number"]
    assert judged(exported.deployed, forgery.lines(), as_of=end).unchecked == []


# The first line


@pytest.mark.parametrize("more", [{"detail": "The session has ended."}, {"version": -1}])
def test_a_first_line_that_excuses_a_forged_record__hides_no_difference(
    exported: Exported, more: dict[str, object]
) -> None:
    """It was exit code 2, with the operator's text beside it."""
    forgery = Forgery.of(exported.other)
    forgery.first |= more
    assert names(judged(exported.deployed, forgery.lines())) == {"format.first"}


# A flood of texts


def test_rows_that_no_node_answers_for__flood_nothing(exported: Exported) -> None:
    """Each signed row of a wallet that only a node can speak for was a text of its own."""
    forgery = Forgery.of(exported.other)
    author = {"signer": exported.vault, "prev": WRONG_HASH, "signature": "0x" + "11" * 70}
    claim = forgery.body("report")
    for count in range(3_000):
        key = f"report:{count:032x}"
        forgery.insert(claim | {"base_key": key, "author": author | {"sequence": count + 1}})
    forgery.seal()
    lines = forgery.lines()
    report = judged(exported.deployed, lines, most_calls=50)
    assert len(report.unchecked) <= MOST_TEXTS + 1


# A reorg that never was


def test_a_block_that_stands_said_to_be_lost_for_a_while__is_never_sound(
    exported: Exported,
) -> None:
    """The deposit was taken back and came again in the very same block, and the agent's report in
    between had to be flagged: no money was there.
    """
    forgery = Forgery.of(exported.other)
    deposit, report = forgery.body("deposit"), forgery.body("report")
    forgery.drop(report)
    at = forgery.index(deposit)
    again = copy.deepcopy(deposit) | {"seq": NEW_SEQ + 1, "incarnation": 2}
    for place, body in enumerate((taken_back(deposit), report, again), start=at + 1):
        forgery.insert(body, place)
    report["payload"]["violation"] = {
        "codes": ["mandate_not_working", "over_budget"],
        "detail": {
            "status": "signed",
            "left_total_usdc": "0.000000",
            "requested_usdc": report["amount_usdc"],
        },
    }
    for body in forgery.bodies[at + 1 :]:
        body["created_at"] = exported_at(forgery)
    forgery.seal()
    found = judged(exported.deployed, forgery.lines())
    assert (names(found), found.verdict) == (set(), Verdict.UNCHECKED)


def exported_at(forgery: Forgery) -> str:
    return max(str(body["created_at"]) for body in forgery.bodies)


# A gap that the record names


def test_a_gap__excuses_no_log_before_one_that_has_its_row(exported: Exported) -> None:
    """What follows a fact that is held back queues behind it; a loss was dropped out of the middle."""
    forgery = Forgery.of(exported.lines)
    later = forgery.body("withdraw")
    dropped = forgery.body("stop")
    forgery.drop(dropped)
    forgery.head["held"] = {"facts": 1, "from_block": dropped["block_number"]}
    forgery.seal()
    assert dropped["block_number"] < later["block_number"]
    assert names(judged(exported.deployed, forgery.lines())) == {"row.left_out"}


def test_a_gap__excuses_the_newest_logs(exported: Exported) -> None:
    forgery = Forgery.of(exported.lines)
    newest = forgery.body("withdraw")
    forgery.drop(newest)
    forgery.head["held"] = {"facts": 1, "from_block": newest["block_number"]}
    forgery.seal()
    report = judged(exported.deployed, forgery.lines())
    assert (names(report), report.verdict) == (set(), Verdict.UNCHECKED)


# A last block that there is not yet


@pytest.mark.parametrize(
    ("ahead", "found"), [(10**9, {"head.block"}), (3, set[str]())], ids=["invented", "behind"]
)
def test_a_last_block_far_ahead_of_a_node_that_is_up_to_date__is_found(
    exported: Exported, ahead: int, found: set[str]
) -> None:
    """No row was checked, and the node was said to be behind."""
    forgery, chain = Forgery.of(exported.other), exported.deployed
    number = chain.reader.block_number() + ahead
    forgery.head["as_of"] |= {"block_number": number, "block_hash": WRONG_HASH}
    report = judged(exported.deployed, forgery.lines(), now=chain.now + 60)
    assert (names(report), bool(report.unchecked)) == (found, True)


# Flags


def test_a_report_of_a_transaction_whose_row_was_there__is_not_unseen(exported: Exported) -> None:
    """The service's own flag said that the chain has no such transaction, which it has above."""
    forgery = Forgery.of(exported.other)
    report = forgery.body("report")
    report["payload"] |= {"position": {"id": "bought", "name": "bought"}, "unseen": True}
    late = datetime.fromisoformat(exported_at(forgery)) + timedelta(minutes=5)
    for body in forgery.bodies[forgery.index(report) :]:
        body["created_at"] = exact_instant_text(late)
    forgery.seal()
    assert names(judged(exported.deployed, forgery.lines())) == {"row.flag"}


# False reports, which the record says truly


def false_reports(exported: Exported) -> Forgery:
    """The honest record, and what its agent might have reported after it: another amount under the
    hash of its purchase, a purchase by its reverted call, and a refusal of what passed.
    """
    forgery = Forgery.of(exported.other)
    for number, (code, changes) in enumerate(
        [
            ("other_amount", {"amount_usdc": "5000.000000"}),
            ("tx_reverted", {"tx_hash": forgery.body("revert")["tx_hash"]}),
        ]
    ):
        claim = appended(forgery, f"report:{number:032x}", **changes)
        claim["payload"]["violation"] = {"codes": [code], "detail": {}}
    refused_that_was_not(forgery, exported)
    forgery.seal()
    return forgery


def appended(forgery: Forgery, base_key: str, **changes: Any) -> Line:
    at = exported_at(forgery)
    body = copy.deepcopy(forgery.body("report")) | {"occurred_at": at, "created_at": at} | changes
    forgery.insert(body | {"base_key": base_key})
    return forgery.bodies[-1]


def test_a_false_report_of_the_agent__is_listed_and_no_difference(exported: Exported) -> None:
    report = judged(exported.deployed, false_reports(exported).lines())
    assert (report.findings, report.unchecked) == ([], [])
    assert (report.verdict, report.verdict.exit_code(strict=False)) == (Verdict.CHAIN_SOUND, 0)
    assert [one.word for one in report.false_claims] == ["other_amount", "reverted", "not_reverted"]
    assert [text for text in report.remarks if "contradicts 3 of the agent's reports" in text]
    assert "was reverted" in report.as_json()["false_claims"][1]["text"]


def test_a_record_that_differs_beside_false_reports__is_a_difference(exported: Exported) -> None:
    forgery = false_reports(exported)
    forgery.body("executed")["amount_usdc"] = "10.000000"
    forgery.seal()
    report = judged(exported.deployed, forgery.lines())
    assert (report.verdict, report.verdict.exit_code(strict=False)) == (Verdict.DIFFERENT, 1)
    assert names(report) == {"row.amount"}
