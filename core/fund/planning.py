"""What a plan reads and writes: each a statement of its own that the driver runs (core/db/prepared.py),
since many followers plan a signal in the minute that it comes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Numeric,
    Text,
    bindparam,
    cast,
    exists,
    literal,
    select,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from core.db.base import Timestamp
from core.db.engine import WriteSession
from core.db.locks import WAITED, LockClass, waited_values
from core.db.prepared import Prepared
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
    """A signal, and where its vault and a follower stand: what a plan needs, of one read. `rules`:
    those in force now.
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


_LATER = aliased(FundSignal)
_ACCOUNT: Final = bindparam("account_id", type_=BigInteger)
_SEQ: Final = bindparam("seq", type_=BigInteger)

_PLACE: Final = Prepared(
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
        FundMirror.id,
        FundMirror.address,
        cast(FundMirror.max_order_usdc_e6, Text),
        FundMirror.max_leverage_e2,
        FundMirror.rules_hash,
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
_RECORD: Final = Prepared(
    insert(FundPlan).from_select([*_KEPT, "is_charged"], select(*_KEPT.values(), literal(False)))
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
_SELL: Final = Prepared(
    insert(FundPlan)
    .from_select(
        [*_KEPT, "is_charged"], select(*_KEPT.values(), exists(select(_SOLD.c.signal_seq)))
    )
    .returning(FundPlan.is_charged)
)


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


def place_of(session: Session, account_id: int, seq: int) -> SignalPlace | None:
    """None: there is no such signal."""
    rows = _PLACE.rows(session, account_id=account_id, seq=seq)
    if not rows:
        return None
    market, weight, leverage, at, vault_id, is_paused, rules_hash, superseded, paid, *mirror = rows[
        0
    ]
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


def record_plan(session: WriteSession, row: PlanRow) -> None:
    """Of a plan that costs nothing."""
    _RECORD.rows(session, **row.values)


def sell_plan(session: WriteSession, row: PlanRow, paid_by: str, price_key: str) -> bool:
    """Record the plan, and that its signal is paid with it; False: it was paid before, by whatever
    call, and the plan costs nothing.

    Whoever else sells the signal to this account waits until the transaction ends
    (core.fund.queries).
    """
    lock = waited_values(LockClass.SIGNAL_SALE, (str(row.account_id), str(row.place.seq)))
    sale = {"paid_by": paid_by, "price_key": price_key}
    ((is_charged,),) = _SELL.rows(session, **row.values, **sale, **lock)
    return bool(is_charged)
