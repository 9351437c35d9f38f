"""Anchors on a real chain: exported, checked, and forged."""

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import pytest
from sqlalchemy import update

from api.areas.mandates.views.record import opening
from api.client.verify.findings import Report
from core.anchors.chain import ANCHORED
from core.anchors.rules import MOST_PROOF_CHARACTERS, HeadProof, key_of, leaf_of, value_of
from core.blocks.queries import TIP
from core.blocks.tables import ChainCursor
from core.chain.blocks import RawLog
from core.chain.nodes import Nodes
from core.chain.results import Parse
from core.db.embedded import EmbeddedPostgres
from core.db.engine import WriteSession
from core.mandate.tables import Mandate
from tests.integration.client.anchoring import AnchoredRecord, anchored_record
from tests.integration.client.conftest import export, judged, names
from tests.integration.client.forging import Forgery
from tests.integration.indexer.conftest import now_utc


@pytest.fixture(scope="module")
def anchored(postgres: EmbeddedPostgres, template: str) -> Iterator[AnchoredRecord]:
    with anchored_record(postgres, template) as record:
        yield record


def check(
    record: AnchoredRecord,
    lines: Sequence[bytes],
    anchor: str | None = None,
    kind: type[Nodes] = Nodes,
) -> Report:
    """With the contract that the record is of, or another one. The owner has several mandates, so
    that the reader names the one that is meant.
    """
    rpc = kind([record.chain.anvil.url])
    try:
        return judged(
            record.chain,
            lines,
            rpc,
            mandate=json.loads(lines[0])["mandate_id"],
            x402_adapter=record.chain.contracts["x402_adapter"],
            anchor=anchor or record.contract,
        )
    finally:
        rpc.close()


@pytest.mark.slow
def test_record__has_one_anchor_an_epoch_from_the_one_before_its_rows(
    anchored: AnchoredRecord,
) -> None:
    lines = [one["anchor"] for one in map(json.loads, anchored.lines) if "anchor" in one]
    assert [line["epoch"] - anchored.first for line in lines] == [-1, 0, 1, 2]
    seqs = [line["seq"] for line in lines]
    assert seqs == [0, seqs[1], seqs[1] + 1, seqs[1] + 1]


def test_record__as_it_was_exported__is_sound(anchored: AnchoredRecord) -> None:
    report = check(anchored, anchored.lines)
    assert (report.findings, report.unchecked) == ([], [])
    assert report.figures["anchors"] == 4


def test_record__of_an_indexer_that_is_behind__has_no_anchors_of_later_blocks(
    anchored: AnchoredRecord,
) -> None:
    """The worker finds posts by itself; a record that told of later ones than its own last block was
    called forged (`anchor.post`).
    """
    database = anchored.follower.database
    first, second, *_ = (
        line["block_number"]
        for line in (one["anchor"] for one in map(json.loads, anchored.lines) if "anchor" in one)
    )
    with WriteSession(database.engine, expire_on_commit=False) as session:
        at = update(ChainCursor).where(ChainCursor.name == TIP)
        session.execute(at.values(number=second - 1))
        mandate = session.get(Mandate, anchored.mandate.id)
        assert mandate is not None
        found = opening(session, mandate, anchored.chain.contracts["factory"])
        session.rollback()
    assert list(found.epochs) == [anchored.first - 1]
    assert first < second


def forged(record: AnchoredRecord) -> Forgery:
    return Forgery.of(record.lines)


def test_anchored_row_rewritten__is_found(anchored: AnchoredRecord) -> None:
    forgery = forged(anchored)
    forgery.body("report")["amount_usdc"] = "4.000000"
    forgery.seal()
    assert "anchor.head" in names(check(anchored, forgery.lines()))


def test_row_backdated__is_found(anchored: AnchoredRecord) -> None:
    forgery = forged(anchored)
    body = copy.deepcopy(forgery.body("report"))
    forgery.insert(body | {"base_key": "report:00000000-0000-4000-8000-000000000000"})
    forgery.seal()
    found = check(anchored, forgery.lines()).findings
    assert [one.seq for one in found if one.name == "anchor.backdated"] == [len(forgery.rows)]


@pytest.mark.parametrize("which", [1, 2, 3])
def test_anchor_line_dropped__is_found(anchored: AnchoredRecord, which: int) -> None:
    forgery = forged(anchored)
    del forgery.anchors[which]
    assert "anchor.left_out" in names(check(anchored, forgery.lines()))


def test_first_anchor_line_dropped__is_found(anchored: AnchoredRecord) -> None:
    forgery = forged(anchored)
    del forgery.anchors[0]
    assert "anchor.start" in names(check(anchored, forgery.lines()))


def test_all_anchor_lines_dropped__is_found(anchored: AnchoredRecord) -> None:
    forgery = forged(anchored)
    forgery.anchors.clear()
    assert names(check(anchored, forgery.lines())) == {"anchor.left_out"}


def test_all_anchor_lines_dropped__of_a_mandate_without_rows_of_the_chain__is_found(
    anchored: AnchoredRecord,
) -> None:
    """It was looked for from the first row's block alone, so in the record's last block."""
    mandate = anchored.follower.issue("m_neverfunds", nonce=3, signed_at=now_utc())
    forgery = Forgery.of(export(anchored.follower, mandate))
    forgery.anchors.clear()
    assert "anchor.left_out" in names(check(anchored, forgery.lines()))


def test_foreign_root__with_a_proof_that_fits__is_found(anchored: AnchoredRecord) -> None:
    forgery = forged(anchored)
    anchor = forgery.anchors[2]["anchor"]
    key = key_of(forgery.first["mandate_id"])
    leaf = leaf_of(key, value_of(anchor["seq"], bytes.fromhex(anchor["row_hash"][2:])))
    anchor |= {"root": "0x" + leaf.hex(), "proof": HeadProof(()).text()}
    assert "anchor.post" in names(check(anchored, forgery.lines()))


class HoldingBack(Nodes):
    """Gives of the logs of the anchors' contract what `kept` leaves."""

    def kept(self, posts: list[RawLog]) -> list[RawLog]:
        return []

    def call(self, method: str, params: Sequence[Any] = (), parse: Parse[Any] | None = None) -> Any:
        found = super().call(method, params, parse)
        is_posts = method == "eth_getLogs" and params[0].get("topics") == [ANCHORED]
        return self.kept(found) if is_posts else found


class FromTheNewest(HoldingBack):
    def kept(self, posts: list[RawLog]) -> list[RawLog]:
        return posts[-1:]


@pytest.mark.parametrize("has_anchors", [True, False])
def test_node_that_holds_all_posts_back__is_not_the_records_fault(
    anchored: AnchoredRecord, has_anchors: bool
) -> None:
    forgery = forged(anchored)
    if not has_anchors:
        forgery.anchors.clear()
    report = check(anchored, forgery.lines(), kind=HoldingBack)
    assert (names(report), report.unchecked) == (
        set(),
        ["anchors: the node has no logs of what the contract posted"],
    )


HELD_BACK = "the node has no log of what the contract posted before epoch"


@pytest.mark.parametrize("has_anchors", [True, False])
def test_node_that_holds_the_older_posts_back__is_not_the_records_fault(
    anchored: AnchoredRecord, has_anchors: bool
) -> None:
    forgery = forged(anchored)
    if not has_anchors:
        forgery.anchors.clear()
    report = check(anchored, forgery.lines(), kind=FromTheNewest)
    assert (names(report), report.unchecked) == (
        set(),
        [f"anchors: {HELD_BACK} {anchored.first + 2}"],
    )


def test_node_that_holds_the_older_posts_back__hides_no_dropped_anchors(
    anchored: AnchoredRecord,
) -> None:
    """Of a mandate without rows of the chain it was sound."""
    mandate = anchored.follower.issue("m_neverfund2", nonce=4, signed_at=now_utc())
    forgery = Forgery.of(export(anchored.follower, mandate))
    forgery.anchors.clear()
    report = check(anchored, forgery.lines(), kind=FromTheNewest)
    assert f"anchors: {HELD_BACK} {anchored.first + 2}" in report.unchecked


def test_contract_without_an_hour__is_found(anchored: AnchoredRecord) -> None:
    report = check(anchored, anchored.lines, anchored.gappy)
    assert {"anchor.missing_epoch", "anchor.post"} <= names(report)


def test_posts_hours_later__prove_no_time(anchored: AnchoredRecord) -> None:
    forgery, posts = forged(anchored), anchored.posts(anchored.late)
    for line in forgery.anchors:
        line["anchor"] |= asdict(posts[line["anchor"]["epoch"]])
    report = check(anchored, forgery.lines(), anchored.late)
    reports = [row["body"]["seq"] for row in forgery.rows if row["body"]["tx_hash"] is None]
    assert [one for one in report.findings if one.seq in reports[-2:]] == []
    remark = (
        f"anchors: the hours of 2 rows ({reports[0]}, {reports[1]}) were posted more than two hours "
        "late, as after an outage; when these rows were written is the service's word"
    )
    assert remark in report.remarks


def test_row_newer_than_the_block_that_holds_it__is_found(anchored: AnchoredRecord) -> None:
    forgery = forged(anchored)
    body = forgery.body("report")
    body["created_at"] = "2099-01-01T00:00:00.000000Z"
    forgery.seal()
    found = check(anchored, forgery.lines()).findings
    assert [one.seq for one in found if one.name == "anchor.postdated"] == [body["seq"]]


def test_anchors_out_of_order__are_found(anchored: AnchoredRecord) -> None:
    forgery = forged(anchored)
    forgery.anchors[1:3] = reversed(forgery.anchors[1:3])
    assert "anchor.order" in names(check(anchored, forgery.lines()))


def test_an_epoch_twice__is_found(anchored: AnchoredRecord) -> None:
    forgery = forged(anchored)
    forgery.anchors.append(forgery.anchors[-1])
    assert names(check(anchored, forgery.lines())) == {"anchor.order"}


FORMS = {
    "a height as text": {"block_number": "7"},
    "a height below zero": {"block_number": -1},
    "true for a number": {"seq": True},
    "a hash in capitals": {"root": "0x" + "AB" * 32},
    "a field too many": {"more": 1},
    "a proof that is no text": {"proof": []},
    "a proof longer than any": {"proof": "A" * 2 * MOST_PROOF_CHARACTERS},
}


@pytest.mark.parametrize("change", FORMS.values(), ids=FORMS)
def test_anchor_of_another_form__is_found(
    anchored: AnchoredRecord, change: dict[str, object]
) -> None:
    forgery = forged(anchored)
    forgery.anchors[1]["anchor"] |= change
    found = names(check(anchored, forgery.lines()))
    assert found & {"anchor.form", "anchor.proof"}
    assert ("anchor.proof" in found) == isinstance(change.get("proof"), str)


def without_contract(record: AnchoredRecord, lines: Sequence[bytes]) -> Report:
    """As who names no contract checks it: lines against rows and one another alone."""
    x402_adapter = record.chain.contracts["x402_adapter"]
    return judged(record.chain, lines, x402_adapter=x402_adapter)


@pytest.mark.parametrize("has_anchors", [True, False])
def test_without_a_contract__anchors_are_remarked_and_not_counted(
    anchored: AnchoredRecord, has_anchors: bool
) -> None:
    forgery = forged(anchored)
    if not has_anchors:
        forgery.anchors.clear()
    report = without_contract(anchored, forgery.lines())
    remarks = [one for one in report.remarks if "compared with no chain" in one]
    assert (names(report), len(remarks)) == (set(), int(has_anchors))
    assert "anchors" not in report.figures


def test_an_hour_on_top_of_another_root__is_found_without_a_contract(
    anchored: AnchoredRecord,
) -> None:
    forgery = forged(anchored)
    forgery.anchors[2]["anchor"]["root_before"] = "0x" + "77" * 32
    assert "anchor.post" in names(without_contract(anchored, forgery.lines()))


def test_a_later_hour_that_holds_fewer_rows__is_found(anchored: AnchoredRecord) -> None:
    forgery = forged(anchored)
    empty = forgery.anchors[0]["anchor"]
    forgery.anchors[3]["anchor"] |= {name: empty[name] for name in ("seq", "row_hash", "proof")}
    found = without_contract(anchored, forgery.lines()).findings
    assert any(one.name == "anchor.order" and "holds 0 rows" in one.text for one in found)


def test_node_that_holds_a_post_in_the_middle_back__is_not_the_records_fault(
    anchored: AnchoredRecord,
) -> None:
    left_out = anchored.first + 1

    class WithoutOne(HoldingBack):
        def kept(self, posts: list[RawLog]) -> list[RawLog]:
            return [log for log in posts if int(log.topics[1], 16) != left_out]

    report = check(anchored, anchored.lines, kind=WithoutOne)
    assert report.unchecked == ["anchors: the node's logs are not all that the contract posted"]
    assert names(report) == set()


@pytest.mark.slow
def test_a_contract_that_stopped_hours_ago__is_found(
    postgres: EmbeddedPostgres, template: str
) -> None:
    with anchored_record(postgres, template) as record:
        record.chain.rpc.call("evm_increaseTime", [12 * 3_600])
        record.chain.anvil.mine(40)
        record.follower.catch_up()
        report = check(record, export(record.follower, record.mandate))
    assert {one.name for one in report.findings} == {"anchor.missing_epoch"}
