"""What is read in parts equals what the whole ledger says: steps by page, statements by week."""

import random
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from psycopg import Cursor

from api.areas.mandates.schemas.commands import WeekQuery
from api.areas.mandates.service import statements
from api.areas.mandates.service.steps_now import KeptSteps, PlaceOfSteps, StepsPage, steps_of
from api.areas.mandates.service.views import vault_of
from api.areas.mandates.views.kept_days import KeptDays, KeptWeeks
from api.kernel.operation import Call, Parts
from core.db.engine import WriteSession
from core.mandate import rows as mandate_rows
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rows import counted_between, mandate_facts
from core.mandate.rules.fold import effective
from core.mandate.rules.limits import SpendWindow
from core.mandate.rules.rows import NewRow, ReportedBy, RowKind
from core.mandate.rules.statement import NO_TALLY, statement_json, unwritten_statement
from core.mandate.rules.steps import step_groups, steps_page
from core.mandate.rules.violations import outflows_of, taken_by
from core.mandate.rules.weeks import week_of
from core.mandate.tables import Mandate, MandateHead
from core.money import usdc_text
from core.times import DAY_S
from tests.integration.api.mandates.stage import Stage
from tests.integration.core.rows import NOW, add_mandate, signed, vault_created
from tests.slow import few
from tests.statements import week_statement

TARGET = "0x" + "7A" * 20
SPAN_HOURS = 24 * 21
LATER = NOW + timedelta(hours=SPAN_HOURS + 1)
USDC = 1_000_000


def row(
    luck: random.Random,
    kind: RowKind,
    by: ReportedBy,
    key: str,
    tx: int,
    payload: dict[str, Any],
    **more: Any,
) -> NewRow:
    on_chain = (
        {"block_number": tx // 3, "block_hash": f"0x{tx // 3:064x}", "chain_id": 84532}
        if by is ReportedBy.CHAIN
        else {}
    )
    at = NOW + timedelta(hours=luck.randrange(SPAN_HOURS))
    return NewRow(
        kind=kind,
        reported_by=by,
        occurred_at=at,
        base_key=f"{key}:{tx}",
        tx_hash=f"0x{tx:064x}",
        payload=payload,
        **on_chain,
        **more,
    )


def executed(luck: random.Random, tx: int) -> NewRow:
    spent = luck.randrange(1, 5) * USDC
    fact = {
        "target": TARGET,
        "selector": "0x12345678",
        "spent": usdc_text(spent),
        "received": "0.000000",
        "nonce": tx,
        "balance": "1.000000",
    }
    return row(
        luck,
        RowKind.MOVE,
        ReportedBy.CHAIN,
        "log",
        tx,
        {"executed": fact},
        amount_usdc_e6=spent,
        cash_delta_usdc_e6=-spent,
    )


def reported(luck: random.Random, tx: int) -> NewRow:
    target = {"kind": "contract", "chain_id": 84532, "address": TARGET}
    payload: dict[str, Any] = {"why": f"because {tx}", "target": target}
    if luck.random() < 0.3:
        payload["violation"] = {"codes": ["per_tx_cap"], "detail": {}}
    return row(
        luck,
        luck.choice((RowKind.BUY, RowKind.MOVE)),
        ReportedBy.AGENT,
        "report",
        tx,
        payload,
        amount_usdc_e6=luck.randrange(1, 9) * USDC,
    )


def refusal(luck: random.Random, tx: int) -> NewRow:
    fact = {
        "reason": "OverPerTxCap",
        "source": "agent",
        "reason_source": "agent",
        "check": "reported",
    }
    return row(
        luck, RowKind.NOTE, ReportedBy.AGENT, "refusal", tx, {"refusal": fact, "why": "too much"}
    )


def reverted(luck: random.Random, tx: int) -> NewRow:
    fact = {
        "reason": "OverPerTxCap",
        "source": "chain",
        "reason_source": "replay",
        "check": "block_scan",
    }
    return row(
        luck, RowKind.NOTE, ReportedBy.CHAIN, "revert", tx, {"refusal": fact, "reverted": True}
    )


def control(luck: random.Random, tx: int) -> NewRow:
    payload = luck.choice(
        ({"agent_removed": {"agent": TARGET, "by": TARGET}}, {"agent_set": {"agent": TARGET}})
    )
    return row(luck, RowKind.NOTE, ReportedBy.CHAIN, "log", tx, payload)


def fee(luck: random.Random, tx: int) -> NewRow:
    return row(
        luck,
        RowKind.FEE,
        ReportedBy.AGENT,
        "fee",
        tx,
        {"fee_kind": "x402", "resource": "https://a"},
        amount_usdc_e6=USDC,
    )


def unwound(luck: random.Random, tx: int) -> NewRow:
    received = luck.randrange(1, 5) * USDC
    fact = {"adapter": TARGET, "received": usdc_text(received), "by": TARGET}
    return row(
        luck,
        RowKind.NOTE,
        ReportedBy.CHAIN,
        "log",
        tx,
        {"unwound": fact},
        amount_usdc_e6=received,
        cash_delta_usdc_e6=received,
    )


WRITERS = (executed, executed, reported, reported, refusal, reverted, control, fee, unwound)


def growing(write: WriteSession, seed: int, rows: int) -> Iterator[Mandate]:
    """A ledger after each of its rows, in which transactions are told of by several rows, in any
    order, weeks apart, and blocks are reversed.
    """
    luck = random.Random(seed)
    mandate_id = add_mandate(write)
    deposit = row(
        luck,
        RowKind.DEPOSIT,
        ReportedBy.CHAIN,
        "log",
        9_999,
        {"from": TARGET},
        amount_usdc_e6=100 * USDC,
        cash_delta_usdc_e6=100 * USDC,
    )
    mandate_ledger.append_many(write, mandate_id, [signed(), vault_created(), deposit], NOW)
    for _ in range(rows):
        if luck.random() < 0.06:
            mandate_ledger.reverse_blocks(write, [f"0x{luck.randrange(1, rows // 6):064x}"], LATER)
        else:
            mandate_ledger.append(
                write, mandate_id, luck.choice(WRITERS)(luck, luck.randrange(3, rows // 2)), LATER
            )
        write.flush()
        write.expire_all()
        yield write.get_one(Mandate, mandate_id)


def filled(write: WriteSession, seed: int, rows: int) -> Mandate:
    """The same with all its rows."""
    return list(growing(write, seed, rows))[-1]


def call_of(session: WriteSession) -> Call:
    deps = SimpleNamespace(parts=Parts(KeptSteps(), KeptWeeks()))
    return Call(db=session, now=LATER, deps=cast("Any", deps), request_id="test", client="test")


@pytest.mark.parametrize("seed", few(range(6), plain=1))
@pytest.mark.slow
def test_steps__page_by_page__are_those_of_the_whole_ledger(write: WriteSession, seed: int) -> None:
    mandate = filled(write, seed, 90)
    groups = step_groups(
        mandate_ledger.load_rows(write, mandate.id), mandate.purpose, vault=vault_of(mandate)
    )
    cursor: str | None = None
    for _ in range(200):
        page = steps_of(call_of(write), mandate, cursor, 7)
        assert page == steps_page(groups, cursor, 7)
        cursor = page[1]
        if cursor is None:
            break
    assert cursor is None


@pytest.mark.parametrize("seed", few(range(6), plain=1))
def test_steps__that_are_kept_while_the_ledger_grows__are_those_of_the_whole_ledger(
    write: WriteSession, seed: int
) -> None:
    call = call_of(write)
    for mandate in growing(write, seed, 40):
        groups = step_groups(
            mandate_ledger.load_rows(write, mandate.id),
            mandate.purpose,
            vault=vault_of(mandate),
        )
        for _ in range(2):  # the second time it is found
            assert steps_of(call, mandate, None, 7) == steps_page(groups, None, 7)


@pytest.mark.parametrize("seed", few(range(6), plain=1))
@pytest.mark.slow
def test_day__that_is_kept_while_the_ledger_grows__is_that_of_the_whole_ledger(
    write: WriteSession, seed: int
) -> None:
    luck, days = random.Random(seed), KeptDays()
    at, flows = int(NOW.timestamp()), 0
    for mandate in growing(write, seed, 90):
        at += luck.choice((0, 0, 60, 3_600, 6 * 3_600, -120, -3_600))
        rows = effective(mandate_ledger.load_rows(write, mandate.id))
        facts = mandate_facts(mandate)
        said = [one for row in rows if (one := taken_by(row, facts)) is not None]
        expected = outflows_of([one for one in said if one.at >= at - DAY_S])
        head = write.get_one(MandateHead, mandate.id)
        day = days.day_of(write, head, facts, at)
        assert day.outflows == expected
        assert day.window == SpendWindow.of((one.at, one.amount_usdc_e6) for one in expected)
        flows += len(expected)
    assert flows > 0


@pytest.mark.parametrize("seed", few(range(6), plain=1))
@pytest.mark.slow
def test_week__that_is_kept_while_the_ledger_grows__is_that_of_the_whole_ledger(
    write: WriteSession, seed: int
) -> None:
    luck, weeks = random.Random(seed), KeptWeeks()
    for mandate in growing(write, seed, 90):
        week = week_of(NOW + timedelta(days=luck.choice((0, 7, 14))))
        rows = effective(mandate_ledger.load_rows(write, mandate.id))
        facts, head = mandate_facts(mandate), write.get_one(MandateHead, mandate.id)
        tally = weeks.tally_of(write, head, facts, week)
        assert tally == NO_TALLY.with_rows(rows, facts, week)


def test_counted_rows__up_to_a_row__are_those_that_counted_then(write: WriteSession) -> None:
    """A reversal that comes between the head and the rows takes nothing from what that head names."""
    mandate_id = add_mandate(write)
    mandate_ledger.append_many(write, mandate_id, [signed(), vault_created()], NOW)
    spent = mandate_ledger.append(write, mandate_id, executed(random.Random(1), 9), LATER).row

    def counted(until_seq: int | None) -> list[int]:
        rows = counted_between(write, [mandate_id], NOW, LATER, until_seq)[mandate_id]
        return [one.seq for one in rows if one.kind is RowKind.MOVE]

    mandate_ledger.reverse_blocks(write, [str(spent.block_hash)], LATER)
    assert (counted(spent.seq), counted(None)) == ([spent.seq], [])


def test_day__of_a_ledger_that_grew_by_very_much__is_read_by_its_time(
    write: WriteSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    mandate, days = filled(write, 1, 40), KeptDays()
    head, facts = write.get_one(MandateHead, mandate.id), mandate_facts(mandate)
    first = mandate_ledger.load_rows(write, mandate.id)[0]
    known = MandateHead(
        mandate_id=mandate.id, seq=first.seq, row_hash=bytes.fromhex(first.row_hash[2:])
    )
    monkeypatch.setattr(mandate_rows, "MOST_GROWN", 10)
    assert mandate_rows.counted_since(write, head, known.seq, known.row_hash) is None
    at = int((NOW + timedelta(hours=SPAN_HOURS)).timestamp())
    days.day_of(write, known, facts, at)
    assert days.day_of(write, head, facts, at) == KeptDays().day_of(write, head, facts, at)


def test_pages_of_steps__are_kept_by_their_size() -> None:
    kept, read = KeptSteps(most=10_000), list[int]()

    def page(number: int, letters: int, version: bytes = b"head") -> StepsPage:
        def made() -> StepsPage:
            read.append(number)
            return StepsPage(({"note": "x" * letters},), None)

        return kept.of_version(PlaceOfSteps(number, None, 50), version, made)

    page(1, 100), page(1, 100), page(2, 20_000), page(2, 20_000)
    assert read == [1, 2, 2]
    page(1, 100, b"next"), page(1, 100, b"next"), page(1, 100)
    assert read == [1, 2, 2, 1, 1]  # of a page its newest version alone is kept


def test_day__of_another_history_of_the_same_length__is_read_anew(write: WriteSession) -> None:
    """As after a restore: the same seq, another row."""
    mandate = filled(write, 1, 30)
    days, facts = KeptDays(), mandate_facts(mandate)
    at = int((NOW + timedelta(hours=SPAN_HOURS)).timestamp())
    head = write.get_one(MandateHead, mandate.id)
    other = MandateHead(mandate_id=head.mandate_id, seq=head.seq - 1, row_hash=b"\1" * 32)
    days.day_of(write, other, facts, at)
    assert days.day_of(write, head, facts, at) == KeptDays().day_of(write, head, facts, at)


@pytest.mark.parametrize("seed", few(range(6), plain=1))
@pytest.mark.slow
def test_statement__of_each_week__is_that_of_the_whole_ledger(
    write: WriteSession, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    mandate = filled(write, seed, 90)
    monkeypatch.setattr(statements, "owned", lambda call, caller, public_id: mandate)
    monkeypatch.setattr(
        statements, "terms_of", lambda one: SimpleNamespace(per_tx_cap=USDC, daily_cap=2 * USDC)
    )
    rows = mandate_ledger.load_rows(write, mandate.id)
    for days in range(-7, 22, 7):
        week = week_of(NOW + timedelta(days=days))
        command = WeekQuery(id=mandate.public_id, week=week.label)
        answer = statements.statement(call_of(write), cast("Any", None), command).body.model_dump(
            mode="json", exclude_unset=True
        )
        about = statements._about(mandate)
        expected = statement_json(week_statement(rows, about, week, LATER))
        existed = mandate.created_at < week.end_at
        assert answer == (expected if existed else unwritten_statement(expected))


@pytest.mark.slow
def test_statement__of_many_steps__shows_the_newest_and_its_files_have_all(
    write: WriteSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    mandate, most = filled(write, 1, 90), 5
    week = week_of(NOW + timedelta(days=7))
    monkeypatch.setattr(statements, "STEPS_SHOWN", most)
    shown = statements._steps_of(call_of(write), mandate, week, most)
    whole = statements._steps_of(call_of(write), mandate, week, None)
    newest = sorted(whole.rows, key=lambda one: (one.occurred_at, one.seq))[-most:]
    assert (shown.has_more, whole.has_more) == (True, False)
    assert {one.seq for one in newest} <= {one.seq for one in shown.rows}
    assert len(shown.rows) < len(whole.rows)


MOST_STATEMENTS = 8


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that the database is sent from now on; begin, commit and what asks a rested
    connection are left out.
    """
    statements_sent: list[str] = []
    execute = Cursor.execute

    def note(cursor: Cursor[Any], query: Any, *given: Any, **more: Any) -> Any:
        if query != ";":
            statements_sent.append(str(query))
        return execute(cursor, query, *given, **more)

    monkeypatch.setattr(Cursor, "execute", note)
    return statements_sent


@pytest.mark.parametrize("who", ["agent", "owner"])
@pytest.mark.slow
def test_read_of_a_mandate__takes_at_most_eight_statements(
    stage: Stage, sent: list[str], who: str
) -> None:
    mandate_id = stage.working(approval_above_usdc="1")  # the line is asked of too
    for _ in range(60):
        stage.executed(mandate_id, USDC // 100)
    sent.clear()
    stage.get(f"/mandates/{mandate_id}", getattr(stage, who))
    assert len(sent) <= MOST_STATEMENTS, "\n".join(sent)


@pytest.mark.parametrize(
    ("path", "who"),
    [
        ("/mandates", "owner"),
        ("/mandates", "agent"),
        ("/agents/me", "agent"),
        ("/me/statement", "owner"),
    ],
)
def test_a_list__takes_no_more_statements_for_more_mandates(
    stage: Stage, sent: list[str], path: str, who: str
) -> None:
    stage.working()
    sent.clear()
    stage.get(path, getattr(stage, who))
    of_one = len(sent)
    for _ in range(4):
        stage.working()
    sent.clear()
    stage.get(path, getattr(stage, who))
    assert len(sent) == of_one, "\n".join(sent)
