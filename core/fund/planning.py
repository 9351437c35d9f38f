"""What a plan reads, in one statement, since many followers plan a signal in the minute that it comes;
and what it writes.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from sqlalchemy import BigInteger, Connection, Text, bindparam, cast, exists, insert, select, true
from sqlalchemy.orm import Session, aliased

from core.credits.queries import available_of
from core.db.engine import WriteSession
from core.fund import queries as fund
from core.fund.rules.frozen import FrozenRules, rules_of
from core.fund.rules.plan import SignalPlan
from core.fund.rules.signals import decimal_text
from core.fund.tables import (
    FundMirror,
    FundPlan,
    FundRules,
    FundSignal,
    FundSignalSale,
    FundVault,
)
from core.kept import Kept
from core.market.liquidity_views import (
    LIQUIDITY,
    MARKET,
    MarketLiquidity,
    day_before,
    liquidity_from,
)

BUCKETS_COLUMN: Final = 5  # of LIQUIDITY: never null where there is a row
MOST_RULES: Final = 256  # that this process keeps read


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingConsent:
    """A FundMirror that is not revoked. `rules_hash`: of the rules that were consented to."""

    id: int
    address: bytes
    max_order_usdc_e6: int
    max_leverage_e2: int
    rules_hash: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalPlace:
    """A signal, where its vault, its market and a follower stand: what a plan needs, of one read.
    `rules`: those in force now. `credits`: what the follower can spend. `liquidity`: None, its market is not
    measured.
    """

    seq: int
    market: str
    weight_e4: int
    leverage_e2: int
    at: datetime
    vault_id: int
    is_paused: bool
    rules: FrozenRules
    rules_hash: bytes
    consent: StandingConsent | None
    is_superseded: bool
    is_paid: bool
    credits: int
    liquidity: MarketLiquidity | None


_LATER = aliased(FundSignal)
_ACCOUNT: Final = bindparam("account_id", type_=BigInteger)
_SEQ: Final = bindparam("seq", type_=BigInteger)

_LIQUIDITY: Final = LIQUIDITY.where(FundSignal.market == MARKET).lateral("liquidity")
_PLACE: Final = (
    select(
        FundSignal.market,
        FundSignal.weight_e4,
        FundSignal.leverage_e2,
        FundSignal.at,
        FundVault.id,
        FundVault.is_paused,
        FundRules.rules_hash,
        exists().where(
            _LATER.vault_id == FundSignal.vault_id,
            _LATER.market == FundSignal.market,
            _LATER.seq > FundSignal.seq,
        ),
        exists().where(
            FundSignalSale.account_id == _ACCOUNT, FundSignalSale.signal_seq == FundSignal.seq
        ),
        available_of(_ACCOUNT),
        FundMirror.id,
        FundMirror.address,
        cast(FundMirror.max_order_usdc_e6, Text),
        FundMirror.max_leverage_e2,
        FundMirror.rules_hash,
        *_LIQUIDITY.c,
    )
    .join(FundVault, FundVault.id == FundSignal.vault_id)
    .join(
        FundRules,
        (FundRules.vault_id == FundVault.id) & (FundRules.version == FundVault.rules_version),
    )
    .outerjoin(
        FundMirror,
        (FundMirror.vault_id == FundVault.id)
        & (FundMirror.account_id == _ACCOUNT)
        & FundMirror.revoked_at.is_(None),
    )
    .outerjoin(_LIQUIDITY, true())
    .where(FundSignal.seq == _SEQ)
)

_RULES: Final = Kept[bytes, FrozenRules](MOST_RULES)


def _rules_of(session: Session, rules_hash: bytes) -> FrozenRules:
    """By their hash, which says all of them: what is kept is never old."""
    query = select(FundRules.document).where(FundRules.rules_hash == rules_hash)
    return _RULES.of(rules_hash, lambda: rules_of(session.scalars(query).one()))


def place_of(
    db: Connection, session: Session, account_id: int, seq: int, now: datetime
) -> SignalPlace | None:
    """None: there is no such signal. `db`: what reads; rules that are not kept are the session's."""
    asked = {"account_id": account_id, "seq": seq, **day_before(now)}
    row = db.execute(_PLACE, asked).first()
    if row is None:
        return None
    market, weight, leverage, at, vault_id, is_paused, rules_hash, superseded, *rest = row
    paid, available, mirror, liquidity = rest[0], rest[1], rest[2:7], rest[7:]
    is_measured = liquidity[BUCKETS_COLUMN] is not None
    return SignalPlace(
        seq=seq,
        market=market,
        weight_e4=weight,
        leverage_e2=leverage,
        at=at,
        vault_id=vault_id,
        is_paused=is_paused,
        rules=_rules_of(session, rules_hash),
        rules_hash=rules_hash,
        consent=_consent(*mirror),
        is_superseded=superseded,
        is_paid=paid,
        credits=available,
        liquidity=liquidity_from(market, liquidity) if is_measured else None,
    )


def _consent(
    mirror_id: int | None, address: bytes, max_order: str, max_leverage: int, rules_hash: bytes
) -> StandingConsent | None:
    if mirror_id is None:
        return None
    return StandingConsent(
        id=mirror_id,
        address=address,
        max_order_usdc_e6=int(max_order),
        max_leverage_e2=max_leverage,
        rules_hash=rules_hash,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """A plan as it is kept. `mid`: of the book that it was made with."""

    account_id: int
    place: SignalPlace
    consent: StandingConsent
    made: SignalPlan
    mid: Decimal | None
    now: datetime


def record_plan(db: Connection, row: PlanRow, *, is_charged: bool = False) -> None:
    reason, order = row.made.reason, row.made.order
    db.execute(
        insert(FundPlan).values(
            account_id=row.account_id,
            signal_seq=row.place.seq,
            mirror_id=row.consent.id,
            disposition=row.made.disposition.value,
            reason=None if reason is None else reason.value,
            notional_usdc_e6=None if order is None else order.notional_usdc_e6,
            mid=None if row.mid is None else decimal_text(row.mid),
            at=row.now,
            is_charged=is_charged,
        )
    )


def sell_plan(session: WriteSession, row: PlanRow, paid_by: str, price_key: str) -> bool:
    """Record the plan, and that its signal is paid with it; False: it was paid before, by whatever
    call, and the plan costs nothing.

    Whoever else sells the signal to this account waits until the transaction ends.
    """
    account_id, seq = row.account_id, row.place.seq
    fund.sale_lock(account_id, seq).wait(session)
    is_sold = not fund.is_paid(session, account_id, seq)
    if is_sold:
        fund.record_sale(session, account_id, seq, paid_by, price_key, row.now)
    record_plan(session.connection(), row, is_charged=is_sold)
    return is_sold
