"""Applications for pilots, their bonds and what operators decided. Nothing here commits.

Laws
- An application is held while it is moved, then the head of the applicant's credits.
- A bond is given back with the row that says so, which there can be once.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import exists, literal_column, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.credits.ledger import writer as credit_ledger
from core.db.engine import WriteSession
from core.errors import InvalidParameterError
from core.fund import queries as fund
from core.fund.indices import ShownIndex
from core.fund.rules.applications import (
    ApplicationMoveKind,
    ApplicationState,
    BondCurrency,
    Cadence,
    FundType,
    NewApplication,
    bond_due_at,
    require_due,
    require_undecided,
)
from core.fund.rules.frozen import FrozenRules, UniverseMarket
from core.fund.rules.indices import IndexRow
from core.fund.rules.journey import SPOT_PILOT
from core.fund.rules.sessions import ALWAYS
from core.fund.tables import FundApplication, FundApplicationMove, FundVault
from core.hexes import address_of, bytes_of, hex_of
from core.money import UsdcE6

LEAST_ORDER_USDC_E6 = UsdcE6(10_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidBond:
    """In credits, or in USDC by a transaction that the chain proved. Addresses in checksum form."""

    credits: int | None = None
    usdc_e6: UsdcE6 | None = None
    tx: str | None = None
    sender: str | None = None
    to: str | None = None


@dataclass(frozen=True, slots=True)
class KeptApplication:
    """An application, and by kind what happened to it."""

    application: FundApplication
    moves: Mapping[ApplicationMoveKind, FundApplicationMove]

    @property
    def due_at(self) -> datetime | None:
        one = self.application
        return bond_due_at(ApplicationState(one.state), one.decided_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwedBond:
    """A bond in USDC that is due: `sender`, which was paid, owes it to `to`."""

    application_id: int
    state: ApplicationState
    usdc_e6: UsdcE6
    sender: str
    to: str
    paid_by: str
    due_at: datetime


def bond_key(application_id: int) -> str:
    """Of the applicant's credit ledger."""
    return f"bond:fund:application:{application_id}"


def submit(
    session: WriteSession, account_id: int, new: NewApplication, bond: PaidBond, now: datetime
) -> FundApplication | None:
    """None: the account has one for this index that nobody has decided yet.

    Errors: NotEnoughCreditsError; InvalidParameterError for a transaction that was a bond before.
    """
    made: FundApplication | None = session.scalar(
        insert(FundApplication)
        .values(
            index_id=new.index_id,
            account_id=account_id,
            state=ApplicationState.SUBMITTED.value,
            categories=list(new.categories),
            fund_type=new.fund_type.value,
            plan_text=new.plan_text,
            cadence=new.cadence.value,
            leverage_e2=new.leverage_e2,
            fee_bps=new.fee_bps,
            tvl_cap_usdc_e6=new.tvl_cap_usdc_e6,
            bond_currency=new.bond_currency.value,
            bond_usdc_e6=bond.usdc_e6,
            bond_credits=bond.credits,
            bond_tx=None if bond.tx is None else bytes_of(bond.tx),
            bond_from=None if bond.sender is None else bytes_of(bond.sender),
            bond_to=None if bond.to is None else bytes_of(bond.to),
            submitted_at=now,
        )
        .on_conflict_do_nothing()
        .returning(FundApplication)
    )
    if made is None:
        if waiting_of(session, account_id, new.index_id) is None:
            raise InvalidParameterError(
                "bond_tx", "this transfer paid another bond; send a new one"
            )
        return None
    if bond.credits is not None:
        reason = {"for": "fund_application", "application": made.id}
        credit_ledger.hold(session, account_id, bond.credits, bond_key(made.id), reason, now)
    return made


def waiting_of(session: Session, account_id: int, index_id: int) -> FundApplication | None:
    return session.scalar(
        select(FundApplication).where(
            FundApplication.account_id == account_id,
            FundApplication.index_id == index_id,
            FundApplication.state == literal_column("'submitted'"),
        )
    )


def held(session: WriteSession, application_id: int) -> FundApplication | None:
    """The application, held until the transaction ends: its moves come one by one."""
    query = select(FundApplication).where(FundApplication.id == application_id).with_for_update()
    return session.scalar(query.execution_options(populate_existing=True))


def with_moves(session: Session, application: FundApplication) -> KeptApplication:
    found = session.scalars(
        select(FundApplicationMove).where(FundApplicationMove.application_id == application.id)
    )
    return KeptApplication(application, {ApplicationMoveKind(one.kind): one for one in found})


def approve(
    session: WriteSession,
    application: FundApplication,
    index: ShownIndex,
    universe: Sequence[IndexRow],
    by_id: int,
    now: datetime,
) -> int:
    """The pilot: a vault of the applicant with its first rules. The application is held.

    `universe`: not empty. Errors: ApplicationStateError.
    """
    state = ApplicationState(application.state)
    require_undecided(state, ApplicationState.APPROVED)
    new = said_of(application)
    vault_id = fund.add_vault(
        session,
        f"{index.name}, pilot {application.id}",
        new.kind,
        is_simulated=index.is_simulated,
        maker_id=application.account_id,
        now=now,
        index_id=index.id,
    )
    rules = FrozenRules(
        vault_id=vault_id,
        version=1,
        kind=new.kind,
        mandate=new.plan_text,
        universe=tuple(
            UniverseMarket(one.market, ALWAYS, LEAST_ORDER_USDC_E6)
            for one in universe
            if one.market is not None
        ),
        most_leverage_e2=new.leverage_e2,
    )
    fund.freeze(session, rules, by_id, now)
    _decide(session, application, ApplicationState.APPROVED, by_id, now, vault_id=vault_id)
    return vault_id


def reject(
    session: WriteSession, application: FundApplication, reason: str, by_id: int, now: datetime
) -> None:
    """A bond in credits is given back at once. The application is held.

    Errors: ApplicationStateError.
    """
    require_undecided(ApplicationState(application.state), ApplicationState.REJECTED)
    _decide(session, application, ApplicationState.REJECTED, by_id, now, reason=reason)
    if application.bond_credits is not None:
        give_back(session, application, by_id, now)


def give_back(
    session: WriteSession,
    application: FundApplication,
    by_id: int | None,
    now: datetime,
    *,
    tx: str | None = None,
) -> None:
    """`tx`: of a bond in USDC, that the chain proved. The application is held.

    Errors: BondNotDueError; InvalidParameterError for a transaction that gave another bond back.
    """
    state = ApplicationState(application.state)
    due_at = bond_due_at(state, application.decided_at)
    require_due(due_at, now, is_returned=application.is_bond_returned)
    made = session.scalar(
        insert(FundApplicationMove)
        .values(
            application_id=application.id,
            kind=ApplicationMoveKind.BOND_RETURNED.value,
            tx=None if tx is None else bytes_of(tx),
            by_id=by_id,
            at=now,
        )
        .on_conflict_do_nothing()
        .returning(FundApplicationMove.application_id)
    )
    if made is None:
        raise InvalidParameterError("tx_hash", "this transfer gave another bond back; name its own")
    application.is_bond_returned = True
    session.flush()
    if application.bond_credits is not None:
        credit_ledger.release(session, application.account_id, bond_key(application.id), now)


def due_in_credits(session: Session, now: datetime, limit: int) -> Sequence[int]:
    """Applications whose pilots are old enough, and whose bonds in credits are still held."""
    due = select(FundApplication.id).where(
        FundApplication.bond_currency == literal_column("'credit'"),
        FundApplication.is_bond_returned.is_(literal_column("false")),
        FundApplication.state == ApplicationState.APPROVED.value,
        FundApplication.decided_at <= now - SPOT_PILOT,
    )
    return session.scalars(due.order_by(FundApplication.id).limit(limit)).all()


def give_back_credits(session: WriteSession, application_id: int, now: datetime) -> bool:
    """Of one that was due when it was looked for; False: it was given back meanwhile."""
    found = held(session, application_id)
    if found is None or found.is_bond_returned:
        return False
    give_back(session, found, None, now)
    return True


def bonds_owed(session: Session, now: datetime, after: int, limit: int) -> list[OwedBond]:
    """Bonds in USDC that operators have to give back now; `after`: an application's id, exclusive."""
    query = select(FundApplication).where(
        FundApplication.bond_currency == literal_column("'usdc'"),
        FundApplication.is_bond_returned.is_(literal_column("false")),
        FundApplication.state != literal_column("'submitted'"),
        or_(
            FundApplication.state == literal_column("'rejected'"),
            FundApplication.decided_at <= now - SPOT_PILOT,
        ),
        FundApplication.id > after,
    )
    found = session.scalars(query.order_by(FundApplication.id).limit(limit))
    return [_owed(one) for one in found]


def waiting(session: Session, after: int, limit: int) -> Sequence[FundApplication]:
    """Those that an operator has to decide, the oldest first; `after`: an id, exclusive."""
    query = select(FundApplication).where(
        FundApplication.state == literal_column("'submitted'"), FundApplication.id > after
    )
    return session.scalars(query.order_by(FundApplication.id).limit(limit)).all()


def applications_before(
    session: Session, account_ids: Collection[int], before: int | None, limit: int
) -> Sequence[FundApplication]:
    """Of these accounts, the newest first."""
    query = select(FundApplication).where(FundApplication.account_id.in_(account_ids))
    if before is not None:
        query = query.where(FundApplication.id < before)
    return session.scalars(query.order_by(FundApplication.id.desc()).limit(limit)).all()


def is_applying(session: Session, account_ids: Collection[int]) -> bool:
    """Whether one of these accounts has an application that nobody has decided yet."""
    mine = (
        FundApplication.account_id.in_(account_ids),
        FundApplication.state == literal_column("'submitted'"),
    )
    return bool(session.scalar(select(exists().where(*mine))))


def fee_bps_of(session: Session, vault: FundVault) -> int:
    """What the vault's fund takes of its assets a year; 0: it is no pilot."""
    query = select(FundApplication.fee_bps).where(FundApplication.vault_id == vault.id)
    return session.scalar(query) or 0


def said_of(application: FundApplication) -> NewApplication:
    """What the applicant sent."""
    return NewApplication(
        index_id=application.index_id,
        categories=tuple(application.categories),
        fund_type=FundType(application.fund_type),
        plan_text=application.plan_text,
        cadence=Cadence(application.cadence),
        leverage_e2=application.leverage_e2,
        fee_bps=application.fee_bps,
        tvl_cap_usdc_e6=UsdcE6(application.tvl_cap_usdc_e6),
        bond_currency=BondCurrency(application.bond_currency),
    )


def _owed(one: FundApplication) -> OwedBond:
    state = ApplicationState(one.state)
    due_at = bond_due_at(state, one.decided_at)
    assert one.bond_usdc_e6 is not None, "it is a bond in USDC"
    assert one.bond_tx is not None, "it is a bond in USDC"
    assert due_at is not None, "it was decided"
    return OwedBond(
        application_id=one.id,
        state=state,
        usdc_e6=UsdcE6(one.bond_usdc_e6),
        sender=address_of(one.bond_to),
        to=address_of(one.bond_from),
        paid_by=hex_of(one.bond_tx),
        due_at=due_at,
    )


def _decide(
    session: WriteSession,
    application: FundApplication,
    state: ApplicationState,
    by_id: int,
    now: datetime,
    *,
    vault_id: int | None = None,
    reason: str | None = None,
) -> None:
    session.add(
        FundApplicationMove(
            application_id=application.id, kind=state.value, reason=reason, by_id=by_id, at=now
        )
    )
    application.state, application.decided_at = state.value, now
    application.vault_id = vault_id
    session.flush()
