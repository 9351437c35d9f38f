"""What a plan reads and writes: each is one statement, since many followers plan a signal in the minute that
it comes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Numeric,
    Text,
    bindparam,
    cast,
    exists,
    literal,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from core.credits.ledger.spend import spend_values, spending
from core.credits.ledger.writer import names_of_sale
from core.credits.queries import available_of
from core.db.base import Timestamp
from core.db.engine import WriteSession
from core.db.locks import WAITED, WAITED_SQL, LockClass, waited_values
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

_KEPT: Final[Mapping[str, ColumnElement[Any]]] = {
    "account_id": _ACCOUNT,
    "signal_seq": _SEQ,
    "mirror_id": bindparam("mirror_id", type_=BigInteger),
    "disposition": bindparam("disposition", type_=Text),
    "reason": bindparam("reason", type_=Text),
    "notional_usdc_e6": cast(bindparam("notional_usdc_e6"), Numeric(78, 0)),
    "mid": bindparam("mid", type_=Text),
    "at": bindparam("now", type_=Timestamp),
}
_RECORD: Final = insert(FundPlan).from_select(
    [*_KEPT, "is_charged"], select(*_KEPT.values(), literal(False))
)

# A sale that was committed while the lock was waited for is met by its key, and no row comes back:
# nothing is read of the statement's snapshot.
_SOLD: Final = (
    insert(FundSignalSale)
    .from_select(
        ["account_id", "signal_seq", "paid_by", "price_key", "at"],
        select(
            _ACCOUNT,
            _SEQ,
            bindparam("paid_by", type_=Text),
            bindparam("price_key", type_=Text),
            _KEPT["at"],
        ).select_from(WAITED),
    )
    .on_conflict_do_nothing()
    .returning(FundSignalSale.signal_seq)
    .cte("sold")
)
_SELL: Final = (
    insert(FundPlan)
    .from_select(
        [*_KEPT, "is_charged"], select(*_KEPT.values(), exists(select(_SOLD.c.signal_seq)))
    )
    .returning(FundPlan.is_charged)
)

# The same with the credits that it takes, where the account has them: no row comes back otherwise.
_SOLD_FROM_HEAD: Final = """sold as (
    insert into fund_signal_sale (account_id, signal_seq, paid_by, price_key, at)
    select account_id, %(seq)s::bigint, %(paid_by)s, %(price_key)s, %(now)s::timestamptz from head
    on conflict do nothing returning signal_seq
)"""
_SELL_AT_ONCE: Final = f"""
with {WAITED_SQL},
{spending("waited", _SOLD_FROM_HEAD, "exists (select from sold)")}
insert into fund_plan (account_id, signal_seq, mirror_id, disposition, reason, notional_usdc_e6, mid, at, is_charged)
select account_id, %(seq)s::bigint, %(mirror_id)s::bigint, %(disposition)s, %(reason)s, %(notional_usdc_e6)s::numeric,
       %(mid)s, %(now)s::timestamptz, exists (select from sold)
from head returning is_charged
"""  # noqa: S608 (of constants)


class _KeptRules:
    """Rules by their hash, which says all of them: what is kept is never old."""

    def __init__(self) -> None:
        self._rules: dict[bytes, FrozenRules] = {}

    def find(self, session: Session, rules_hash: bytes) -> FrozenRules:
        found = self._rules.get(rules_hash)
        if found is None:
            query = select(FundRules.document).where(FundRules.rules_hash == rules_hash)
            found = rules_of(session.scalars(query).one())
            if len(self._rules) >= MOST_RULES:
                self._rules.clear()
            self._rules[rules_hash] = found
        return found


_RULES: Final = _KeptRules()


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
        rules=_RULES.find(session, rules_hash),
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

    @property
    def values(self) -> dict[str, Any]:
        reason, order = self.made.reason, self.made.order
        return {
            "account_id": self.account_id,
            "seq": self.place.seq,
            "mirror_id": self.consent.id,
            "disposition": self.made.disposition.value,
            "reason": None if reason is None else reason.value,
            "notional_usdc_e6": None if order is None else order.notional_usdc_e6,
            "mid": None if self.mid is None else decimal_text(self.mid),
            "now": self.now,
        }


def record_plan(db: Connection, row: PlanRow) -> None:
    """Of a plan that costs nothing."""
    db.execute(_RECORD, row.values)


def sell_plan(session: WriteSession, row: PlanRow, paid_by: str, price_key: str) -> bool:
    """Record the plan, and that its signal is paid with it; False: it was paid before, by whatever
    call, and the plan costs nothing.

    Whoever else sells the signal to this account waits until the transaction ends
    (core.fund.queries).
    """
    values = _sale_values(row, paid_by, price_key)
    return bool(session.connection().scalar(_SELL, values))


def sell_plan_at_once(
    db: Connection,
    row: PlanRow,
    paid_by: str,
    price_key: str,
    amount: int,
    key: str,
    said: Mapping[str, Any],
) -> bool | None:
    """As `sell_plan` and the credits that it takes (core.credits.ledger), in one statement: all of it
    or nothing. None: nothing was written, and the two decide (the account cannot pay, above all).
    """
    spent = spend_values(row.account_id, amount, names_of_sale(key), said, row.now)
    values = {**spent, **_sale_values(row, paid_by, price_key)}
    found = db.exec_driver_sql(_SELL_AT_ONCE, values).first() if amount > 0 else None
    return None if found is None else bool(found.is_charged)


def _sale_values(row: PlanRow, paid_by: str, price_key: str) -> dict[str, Any]:
    lock = waited_values(LockClass.SIGNAL_SALE, (str(row.account_id), str(row.place.seq)))
    return {**row.values, **lock, "paid_by": paid_by, "price_key": price_key}
