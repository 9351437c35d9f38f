"""An operator who serves records and not the chain, against anchors: rewritten pasts that no line
of an anchor is shown of, and honest records that were kept.
"""

import copy
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from api.client.verify.findings import Verdict
from core.anchors.rules import epoch_of
from core.chain.nodes import Nodes, Request
from core.chain.results import Parse
from core.db.embedded import EmbeddedPostgres
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.cash import signed_rows
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.state import MandateFacts, PositionRules
from core.times import exact_instant_text
from tests.integration.client.anchoring import AnchoredRecord, anchored_record
from tests.integration.client.conftest import export, names
from tests.integration.client.forging import Forgery
from tests.integration.client.test_anchors import FromTheNewest, check
from tests.integration.indexer.conftest import Issued, _mandate, _new_owner, now_utc


@dataclass
class Kept:
    """`early`: a paper mandate's record from its first hours, `late`: of hours later."""

    record: AnchoredRecord
    unfunded: tuple[bytes, ...]
    early: tuple[bytes, ...]
    late: tuple[bytes, ...]


def issue_on_paper(record: AnchoredRecord, public_id: str, at: datetime) -> Issued:
    chain = record.chain
    terms = chain.terms(public_id, nonce=9)
    facts = MandateFacts(
        market_mode=MarketMode.PAPER, budget_usdc_e6=terms.budget_usdc, positions=PositionRules()
    )
    with record.follower.database.write() as session:
        digest = chain.digest(terms)
        mandate = _mandate(_new_owner(session), terms, digest, chain.rules())
        mandate.market_mode = MarketMode.PAPER.value
        session.add(mandate)
        session.flush()
        rows = signed_rows(facts, terms_digest=digest, version=2, now=at)
        mandate_ledger.append_many(session, mandate.id, rows, at)
        return Issued(mandate.id, public_id, terms)


def pass_hours(record: AnchoredRecord, epochs: Sequence[int]) -> None:
    for epoch in epochs:
        record.pass_hour(epoch)
        newest = max(record.posts(record.contract))
        for one in record.epochs():
            if one.epoch > newest:
                record.post(record.contract, one)
    record.finish()


@pytest.fixture(scope="module")
def kept(postgres: EmbeddedPostgres, template: str) -> Iterator[Kept]:
    with anchored_record(postgres, template) as record:
        unfunded = record.follower.issue("m_neverfunds", nonce=3, signed_at=now_utc())
        shown = export(record.follower, unfunded)
        at = datetime.fromtimestamp(record.chain.now, UTC)
        mandate = issue_on_paper(record, "m_onpaper222", at)
        newest = max(record.posts(record.contract))
        pass_hours(record, range(newest + 1, epoch_of(at) + 1))
        early = export(record.follower, mandate)
        newest = max(record.posts(record.contract))
        pass_hours(record, range(newest + 1, newest + 4))
        yield Kept(record, shown, early, export(record.follower, mandate))


def as_of(block: dict[str, Any]) -> dict[str, Any]:
    """As a record's head names its last block."""
    number = int(block["number"], 16)
    place = {"block_number": number, "reverts_block_number": number}
    return place | {"block_hash": block["hash"]}


# A rewritten past


def test_anchors_said_to_be_of_later_blocks__are_found_and_not_the_nodes_fault(kept: Kept) -> None:
    record = kept.record
    forgery = Forgery.of(record.lines)
    forgery.body("report", 1)["payload"]["why"] = "I never bought."
    forgery.seal()
    hashes = {row["body"]["seq"]: row["row_hash"] for row in forgery.rows}
    for line in forgery.anchors:
        anchor = line["anchor"]
        anchor["block_number"] = forgery.head["as_of"]["block_number"]
        anchor["row_hash"] = hashes.get(anchor["seq"], forgery.first["genesis_hash"])
    report = check(record, forgery.lines())
    assert ("anchor.post" in names(report), report.unchecked) == (True, [])


def test_rows_rewritten_after_the_records_last_block__are_never_sound(kept: Kept) -> None:
    """The anchor that holds the newest row lies after the block that the record says it ends at."""
    record = kept.record
    forgery = Forgery.of(record.lines)
    forgery.body("report", 1)["payload"]["why"] = "I never bought."
    post = forgery.anchors[2]["anchor"]["block_number"]
    block = record.chain.rpc.call("eth_getBlockByNumber", [hex(post - 2), False])
    forgery.head["as_of"] = as_of(block)
    del forgery.anchors[2:]
    forgery.bodies[-1]["created_at"] = exact_instant_text(
        datetime.fromtimestamp(int(block["timestamp"], 16) + 3 * 3_600, UTC)
    )
    forgery.seal()
    report = check(record, forgery.lines())
    assert (names(report), report.verdict) == (set(), Verdict.UNCHECKED)


def test_paper_record_with_a_last_block__is_found(kept: Kept) -> None:
    """A paper mandate is read from no block; one before every post hid a rewritten past."""
    forgery = Forgery.of(kept.late)
    forgery.head["as_of"] = as_of(
        kept.record.chain.rpc.call("eth_getBlockByNumber", ["0x3", False])
    )
    forgery.anchors.clear()
    forgery.seal()
    assert "head.block" in names(check(kept.record, forgery.lines()))


# Honest records


def test_paper_record_that_was_kept__is_not_called_forged(kept: Kept) -> None:
    """Whoever checked it hours later was told that anchors were left out."""
    report = check(kept.record, kept.early)
    assert (report.findings, report.verdict) == ([], Verdict.UNCHECKED)
    assert "export again" in report.unchecked[0]


def test_paper_record_of_now__has_no_finding(kept: Kept) -> None:
    report = check(kept.record, kept.late)
    assert (report.findings, report.unchecked) == ([], [])


def test_paper_record_without_an_anchor_in_the_middle__is_found(kept: Kept) -> None:
    forgery = Forgery.of(kept.late)
    del forgery.anchors[2]
    assert "anchor.left_out" in names(check(kept.record, forgery.lines()))


# A node that holds posts back


def test_a_node_that_gives_the_newest_post_alone__proves_nothing(kept: Kept) -> None:
    """Of a record without rows of the chain and without anchors: the post was too new to be owed."""
    record, forgery = kept.record, Forgery.of(kept.unfunded)
    newest = max(post.block_number for post in record.posts(record.contract).values())
    block = record.chain.rpc.call("eth_getBlockByNumber", [hex(newest + 1), False])
    forgery.head["as_of"] = as_of(block)
    forgery.anchors.clear()
    report = check(record, forgery.lines(), kind=FromTheNewest)
    assert (names(report), len(report.unchecked)) == (set(), 1)
    assert "before epoch" in report.unchecked[0]


def test_a_node_without_the_block_of_a_post__proves_no_times(kept: Kept) -> None:
    """The line was passed over, and a row that was dated back was sound."""
    record, forgery = kept.record, Forgery.of(kept.record.lines)
    body = copy.deepcopy(forgery.body("report"))
    forgery.insert(body | {"base_key": "report:00000000000040008000000000000000"})
    forgery.seal()
    assert "anchor.backdated" in names(check(record, forgery.lines()))
    numbers = {one["anchor"]["block_number"] for one in forgery.anchors}

    class Without(Nodes):
        def batch(
            self, requests: Sequence[Request], parse: Sequence[Parse[Any]] | None = None
        ) -> list[Any]:
            gone = set(map(hex, numbers))
            return [
                None if method == "eth_getBlockByNumber" and params[0] in gone else one
                for (method, params), one in zip(
                    requests, super().batch(requests, parse), strict=True
                )
            ]

    report = check(record, forgery.lines(), kind=Without)
    assert any("its own log" in one for one in report.unchecked)


# Rows that are dated anew


def test_rows_of_the_newest_hour_without_any_anchor__are_never_sound(kept: Kept) -> None:
    """Days of a paper mandate, written anew as if all of it were of this hour, owed no anchor."""
    record, forgery = kept.record, Forgery.of(kept.late)
    at = exact_instant_text(datetime.fromtimestamp(record.chain.now, UTC))
    for body in forgery.bodies:
        body |= {"created_at": at, "occurred_at": at}
    forgery.anchors.clear()
    forgery.seal()
    report = check(record, forgery.lines())
    assert (names(report), report.verdict) == (set(), Verdict.UNCHECKED)


def test_paper_record_from_before_the_newest_post__needs_no_other_export(kept: Kept) -> None:
    """What was posted within the hour may not be found yet by an honest service."""
    forgery = Forgery.of(kept.late)
    newest = forgery.anchors.pop()["anchor"]["block_number"]
    block = kept.record.chain.rpc.call("eth_getBlockByNumber", [hex(newest + 1), False])

    class Early(Nodes):
        """Its newest block is the one after that post."""

        def call(
            self, method: str, params: Sequence[Any] = (), parse: Parse[Any] | None = None
        ) -> Any:
            if method != "eth_blockNumber":
                return super().call(method, params, parse)
            return parse(json.dumps(block["number"]).encode()) if parse else block["number"]

    report = check(kept.record, forgery.lines(), kind=Early)
    assert (report.findings, report.unchecked) == ([], [])
