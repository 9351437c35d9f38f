"""Every row that the API writes is of its declared form, and flagged as the verifier judges it."""

from dataclasses import replace

import pytest

from api.client.verify.findings import Report
from api.client.verify.flags_check import FlagsCheck
from api.client.verify.paper_check import check_paper
from api.client.verify.reading import RecordFile, read_record
from api.client.verify.replay import fold_rows
from api.client.verify.row_forms import declared, is_stated
from api.client.verify.terms_check import RecordSubject, subject_of
from core.canonical import canonical_json
from core.mandate.rules import events as ev
from core.mandate.rules.rows import LedgerRow
from core.perps.rules.notes import order_note, result_note, stop_line_note
from tests.integration.api.mandates.stage import ADAPTER, Stage, address
from tests.integration.api.mandates.test_mandates_reports import TX, report

SENT = "0x" + "cd" * 32
POSITION = {"position": {"id": "p1", "name": "Unit"}}


def read(stage: Stage, mandate_id: str, found: Report) -> tuple[RecordFile, RecordSubject]:
    text = stage.call("GET", f"/mandates/{mandate_id}/record", stage.owner).content
    record = read_record(text.splitlines(keepends=True), found)
    assert record.first is not None
    subject = subject_of(record.first, found)
    assert subject is not None
    return record, subject


def reported(stage: Stage, mandate_id: str) -> None:
    """Reports of every kind, inside the rules and beyond."""
    report(stage, mandate_id, amount_usdc="100", payload={"target": ADAPTER, **POSITION}, why="x")
    report(stage, mandate_id, amount_usdc="250")
    report(stage, mandate_id, kind="move", payload={"target": {"address": address(9)}})
    report(stage, mandate_id, kind="sell", tx_hash=None, payload={"detail": {"target": ADAPTER}})
    report(stage, mandate_id, kind="sell", tx_hash=None, payload=POSITION)
    report(stage, mandate_id, kind="resolve", amount_usdc="-3.5", payload=POSITION)
    report(stage, mandate_id, kind="fee", amount_usdc="0.01", payload={"fee_kind": "x402"})
    report(stage, mandate_id, kind="note", amount_usdc=None, tx_hash=None, payload={"a": [1, None]})
    for body in ({"tx_hash": SENT, "amount_usdc": "7"}, {}):
        stage.post(
            f"/mandates/{mandate_id}/refusals", stage.agent, {"reason": "OverPerTxCap"} | body
        )


@pytest.mark.slow
def test_a_paper_mandate_of_every_report__has_no_difference(stage: Stage) -> None:
    mandate_id, found = stage.paper(), Report()
    reported(stage, mandate_id)
    stage.later(hours=30)
    report(stage, mandate_id, amount_usdc="90", payload={"target": ADAPTER, **POSITION})
    stage.post(f"/mandates/{mandate_id}/stop", stage.owner)
    report(stage, mandate_id)
    report(stage, mandate_id, tx_hash=None, amount_usdc=None, why="late")
    report(stage, mandate_id, kind="note", amount_usdc=None)
    record, subject = read(stage, mandate_id, found)
    check_paper(record, subject, found)
    assert found.findings == []
    assert len(record.rows) == 17
    assert sum("violation" in row.payload for row in record.rows) == 2


def test_a_dropped_draft__has_no_difference(stage: Stage) -> None:
    mandate_id, found = stage.draft(), Report()
    stage.post(f"/mandates/{mandate_id}/cancel", stage.owner)
    record, subject = read(stage, mandate_id, found)
    assert [row.base_key for row in record.rows] == ["cancelled"]
    _assert_declared(record.rows, subject)
    assert found.findings == []


def _assert_declared(rows: list[LedgerRow], subject: RecordSubject) -> None:
    for row in filter(is_stated, rows):
        wanted = declared(row, subject)
        assert wanted is not None, row.base_key
        for name in wanted.__dataclass_fields__:
            if name != "payload":
                assert getattr(row, name) == getattr(wanted, name), (row.base_key, name)
        assert canonical_json(row.payload) == canonical_json(wanted.payload)


@pytest.mark.slow
@pytest.mark.parametrize("is_stopped", [False, True])
def test_reports_on_the_chain__are_of_their_forms_and_judged_alike(
    stage: Stage, mandate_id: str, is_stopped: bool
) -> None:
    found = Report()
    stage.executed(mandate_id, 80_000_000, tx_hash=TX)
    reported(stage, mandate_id)
    stage.post(f"/mandates/{mandate_id}/stop", stage.agent)
    if is_stopped:
        stage.chain_says(
            mandate_id,
            ev.Stopped(
                stage.owner_wallet.address, "0x" + b"owner".ljust(32, b"\0").hex(), 0, 0, False
            ),
        )
    stage.later(hours=30)
    stage.executed(mandate_id, 10_000_000)
    reported(stage, mandate_id)
    record, subject = read(stage, mandate_id, found)
    _assert_declared(record.rows, subject)
    logs = {row.base_key: row for row in record.rows if row.base_key.startswith("log:")}
    until = int(stage.clock.now.timestamp())
    flags = FlagsCheck(subject, record.rows, logs, until, found)
    fold_rows(record.rows, logs, subject.facts, found, flags.before)
    flags.end()
    assert found.findings == []
    assert sum("unseen" in row.payload for row in record.rows) > 1


def test_a_leg_that_was_bound_and_unbound__is_of_its_forms(stage: Stage, mandate_id: str) -> None:
    body = {"owner_address": stage.owner_wallet.address, "agent_address": address(7), "dex": "xyz"}
    stage.post(f"/mandates/{mandate_id}/hl-leg", stage.owner, body, status=201)
    stage.call("DELETE", f"/mandates/{mandate_id}/hl-leg", stage.owner)
    record, subject = read(stage, mandate_id, Report())
    _assert_declared(record.rows, subject)
    words = [row.base_key.partition(":")[0] for row in record.rows]
    assert words[-2:] == ["hl_leg_bound", "hl_leg_unbound"]


def test_orders_and_stop_lines_of_a_leg__are_of_their_forms(stage: Stage, mandate_id: str) -> None:
    now = stage.clock.now
    words = {
        "status": "sending",
        "cloid": "0x" + "ab" * 16,
        "coin": "BTC",
        "side": "sell",
        "size": "0.5",
        "notional_usd": "29700.000000",
        "by": "owner",
    }
    ended = {"status": "pending", "why": None, "now": now}
    for row in (
        order_note(1, words, reduce_only=True, why="stop_line", now=now),
        result_note(
            1,
            status="unknown",
            cloid=words["cloid"],
            avg_px=None,
            total_sz=None,
            oid=None,
            venue_words=None,
            now=now,
        ),
        result_note(
            1,
            status="rejected",
            cloid=words["cloid"],
            avg_px=None,
            total_sz=None,
            oid=None,
            venue_words="Order has invalid size.",
            now=now,
        ),
        result_note(
            1,
            status="accepted",
            cloid=words["cloid"],
            avg_px="60000",
            total_sz="0.5",
            oid=7,
            venue_words=None,
            now=now,
        ),
        stop_line_note(3, 1, transient=True, key_lost=False, **ended),
        stop_line_note(3, 2, transient=False, key_lost=True, **ended),
    ):
        stage.append(mandate_id, row)
    record, subject = read(stage, mandate_id, Report())
    _assert_declared(record.rows, subject)


def test_a_leg_of_another_address__is_of_no_form(stage: Stage, mandate_id: str) -> None:
    body = {"owner_address": stage.owner_wallet.address, "agent_address": address(7)}
    stage.post(f"/mandates/{mandate_id}/hl-leg", stage.owner, body, status=201)
    record, subject = read(stage, mandate_id, Report())
    leg = record.rows[-1].payload["hl_leg_bound"] | {"owner_address": address(8)}
    wanted = declared(replace(record.rows[-1], payload={"hl_leg_bound": leg}), subject)
    assert wanted is not None
    assert wanted.payload["hl_leg_bound"] != leg
