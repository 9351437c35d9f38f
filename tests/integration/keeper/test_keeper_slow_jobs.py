"""The slow jobs that ship, on a real database and a real chain: `prune` and `balances`."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from api.areas.retention.jobs import Prune
from core.credits.tables import FreeReadCount, FreeReadPool
from core.custody.tables import CustodialTransfer, CustodialWallet
from core.db.engine import Database
from core.identity.tables import Account, IdempotencyRecord, SignInNonce
from core.jobs import queries as job_rows
from core.jobs.tables import JobRun
from core.keeper import queue as outbox_queue
from core.keeper.tables import GasDay, KeeperIntent, KeeperTx, Outbox, VaultMark
from core.payments.tables import GuardSignature
from tests.integration.keeper.conftest import intent

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
OLD = datetime(2026, 8, 1, tzinfo=UTC)  # more than 90 days ago
A, B = b"a" * 20, b"b" * 20


def add_marks(database: Database, *marks: tuple[bytes, int, datetime]) -> None:
    with database.write() as session:
        for vault, block_number, at in marks:
            session.add(
                VaultMark(
                    chain_id=84532,
                    vault=vault,
                    block_number=block_number,
                    block_hash=b"\x01" * 32,
                    worth_usdc_e6=1_000,
                    floor_usdc_e6=950,
                    source="vault.worth",
                    at=at,
                )
            )
            session.flush()  # ids in this order


def add_intent(database: Database, vault: bytes, trigger: int, kind: str = "stop") -> None:
    with database.write() as session:
        session.add(intent(vault, kind=kind, state="done", trigger=trigger, at=OLD))


def kept(database: Database) -> list[tuple[bytes, int]]:
    with database.read() as session:
        return [
            (mark.vault, mark.block_number)
            for mark in session.scalars(select(VaultMark).order_by(VaultMark.id))
        ]


def prune(
    database: Database, now: datetime = NOW, batch: int = 5_000, days: int = 90
) -> dict[str, Any]:
    """One run, recorded as a good one, as the schedule does it."""
    did = dict(Prune(database, days, days, batch).run(now))
    with database.write() as session:
        job_rows.end(
            session, job_rows.begin(session, "prune", 3_600, "test", now), "ok", None, did, now
        )
    return did


def minutes(
    count: int, first_block: int = 1, vault: bytes = A, day: datetime = OLD
) -> list[tuple[bytes, int, datetime]]:
    return [(vault, first_block + n, day + timedelta(minutes=n)) for n in range(count)]


# prune


@pytest.mark.parametrize(
    ("at", "is_kept"),
    [
        (datetime(2026, 8, 22, 23, 59, 59, tzinfo=UTC), False),
        (datetime(2026, 8, 23, tzinfo=UTC), True),
    ],
)
def test_prune__days_that_began_within_the_retention__are_whole(
    database: Database, at: datetime, is_kept: bool
) -> None:
    add_marks(database, (A, 1, at.replace(hour=0, minute=0, second=0)), (A, 2, at), (A, 3, NOW))
    prune(database)
    assert ((A, 2) in kept(database)) is is_kept


def test_prune__keeps_a_vaults_newest_judgement(database: Database) -> None:
    add_marks(database, *minutes(3))
    prune(database)
    assert kept(database) == [(A, 1), (A, 3)]


@pytest.mark.parametrize("trigger", [3, 4])
def test_prune__keeps_what_an_intent_was_decided_from(database: Database, trigger: int) -> None:
    """The intent's block may lie after the judgement's: a signer reads the worth again."""
    at = [mark for mark in minutes(6) if mark[1] != 4]
    add_marks(database, *at)
    add_intent(database, A, trigger)
    add_intent(database, B, 5)
    prune(database)
    assert kept(database) == [(A, 1), (A, 3), (A, 6)]


@pytest.mark.parametrize("batch", [2, 100])
def test_prune__in_batches_of_any_size__keeps_the_same(database: Database, batch: int) -> None:
    add_marks(
        database, *minutes(5), *minutes(5, 11, B), *minutes(2, 21), (A, 90, NOW), (B, 91, NOW)
    )
    add_intent(database, A, 4, "mark")
    did = prune(database, batch=batch)
    assert kept(database) == [(A, 1), (A, 4), (B, 11), (A, 90), (B, 91)]
    assert did["marks"] == 9


def test_prune__looks_at_each_judgement_once(database: Database) -> None:
    add_marks(database, *minutes(3), (A, 90, NOW))
    first = prune(database)
    assert (first["marks"], prune(database)) == (2, first | {"marks": 0})
    later = NOW + timedelta(days=91)
    add_marks(database, (A, 91, NOW + timedelta(hours=1)), (A, 92, later))
    assert prune(database, later)["marks"] == 1
    assert kept(database) == [(A, 1), (A, 90), (A, 92)]


def test_prune__drops_answers_texts_and_runs_that_nobody_needs(database: Database) -> None:
    def record(key: str, at: datetime) -> IdempotencyRecord:
        return IdempotencyRecord(
            scope="s", key=key, body_hash=b"\0" * 32, status=200, body={}, created_at=at
        )

    def nonce(name: str, expires_at: datetime) -> SignInNonce:
        return SignInNonce(
            wallet_address=A,
            purpose=name,
            nonce=name,
            message="m",
            created_at=OLD,
            expires_at=expires_at,
        )

    with database.write() as session:
        limit = NOW - timedelta(days=90)
        session.add_all(
            [
                record("old", limit - timedelta(seconds=1)),
                record("older", OLD),
                record("kept", limit),
            ]
        )
        session.add_all([nonce("expired", NOW), nonce("valid", NOW + timedelta(seconds=1))])
        for at in (OLD, NOW - timedelta(days=8), NOW):
            job_rows.end(
                session, job_rows.begin(session, "balances", 30, "test", at), "ok", None, {}, at
            )
    did = prune(database, batch=1)
    assert {name: did[name] for name in ("idempotency_records", "sign_in_texts", "job_runs")} == {
        "idempotency_records": 2,
        "sign_in_texts": 1,
        "job_runs": 2,
    }
    with database.read() as reading:
        assert list(reading.scalars(select(IdempotencyRecord.key))) == ["kept"]
        assert list(reading.scalars(select(SignInNonce.purpose))) == ["valid"]
        assert list(
            reading.scalars(select(JobRun.started_at).where(JobRun.name == "balances"))
        ) == [NOW]


def _outbox(session: Session, key: str, *states: tuple[str, datetime]) -> int:
    request = Outbox(
        key=key,
        chain_id=84532,
        kind="relay_delivery",
        role="relay",
        to=A,
        data=b"",
        reason={},
        created_at=OLD,
    )
    session.add(request)
    session.flush()
    for state, at in states:
        led_to = intent(A, kind="relay_delivery", state=state, trigger=1, at=at)
        led_to.outbox_id, led_to.vault, led_to.subject = request.id, None, f"outbox:{request.id}"
        session.add(led_to)
        session.flush()
    return request.id


def _with_attempt(session: Session, row: KeeperIntent, nonce: int) -> None:
    session.add(row)
    session.flush()
    session.add(
        KeeperTx(
            intent_id=row.id, signer=A, nonce=nonce, attempt=1, raw=b"", hash=b"\0" * 32,
                is_filler=False, max_fee_wei=1,
            max_priority_fee_wei=1, offered_block=1, state="mined", created_at=OLD,
        )
    )  # fmt: skip


@pytest.mark.parametrize("batch", [1, 5_000])
def test_prune__drops_what_is_finished_and_what_led_to_it(database: Database, batch: int) -> None:
    with database.write() as session:
        ends = [
            ("mark", "done"),
            ("mark", "superseded"),
            ("mark", "done"),
            ("stop", "done"),
            ("stop", "reverted"),
            ("settle", "done"),
        ]
        for n, (kind, state) in enumerate(ends):
            _with_attempt(session, intent(A, kind=kind, state=state, trigger=n, at=OLD), n)
        _with_attempt(session, intent(A, kind="settle", state="mined", trigger=10, at=OLD), 10)
        _with_attempt(
            session,
            intent(A, kind="fill", state="done", trigger=11, at=NOW - timedelta(days=89)),
            11,
        )
        _outbox(session, "finished", ("superseded", OLD), ("done", OLD))
        queued = _outbox(session, "still queued", ("done", OLD))
        outbox_queue.add(session, queued, 84532, None, OLD)
        _outbox(session, "ended of late", ("superseded", OLD), ("done", NOW))
        _outbox(session, "to be planned again", ("superseded", OLD))
        _outbox(session, "not planned")
    did = prune(database, batch=batch)
    assert (did["intents"], did["requests"]) == (3, 1)
    with database.read() as session:
        left = session.execute(
            select(KeeperIntent.kind, KeeperIntent.state)
            .where(KeeperIntent.vault == A)
            .order_by(KeeperIntent.id)
        )
        assert [tuple(row) for row in left] == [
            ("mark", "done"), ("stop", "done"), ("stop", "reverted"), ("settle", "mined"), ("fill",
                "done"),
        ]  # fmt: skip
        assert len(session.scalars(select(KeeperTx)).all()) == 5
        keys = set(session.scalars(select(Outbox.key)))
    assert keys == {"ended of late", "to be planned again", "not planned", "still queued"}


def test_prune__keeps_the_requests_of_custodial_transfers(database: Database) -> None:
    with database.write() as session:
        _outbox(session, "delivery", ("done", OLD))
        moved = _outbox(session, "custodial transfer", ("done", OLD))
        account = Account(kind="agent", name="agent", created_at=OLD)
        session.add(account)
        session.flush()
        session.add(
            CustodialWallet(
                account_id=account.id, address=A, ciphertext=b"", key_version="v1", created_at=OLD
            )
        )
        session.flush()
        session.add(
            CustodialTransfer(
                outbox_id=moved,
                account_id=account.id,
                to=B,
                amount_usdc_e6=1,
                expires_at=OLD,
                created_at=OLD,
            )
        )
    assert prune(database)["requests"] == 1
    with database.read() as session:
        assert session.scalars(select(Outbox.key)).all() == ["custodial transfer"]
        kept = select(KeeperIntent.state).where(KeeperIntent.outbox_id == moved)
        assert session.scalars(kept).all() == ["done"]


@pytest.mark.parametrize("batch", [1, 5_000])
def test_prune__drops_what_counted_in_a_day_after_thirty_days(
    database: Database, batch: int
) -> None:
    last = NOW.date() - timedelta(days=30)
    with database.write() as session:
        agent = Account(kind="agent", name="agent", created_at=OLD)
        session.add(agent)
        session.flush()
        for day in (last - timedelta(days=2), last - timedelta(days=1), last, NOW.date()):
            session.add(GasDay(day=day, scope="total", spent_wei=1, reserved_wei=0))
            session.add(FreeReadCount(account_id=agent.id, day=day, n=1))
            session.add(FreeReadPool(pool="owner:1", day=day, n=1))
    assert prune(database, batch=batch)["day_figures"] == 6
    with database.read() as session:
        for figure in (GasDay, FreeReadCount, FreeReadPool):
            assert session.scalars(select(figure.day).order_by(figure.day)).all() == [
                last,
                NOW.date(),
            ]


@pytest.mark.parametrize(
    ("deadline", "dropped"),
    [(NOW - timedelta(days=30, seconds=1), 1), (NOW - timedelta(days=30), 0)],
)
def test_prune__drops_what_the_guard_signed_after_thirty_days(
    database: Database, deadline: datetime, dropped: int
) -> None:
    with database.write() as session:
        agent = Account(kind="agent", name="agent", created_at=OLD)
        session.add(agent)
        session.flush()
        signed = {
            "vault": A,
            "nonce": b"\1" * 32,
            "amount_usdc_e6": 1,
            "deadline": int(deadline.timestamp()),
            "signed_at": OLD,
        }
        session.add(GuardSignature(agent_id=agent.id, **signed))
    assert prune(database)["guard_signatures"] == dropped
