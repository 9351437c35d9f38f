"""What a signal is, how long it is live, and which reports of fills count (docs/fund.md#signals).

    at                          at + 24 h
    |--- live: paid ------------)  historical: free
    inclusive                   exclusive

Laws
- A signal says a weight and a leverage, never a size.
- It is superseded by a later one of the same vault and market.
- A fill is what its follower says; it is kept apart from everything that is proven.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final

from core.canonical import canonical_json
from core.errors import InvalidNumberError, InvalidParameterError
from core.fund.rules.frozen import FrozenRules, FundKind, leverage_text, weight_text
from core.times import exact_instant_text

LIVE_FOR: Final = timedelta(hours=24)
FILL_TOLERANCE: Final = Decimal("0.1")  # inclusive, either way of the snapshot's mid
DECIMAL_PATTERN: Final = r"[0-9]{1,15}(\.[0-9]{1,18})?"
_POSITIVE: Final = re.compile(DECIMAL_PATTERN, re.ASCII)


class FillSide(StrEnum):
    BUY = "buy"
    SELL = "sell"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSignal:
    """`mid`: of the market's book when it was published, in the quote currency; None: unknown."""

    vault_id: int
    rules_version: int
    market: str
    weight_e4: int
    leverage_e2: int
    mid: Decimal | None

    def body(self, seq: int, at: datetime) -> dict[str, Any]:
        """What its row is hashed with."""
        return {
            "seq": seq,
            "vault_id": self.vault_id,
            "rules_version": self.rules_version,
            "market": self.market,
            "target_weight": weight_text(self.weight_e4),
            "target_leverage": leverage_text(self.leverage_e2),
            "mid": None if self.mid is None else decimal_text(self.mid),
            "at": exact_instant_text(at),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFill:
    side: FillSide
    price: Decimal
    quantity: Decimal
    filled_at: datetime
    venue_order_id: str | None

    @property
    def identity(self) -> bytes:
        """Reports of one signal and account with the same identity are one report."""
        if self.venue_order_id is not None:
            facts: dict[str, Any] = {"venue_order_id": self.venue_order_id}
        else:
            facts = {
                "side": self.side.value,
                "price": decimal_text(self.price),
                "qty": decimal_text(self.quantity),
                "filled_at": exact_instant_text(self.filled_at),
            }
        return hashlib.sha256(canonical_json(facts)).digest()


def is_live(at: datetime, now: datetime) -> bool:
    return now < at + LIVE_FOR


def require_signal(rules: FrozenRules, signal: NewSignal) -> None:
    """Errors: InvalidParameterError, InvalidNumberError for one that the vault's rules forbid."""
    if rules.market(signal.market) is None:
        raise InvalidParameterError(
            "market", f"name a market of the vault's universe, as in rules version {rules.version}"
        )
    if signal.leverage_e2 > rules.most_leverage_e2:
        raise InvalidNumberError(
            "target_leverage",
            leverage_text(signal.leverage_e2),
            f"the vault's rules allow {leverage_text(rules.most_leverage_e2)} at most",
        )
    if rules.kind is FundKind.SPOT and signal.weight_e4 < 0:
        raise InvalidNumberError(
            "target_weight", weight_text(signal.weight_e4), "a spot vault is never short"
        )


def require_fill(fill: NewFill, signal_at: datetime, mid: Decimal | None, now: datetime) -> None:
    """`mid`: the snapshot that it is compared with. Errors: InvalidParameterError,
    InvalidNumberError; the report is then not counted.
    """
    if fill.filled_at < signal_at:
        raise InvalidParameterError("filled_at", "a fill is not before its signal")
    if fill.filled_at > now:
        raise InvalidParameterError("filled_at", "a fill is not in the future")
    if mid is None:
        raise InvalidParameterError(
            "price", "no snapshot of this market is known to compare it with; plan the signal first"
        )
    if abs(fill.price - mid) > FILL_TOLERANCE * mid:
        raise InvalidNumberError(
            "price",
            decimal_text(fill.price),
            f"a fill is within 10 % of the snapshot, which was {decimal_text(mid)}",
        )


def positive_decimal(text: str, field: str) -> Decimal:
    """A price or a quantity: above 0 and below 10^15, with at most 18 decimals.

    Errors: InvalidNumberError.
    """
    found = Decimal(text) if _POSITIVE.fullmatch(text) else Decimal(0)
    if found == 0:
        raise InvalidNumberError(
            field,
            text,
            "write a number above 0 and below 10^15 with at most 18 decimals, such as 91250.5",
        )
    return found


def decimal_text(value: Decimal) -> str:
    """Without an exponent and without zeros at the end, so that equal numbers are equal text."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
