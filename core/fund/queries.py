"""Plain reads and writes of vaults, their rules, consents, plans and fills. Nothing here commits.

Signals are inserted by core.fund.ledger alone.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from sqlalchemy import exists, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from core.db import locks
from core.db.engine import WriteSession
from core.db.locks import AdvisoryLock, LockClass
from core.fund.rules.frozen import FrozenRules, FundKind
from core.fund.rules.signals import LIVE_FOR, NewFill, decimal_text
from core.fund.tables import (
    FundFill,
    FundMirror,
    FundPlan,
    FundRules,
    FundSignal,
    FundSignalSale,
    FundVault,
    FundVaultEvent,
)
from core.hexes import bytes_of

MOST_LIVE: Final = 1_000  # signals of a vault that one list shows


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultCounts:
    """`mirrors`: consents that stand and are bound to the current rules."""

    mirrors: int
    signals: int
    latest_signal_at: datetime | None
    fills: int


# Vaults


def add_vault(
    session: WriteSession,
    name: str,
    kind: FundKind,
    *,
    is_simulated: bool,
    maker_id: int | None,
    now: datetime,
    index_id: int | None = None,
) -> int:
    """The new vault's id; it has no rules yet."""
    vault = FundVault(
        name=name,
        kind=kind.value,
        rules_version=0,
        maker_id=maker_id,
        index_id=index_id,
        is_simulated=is_simulated,
        created_at=now,
    )
    session.add(vault)
    session.flush()
    return vault.id


def find_vault(session: Session, vault_id: int) -> FundVault | None:
    return session.get(FundVault, vault_id)


def hold_vault(session: WriteSession, vault_id: int) -> FundVault | None:
    """The vault, held until the transaction ends: rules, pauses and signals come one by one."""
    query = select(FundVault).where(FundVault.id == vault_id).with_for_update()
    return session.scalar(query.execution_options(populate_existing=True))


def vaults_before(session: Session, before: int | None, limit: int) -> Sequence[FundVault]:
    """The newest first."""
    query = select(FundVault).order_by(FundVault.id.desc()).limit(limit)
    return session.scalars(query if before is None else query.where(FundVault.id < before)).all()


def rules_in_force(session: Session, vaults: Collection[FundVault]) -> Mapping[int, FundRules]:
    """By vault its newest rules."""
    query = (
        select(FundRules)
        .join(FundVault, FundVault.id == FundRules.vault_id)
        .where(
            FundVault.id.in_([vault.id for vault in vaults]),
            FundRules.version == FundVault.rules_version,
        )
    )
    return {row.vault_id: row for row in session.scalars(query)}


def freeze(session: WriteSession, rules: FrozenRules, by_id: int | None, now: datetime) -> bytes:
    """The rules' hash; they are the vault's newest from now on. The vault is held."""
    session.add(
        FundRules(
            vault_id=rules.vault_id,
            version=rules.version,
            document=rules.document,
            rules_hash=rules.digest,
            frozen_at=now,
            by_id=by_id,
        )
    )
    session.flush()
    session.execute(
        update(FundVault)
        .where(FundVault.id == rules.vault_id)
        .values(rules_version=rules.version)
        .execution_options(synchronize_session="fetch")
    )
    return rules.digest


def set_paused(
    session: WriteSession, vault: FundVault, is_paused: bool, by_id: int | None, now: datetime
) -> None:
    """The vault is held."""
    vault.is_paused = is_paused
    kind = "paused" if is_paused else "resumed"
    session.add(FundVaultEvent(vault_id=vault.id, kind=kind, at=now, by_id=by_id))
    session.flush()


def counts_of(session: Session, vault_id: int, rules_hash: bytes) -> VaultCounts:
    """`rules_hash`: of the rules in force."""
    stands = (
        FundMirror.vault_id == vault_id,
        FundMirror.revoked_at.is_(None),
        FundMirror.rules_hash == rules_hash,
    )
    mirrors = select(func.count()).where(*stands).scalar_subquery()
    fills = select(func.count()).where(FundFill.vault_id == vault_id).scalar_subquery()
    signals = select(func.count(), func.max(FundSignal.at), mirrors, fills)
    count, latest, *beside = session.execute(signals.where(FundSignal.vault_id == vault_id)).one()
    return VaultCounts(mirrors=beside[0], signals=count, latest_signal_at=latest, fills=beside[1])


# Signals


def past_signals(
    session: Session, vault_id: int, now: datetime, before: int | None, limit: int
) -> Sequence[FundSignal]:
    """Those that are historical, the newest first."""
    query = (
        select(FundSignal)
        .where(FundSignal.vault_id == vault_id, FundSignal.at <= now - LIVE_FOR)
        .order_by(FundSignal.seq.desc())
        .limit(limit)
    )
    return session.scalars(query if before is None else query.where(FundSignal.seq < before)).all()


def live_signals(
    session: Session, vault_id: int, account_id: int, now: datetime
) -> Sequence[tuple[FundSignal, bool]]:
    """Those that are live, the newest first, each with whether the account paid for it."""
    paid = exists().where(
        FundSignalSale.account_id == account_id, FundSignalSale.signal_seq == FundSignal.seq
    )
    query = (
        select(FundSignal, paid)
        .where(FundSignal.vault_id == vault_id, FundSignal.at > now - LIVE_FOR)
        .order_by(FundSignal.seq.desc())
        .limit(MOST_LIVE)
    )
    return [(row[0], row[1]) for row in session.execute(query)]


def find_signal(session: Session, seq: int) -> FundSignal | None:
    return session.get(FundSignal, seq)


def mid_of(signal: FundSignal) -> Decimal | None:
    """Of its market's book when it was published; None: unknown."""
    return None if signal.mid is None else Decimal(signal.mid)


def superseded_among(
    session: Session, vault_id: int, seqs: Collection[int], now: datetime
) -> frozenset[int]:
    """Those of the vault's signals that a later one of the same market supersedes. What is historical
    is free, so that only historical ones supersede it: a live one's market is paid for.
    """
    later, live_from = aliased(FundSignal), now - LIVE_FOR
    query = select(FundSignal.seq).where(
        FundSignal.seq.in_(seqs),
        exists().where(
            later.vault_id == vault_id,
            later.market == FundSignal.market,
            later.seq > FundSignal.seq,
            or_(FundSignal.at > live_from, later.at <= live_from),
        ),
    )
    return frozenset(session.scalars(query))


# What is paid


def sale_lock(account_id: int, seq: int) -> AdvisoryLock:
    """Held by whoever pays for this signal."""
    return locks.named(LockClass.SIGNAL_SALE, (str(account_id), str(seq)))


def sale_key(seq: int) -> str:
    """Of the account's credit ledger."""
    return f"signal:{seq}"


def is_paid(session: Session, account_id: int, seq: int) -> bool:
    sale = (FundSignalSale.account_id == account_id, FundSignalSale.signal_seq == seq)
    return bool(session.scalar(select(exists().where(*sale))))


def record_sale(
    session: WriteSession, account_id: int, seq: int, paid_by: str, price_key: str, now: datetime
) -> None:
    row = {"account_id": account_id, "signal_seq": seq, "paid_by": paid_by}
    session.execute(
        insert(FundSignalSale).values(**row, price_key=price_key, at=now).on_conflict_do_nothing()
    )


# Consents


def standing_mirror(session: Session, account_id: int, vault_id: int) -> FundMirror | None:
    return session.scalar(
        select(FundMirror).where(
            FundMirror.account_id == account_id,
            FundMirror.vault_id == vault_id,
            FundMirror.revoked_at.is_(None),
        )
    )


def last_mirror(session: Session, account_id: int, vault_id: int) -> FundMirror | None:
    """The newest, revoked or not."""
    return session.scalar(
        select(FundMirror)
        .where(FundMirror.account_id == account_id, FundMirror.vault_id == vault_id)
        .order_by(FundMirror.id.desc())
        .limit(1)
    )


def revoke(session: WriteSession, account_id: int, vault_id: int, now: datetime) -> datetime | None:
    """When it ended; None: none stood. The account is held: else a consent that is given meanwhile is not seen. A call
    that began before the consent was given ends it at that time.
    """
    return session.scalar(
        update(FundMirror)
        .where(
            FundMirror.account_id == account_id,
            FundMirror.vault_id == vault_id,
            FundMirror.revoked_at.is_(None),
        )
        .values(revoked_at=func.greatest(FundMirror.given_at, now))
        .returning(FundMirror.revoked_at)
        .execution_options(synchronize_session=False)
    )


def consent(
    session: WriteSession,
    account_id: int,
    vault_id: int,
    *,
    address: str,
    max_order_usdc_e6: int,
    max_leverage_e2: int,
    rules_hash: bytes,
    now: datetime,
) -> FundMirror:
    """Replaces the account's consent to this vault, if there is one. The account is held."""
    revoke(session, account_id, vault_id, now)
    mirror = FundMirror(
        account_id=account_id,
        vault_id=vault_id,
        address=bytes_of(address),
        max_order_usdc_e6=max_order_usdc_e6,
        max_leverage_e2=max_leverage_e2,
        rules_hash=rules_hash,
        given_at=now,
    )
    session.add(mirror)
    session.flush()
    return mirror


# Plans and fills


def planned_mid(session: Session, account_id: int, seq: int) -> Decimal | None:
    """What the account's newest plan of the signal was made with; None: unknown."""
    found = session.scalar(
        select(FundPlan.mid)
        .where(
            FundPlan.account_id == account_id,
            FundPlan.signal_seq == seq,
            FundPlan.mid.is_not(None),
        )
        .order_by(FundPlan.id.desc())
        .limit(1)
    )
    return None if found is None else Decimal(found)


def report_fill(
    session: WriteSession, signal: FundSignal, mirror: FundMirror, fill: NewFill, now: datetime
) -> tuple[FundFill, bool]:
    """The report, and whether it is new: the same one again is the first."""
    made = session.scalar(
        insert(FundFill)
        .values(
            account_id=mirror.account_id,
            vault_id=signal.vault_id,
            signal_seq=signal.seq,
            mirror_id=mirror.id,
            identity=fill.identity,
            side=fill.side.value,
            price=decimal_text(fill.price),
            quantity=decimal_text(fill.quantity),
            venue_order_id=fill.venue_order_id,
            filled_at=fill.filled_at,
            reported_at=now,
        )
        .on_conflict_do_nothing()
        .returning(FundFill.id)
    )
    # a statement of its own: it sees the report that another transaction made meanwhile
    kept = session.scalars(
        select(FundFill).where(
            FundFill.signal_seq == signal.seq,
            FundFill.account_id == mirror.account_id,
            FundFill.identity == fill.identity,
        )
    ).one()
    return kept, made is not None


def fills_before(
    session: Session, account_id: int, vault_id: int, before: int | None, limit: int
) -> Sequence[FundFill]:
    """What the account reported of a vault's signals, the newest first."""
    query = (
        select(FundFill)
        .where(FundFill.account_id == account_id, FundFill.vault_id == vault_id)
        .order_by(FundFill.id.desc())
        .limit(limit)
    )
    return session.scalars(query if before is None else query.where(FundFill.id < before)).all()
