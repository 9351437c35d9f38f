"""Verification and the fold up to a block read a ledger row by row: whatever happened to it, they answer
as with all rows at hand.
"""

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from core.db.engine import Database, WriteSession
from core.mandate.ledger import weeks as mandate_weeks
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.ledger.columns import projections, state_columns
from core.mandate.rows import mandate_facts
from core.mandate.rules.fold import fold
from core.mandate.rules.record import chain_faults, genesis_hash
from core.mandate.rules.rows import LedgerRow, NewRow, ReportedBy, RowKind
from core.mandate.rules.state import MandateState, state_from_json
from core.mandate.tables import Mandate, MandateHead
from tests.integration.core.rows import NOW, add_mandate, note
from tests.slow import few

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
LATER = datetime(2027, 3, 1, tzinfo=UTC)
BLOCKS = 12
ROWS = 60


def block(number: int) -> str:
    return f"0x{number:064x}"


def any_row(luck: random.Random, key: int) -> NewRow:
    """A fee, a refusal or a deposit of one of a few transactions, at any time of six weeks."""
    kind = luck.choice([RowKind.FEE, RowKind.NOTE, RowKind.DEPOSIT, RowKind.RESOLVE])
    told: dict[RowKind, dict[str, Any]] = {
        RowKind.FEE: {"fee_kind": luck.choice(["x402", "gas", "other"])},
        RowKind.NOTE: {"refusal": {"reason": "OverPerTxCap"}, "reverted": True},
    }
    by_chain = kind is RowKind.DEPOSIT or luck.random() < 0.6
    number = luck.randrange(1, BLOCKS) if by_chain else None
    return NewRow(
        kind=kind,
        reported_by=ReportedBy.CHAIN if by_chain else ReportedBy.AGENT,
        occurred_at=MONDAY + timedelta(hours=luck.randrange(1_000)),
        base_key=f"row:{key}",
        amount_usdc_e6=None if kind is RowKind.NOTE else luck.randrange(1, 9),
        cash_delta_usdc_e6=luck.randrange(1, 9) if kind is RowKind.DEPOSIT else 0,
        chain_id=84532,
        tx_hash=block(luck.randrange(10)),
        block_number=number,
        block_hash=None if number is None else block(number),
        payload=told.get(kind, {}),
    )


def grown(session: WriteSession, luck: random.Random) -> int:
    """Two ledgers of any rows, some of them reversed; the id of the first."""
    mandate_id, other = (add_mandate(session, f"m_{letter * 10}") for letter in "ab")
    for step in range(6):
        rows = [any_row(luck, step * 100 + n) for n in range(ROWS // 6)]
        mandate_ledger.append_many(session, mandate_id, rows, LATER)
        mandate_ledger.append_many(session, other, rows[:3], LATER)
        if luck.random() < 0.6:
            reversed_block = block(luck.randrange(1, BLOCKS))
            mandate_ledger.reverse_blocks(session, [reversed_block], LATER)
    return mandate_id


DAMAGE: Sequence[str] = (
    "delete from mandate_event where mandate_id = :id and seq = :seq",
    "delete from mandate_event where mandate_id = :id and seq >= :seq",
    "delete from mandate_event where mandate_id = :id",
    "delete from mandate_head where mandate_id = :id",
    "delete from mandate_week where mandate_id = :id and starts_at > :at",
    "update mandate_week set state = '{\"version\": 0}' where mandate_id = :id and starts_at > :at",
    "update mandate_head set state = '{\"version\": 0}' where mandate_id = :id",
    "update mandate_head set seq = :seq where mandate_id = :id",
    "update mandate_head set row_hash = :hash where mandate_id = :id",
    "update mandate set status = 'settled', ended_at = :at where id = :id",
    "update mandate_event set seq = -seq where mandate_id = :id and seq = :seq",
    "update mandate_event set seq = seq + 1000 where mandate_id = :id and seq >= :seq",
    ("update mandate_event set mandate_id = (select max(id) from mandate), seq = 1000, incarnation = 9 "
    "where mandate_id = :id and seq = :seq"),
    "update mandate_event set occurred_at = :at where mandate_id = :id and seq = :seq",
    "update mandate_event set cash_delta_usdc_e6 = 7 where mandate_id = :id and seq = :seq",
    "update mandate_event set amount_usdc_e6 = 7 where mandate_id = :id and seq = :seq",
    "update mandate_event set block_number = 3 where mandate_id = :id and seq = :seq",
    "update mandate_event set block_number = null where mandate_id = :id and seq = :seq",
    "update mandate_event set tx_hash = :hash where mandate_id = :id and seq = :seq",
    "update mandate_event set prev_hash = :hash where mandate_id = :id and seq = :seq",
    "update mandate_event set row_hash = :hash where mandate_id = :id and seq = :seq",
    "update mandate_event set reported_by = 'agent' where mandate_id = :id and seq = :seq",
    "update mandate_event set kind = 'deposit' where mandate_id = :id and seq = :seq",
    "update mandate_event set reverses_id = null where mandate_id = :id and seq >= :seq",
    ("update mandate_event set reverses_id = (select id from mandate_event where mandate_id = :id and "
    "seq = :other) where mandate_id = :id and seq = :seq and not exists (select from mandate_event b "
    "where b.reverses_id = (select id from mandate_event where mandate_id = :id and seq = :other))"),
    ("update mandate_event set reverses_id = (select id from mandate_event where mandate_id = :id and "
    "seq = :other), payload = jsonb_build_object('reverses_seq', cast(:other as bigint)) where "
    "mandate_id = :id and seq = :seq and not exists (select from mandate_event b where b.reverses_id "
    "= (select id from mandate_event where mandate_id = :id and seq = :other))"),
    ("update mandate_event set reverses_id = (select max(id) from mandate_event where mandate_id <> "
    ":id and id not in (select reverses_id from mandate_event where reverses_id is not null)) where "
    "mandate_id = :id and seq = :seq"),
    "update mandate_event set payload = '{\"x\": 0.5}' where mandate_id = :id and seq = :seq",
    "update mandate_event set payload = '[]' where mandate_id = :id and seq = :seq",
    "update mandate_event set payload = '{\"refusal\": {}}' where mandate_id = :id and seq = :seq",
)  # fmt: skip


def damage(session: WriteSession, mandate_id: int, luck: random.Random) -> None:
    """Change one to three things behind the triggers."""
    session.execute(text("set local session_replication_role = replica"))
    for statement in luck.choices(DAMAGE, k=luck.randrange(1, 4)):
        values = {
            "id": mandate_id,
            "seq": luck.randrange(1, ROWS),
            "other": luck.randrange(1, ROWS),
            "at": MONDAY + timedelta(hours=luck.randrange(-500, 1_500)),
            "hash": luck.randbytes(32),
        }
        wanted = {name: value for name, value in values.items() if f":{name}" in statement}
        with session.begin_nested():
            session.execute(text(statement), wanted)
    session.expire_all()


def every_row(session: WriteSession, mandate_id: int) -> list[LedgerRow]:
    """Whatever its seq: `load_rows` starts with 1."""
    return mandate_ledger.load_rows(session, mandate_id, since=-1_000_000)


def verified_at_once(session: WriteSession, mandate_id: int) -> list[str]:
    """What `verify` is to answer, with every row in memory and each fold from the first row on."""
    mandate, head = session.get_one(Mandate, mandate_id), session.get(MandateHead, mandate_id)
    rows, facts = every_row(session, mandate_id), mandate_facts(mandate)
    faults = chain_faults(rows, mandate.public_id)
    faults += mandate_weeks.faults(session, mandate_id, mandate_weeks.folded(rows, facts))
    if head is None:
        return [*faults, "the ledger has rows and no head"] if rows else faults
    return faults + head_faults(mandate, head, rows, fold(rows, facts))


def head_faults(
    mandate: Mandate, head: MandateHead, rows: Sequence[LedgerRow], state: MandateState
) -> list[str]:
    seq, row_hash = (
        (rows[-1].seq, rows[-1].row_hash) if rows else (0, genesis_hash(mandate.public_id))
    )
    faults = [] if head.seq == seq else [f"head: seq is {head.seq}, the last row's is {seq}"]
    if "0x" + head.row_hash.hex() != row_hash:
        faults.append(f"head: row_hash is 0x{head.row_hash.hex()}, the last row's is {row_hash}")
    columns = state_columns(state)
    faults += [
        f"head: {name} differs from the fold"
        for name in columns
        if getattr(head, name) != columns[name]
    ]
    if head.state["version"] != 0 and state_from_json(head.state) != state:
        faults.append("head: state differs from the fold")
    projected = projections(mandate.status, state) if rows else {}
    return faults + [
        f"mandate: {name} differs from the fold"
        for name in projected
        if getattr(mandate, name) != projected[name]
    ]


def at_block_at_once(session: WriteSession, mandate_id: int, number: int) -> MandateState:
    rows = every_row(session, mandate_id)
    return fold(
        [row for row in rows if row.block_number is None or row.block_number <= number],
        mandate_facts(session.get_one(Mandate, mandate_id)),
    )


def answer(ask: Callable[[], object]) -> object:
    """An answer, or the error in its place."""
    try:
        return ask()
    except mandate_ledger.UNREADABLE as error:
        return type(error), str(error)


@pytest.mark.parametrize("seed", few(range(40)))
def test_any_damage_to_any_ledger__is_told_of_as_with_all_rows_at_hand(
    write: WriteSession, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    luck = random.Random(seed)
    monkeypatch.setattr(mandate_ledger, "ROWS_AT_ONCE", luck.choice([1, 2, 7, 30, 60, 500]))
    mandate_id = grown(write, luck)
    damage(write, mandate_id, luck)
    streamed = mandate_ledger.verify(write, mandate_id)
    at_once = answer(lambda: verified_at_once(write, mandate_id))
    if isinstance(at_once, tuple):
        kind, _ = at_once
        assert len(streamed) == 1
        assert streamed[0].endswith(f"cannot be read: {kind.__name__}")
    else:
        assert streamed == at_once


@pytest.mark.parametrize("seed", few(range(40)))
def test_the_fold_up_to_a_block_of_any_ledger__is_as_with_all_rows_at_hand(
    write: WriteSession, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    luck = random.Random(seed)
    monkeypatch.setattr(mandate_ledger, "ROWS_AT_ONCE", luck.choice([1, 2, 7, 30, 60, 500]))
    mandate_id = grown(write, luck)
    damage(write, mandate_id, luck)
    streamed, at_once = (
        [answer(lambda: load(write, mandate_id, number)) for number in range(BLOCKS)]  # noqa: B023 - called at once
        for load in (mandate_ledger.load_at, at_block_at_once)
    )
    assert streamed == at_once


def test_a_row_that_nobody_can_read__is_told_of_and_leaves_no_cursor_open(
    database: Database,
) -> None:
    with database.write() as session:
        mandate_id = add_mandate(session)
        rows = [note(number) for number in range(3 * mandate_ledger.ROWS_AT_ONCE)]
        mandate_ledger.append_many(session, mandate_id, rows, NOW)
        session.execute(text("set local session_replication_role = replica"))
        session.execute(
            text("update mandate_event set kind = 'other', payload = '[]' where seq = 600")
        )
    with database.read() as session:
        assert mandate_ledger.verify(session, mandate_id) == [
            "seq 599, or the row after it: cannot be read: KeyError"
        ]
        with pytest.raises(KeyError):
            mandate_ledger.load_at(session, mandate_id, 9)
        assert session.scalar(text("select count(*) from pg_cursors")) == 0


def test_a_payload_deeper_than_the_stack__is_told_of(database: Database) -> None:
    with database.write() as session:
        mandate_id = add_mandate(session)
        mandate_ledger.append_many(session, mandate_id, [note(number) for number in range(3)], NOW)
        session.execute(text("set local session_replication_role = replica"))
        deep = '{"a":' * 3_000 + "1" + "}" * 3_000
        session.execute(
            text("update mandate_event set payload = cast(:deep as jsonb) where seq = 2"),
            {"deep": deep},
        )
    with database.read() as session:
        (fault,) = mandate_ledger.verify(session, mandate_id)
        assert fault.endswith("cannot be read: RecursionError")
        assert session.scalar(text("select count(*) from pg_cursors")) == 0
