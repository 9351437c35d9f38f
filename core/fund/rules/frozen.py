"""The rules of a vault, frozen: what a follower consents to (docs/fund.md#frozen-rules).

    document = {"vault_id": 7, "version": 2, "kind": "spot", "mandate": "...", "universe": [...], ...}
    rules_hash = 0x + SHA-256 of the document's canonical JSON (RFC 8785)

Laws
- A document never changes; other rules are another version, with another hash, since the version is
  a part of what is hashed. So a consent never comes back to life.
- Numbers are text or integers, as everywhere in what is hashed (core/canonical.py).
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from core.canonical import canonical_json
from core.errors import InvalidNumberError, InvalidParameterError
from core.money import UsdcE6, usdc_e6_from_text, usdc_text

MOST_MARKETS: Final = 200
MOST_LEVERAGE_E2: Final = 2_000  # 20
WEIGHT_E4_ONE: Final = 10_000
LEVERAGE_E2_ONE: Final = 100
_WEIGHT: Final = re.compile(r"-?[01](\.[0-9]{1,4})?", re.ASCII)
_LEVERAGE: Final = re.compile(r"[0-9]{1,2}(\.[0-9]{1,2})?", re.ASCII)


class FundKind(StrEnum):
    SPOT = "spot"
    PERP = "perp"


@dataclass(frozen=True, slots=True)
class UniverseMarket:
    """A market that a vault may signal. `session`: always, or the calendar by which it trades.
    `least_order_usdc_e6`: smaller orders are skipped.
    """

    market: str
    session: str
    least_order_usdc_e6: UsdcE6


@dataclass(frozen=True, slots=True)
class FrozenRules:
    """`most_leverage_e2` hundredths; spot is 100."""

    vault_id: int
    version: int
    kind: FundKind
    mandate: str
    universe: tuple[UniverseMarket, ...]
    most_leverage_e2: int

    def market(self, name: str) -> UniverseMarket | None:
        return next((one for one in self.universe if one.market == name), None)

    @property
    def document(self) -> dict[str, Any]:
        """What is hashed, and shown as it is."""
        return {
            "vault_id": self.vault_id,
            "version": self.version,
            "kind": self.kind.value,
            "mandate": self.mandate,
            "max_leverage": leverage_text(self.most_leverage_e2),
            "universe": [
                {
                    "market": one.market,
                    "session": one.session,
                    "min_order_usd": usdc_text(one.least_order_usdc_e6),
                }
                for one in self.universe
            ],
        }

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(canonical_json(self.document)).digest()


def rules_of(document: Mapping[str, Any]) -> FrozenRules:
    """The rules that a document of ours says."""
    return FrozenRules(
        vault_id=document["vault_id"],
        version=document["version"],
        kind=FundKind(document["kind"]),
        mandate=document["mandate"],
        universe=tuple(
            UniverseMarket(one["market"], one["session"], usdc_e6_from_text(one["min_order_usd"]))
            for one in document["universe"]
        ),
        most_leverage_e2=leverage_e2(document["max_leverage"], "max_leverage"),
    )


def require_rules(
    kind: FundKind, universe: Sequence[UniverseMarket], most_leverage_e2: int
) -> None:
    """Errors: InvalidParameterError, InvalidNumberError for rules that cannot be frozen."""
    names = [one.market for one in universe]
    if not names or len(names) > MOST_MARKETS:
        raise InvalidParameterError("universe", f"name 1 to {MOST_MARKETS} markets")
    if len(set(names)) < len(names):
        raise InvalidParameterError("universe", "name each market once")
    if kind is FundKind.SPOT and most_leverage_e2 != LEVERAGE_E2_ONE:
        raise InvalidNumberError(
            "max_leverage", leverage_text(most_leverage_e2), "a spot vault has 1.00"
        )


def weight_e4(text: str, field: str) -> int:
    """A share of the NAV, before leverage: -1 to 1 with at most 4 decimals, in ten-thousandths.

    Errors: InvalidNumberError.
    """
    found = _scaled(text, 4) if _WEIGHT.fullmatch(text) else None
    if found is None or abs(found) > WEIGHT_E4_ONE:
        raise InvalidNumberError(
            field, text, "write a share from -1 to 1 with at most 4 decimals, such as 0.2500"
        )
    return found


def leverage_e2(text: str, field: str) -> int:
    """0.01 to 20 with at most 2 decimals, in hundredths. Errors: InvalidNumberError."""
    found = _scaled(text, 2) if _LEVERAGE.fullmatch(text) else None
    if found is None or not 0 < found <= MOST_LEVERAGE_E2:
        raise InvalidNumberError(
            field, text, "write a multiple from 0.01 to 20 with at most 2 decimals, such as 1.50"
        )
    return found


def weight_text(weight_e4: int) -> str:
    sign = "-" if weight_e4 < 0 else ""
    return f"{sign}{abs(weight_e4) // 10_000}.{abs(weight_e4) % 10_000:04d}"


def leverage_text(leverage_e2: int) -> str:
    return f"{leverage_e2 // 100}.{leverage_e2 % 100:02d}"


def bps_text(bps_e2: int) -> str:
    return f"{bps_e2 // 100}.{bps_e2 % 100:02d}"


def _scaled(text: str, decimals: int) -> int:
    sign = -1 if text.startswith("-") else 1
    whole, _, fraction = text.lstrip("-").partition(".")
    return sign * int(whole + fraction.ljust(decimals, "0"))
