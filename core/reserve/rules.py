"""The reserve token's arithmetic as the contract does it, and what conversions are worth in credit.

    price        reserve / supply              what a token is worth
    purchase     102 % of its share            the 2 % stay with those who hold
    redemption   its share, rounded down
    conversion   its share leaves the reserve and is owed to the treasury; 0.01 USDC of it is a credit

Laws
- Integers only: USDC base units (1e-6), tokens 1e-18, prices USDC base units per whole token.
- Rounding is the contract's: down for what is paid out or minted, up for a price to buy at.
- The credits of a reference are floor(all that was converted for it / 10,000): what is left below
  a credit is carried to its next conversion, and in whatever order conversions come and go, the
  sum is the same.
Source: contracts/ReserveToken.sol; docs/reserve.md.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from core.errors import InvalidNumberError

ONE_TOKEN: Final = 10**18
SEED_USDC_E6: Final = 10**6  # contracts/libraries/ConstantsLib.sol: SEED_USDC
SEED_TOKENS: Final = 100 * ONE_TOKEN  # SEED_TOKENS
BUY_PERCENT: Final = 102  # ReserveToken.BUY_PERCENT
USDC_E6_A_CREDIT: Final = 10_000
RATIO_DECIMALS: Final = 6


class ReserveEventKind(StrEnum):
    """What the token's contract logs of its reserve, its treasury and its pause."""

    BOUGHT = "bought"
    REDEEMED = "redeemed"
    CONVERTED = "converted"
    TREASURY_PAID = "treasury_paid"
    TREASURY_CHANGED = "treasury_changed"
    PAUSED = "paused"
    UNPAUSED = "unpaused"


class ConversionStatus(StrEnum):
    """`waiting`: seen, and to be credited once its block is safe. `held`: for a reference that
    nobody has registered. `set_aside`: crediting it failed, and it is tried again. `reversed`: a
    reorg took its block back.
    """

    WAITING = "waiting"
    CREDITED = "credited"
    HELD = "held"
    SET_ASIDE = "set_aside"
    REVERSED = "reversed"


@dataclass(frozen=True, slots=True)
class ReserveTotals:
    """The contract's numbers after an event. `owed_e6`: to the treasury. `treasury` None: no event
    named one.
    """

    reserve_e6: int = SEED_USDC_E6
    supply: int = SEED_TOKENS
    owed_e6: int = 0
    is_paused: bool = False
    treasury: str | None = None


@dataclass(frozen=True, slots=True)
class ReserveFact:
    """What one event moved. `party`: buyer, holder or treasury; None for a pause."""

    kind: ReserveEventKind
    party: str | None = None
    recipient: str | None = None
    account_ref: str | None = None
    tokens: int = 0
    usdc_e6: int = 0


def after(before: ReserveTotals, fact: ReserveFact) -> ReserveTotals:
    """The contract's numbers after one more event."""
    match fact.kind:
        case ReserveEventKind.BOUGHT:
            return replace(
                before,
                reserve_e6=before.reserve_e6 + fact.usdc_e6,
                supply=before.supply + fact.tokens,
            )
        case ReserveEventKind.REDEEMED:
            return _burned(before, fact)
        case ReserveEventKind.CONVERTED:
            return replace(_burned(before, fact), owed_e6=before.owed_e6 + fact.usdc_e6)
        case ReserveEventKind.TREASURY_PAID:
            return replace(before, owed_e6=before.owed_e6 - fact.usdc_e6)
        case ReserveEventKind.TREASURY_CHANGED:
            return replace(before, treasury=fact.party)
        case ReserveEventKind.PAUSED | ReserveEventKind.UNPAUSED:
            return replace(before, is_paused=fact.kind is ReserveEventKind.PAUSED)


def _burned(before: ReserveTotals, fact: ReserveFact) -> ReserveTotals:
    return replace(
        before,
        reserve_e6=before.reserve_e6 - fact.usdc_e6,
        supply=before.supply - fact.tokens,
    )


def quote(usdc_e6: int, reserve_e6: int, supply: int) -> int:
    """Tokens (1e-18) that a purchase for so much mints: `quoteBuy`, rounded down.

    Errors: InvalidNumberError for a reserve or supply below 1, which the contract never has.
    """
    _require_seeded(reserve_e6, supply)
    return usdc_e6 * supply * 100 // (reserve_e6 * BUY_PERCENT)


def redeem_value(tokens: int, reserve_e6: int, supply: int) -> int:
    """USDC base units that a redemption pays, or a conversion is worth: `quoteRedeem`, rounded
    down.

    Errors: as `quote`.
    """
    _require_seeded(reserve_e6, supply)
    return tokens * reserve_e6 // supply


def redeem_price(reserve_e6: int, supply: int) -> int:
    """USDC base units per whole token, rounded down: `redeemPrice`. Errors: as `quote`."""
    return redeem_value(ONE_TOKEN, reserve_e6, supply)


def buy_price(reserve_e6: int, supply: int) -> int:
    """USDC base units per whole token, rounded up: `buyPrice`. Errors: as `quote`."""
    _require_seeded(reserve_e6, supply)
    return -(-ONE_TOKEN * reserve_e6 * BUY_PERCENT // (supply * 100))


def _require_seeded(reserve_e6: int, supply: int) -> None:
    for name, value in (("reserve_e6", reserve_e6), ("supply", supply)):
        if value < 1:
            raise InvalidNumberError(name, str(value), "is 1 at least")


def ratio_text(usdc_e6: int, reserve_e6: int, owed_e6: int) -> str:
    """What the contract holds beside what it owes the treasury, over its reserve, rounded down to
    six decimals: 1.000000 is covered, more was donated, less is missing.

    Errors: InvalidNumberError for a reserve below 1.
    """
    _require_seeded(reserve_e6, 1)
    scaled = (usdc_e6 - owed_e6) * 10**RATIO_DECIMALS // reserve_e6
    sign, (whole, part) = "-" if scaled < 0 else "", divmod(abs(scaled), 10**RATIO_DECIMALS)
    return f"{sign}{whole}.{part:0{RATIO_DECIMALS}d}"


def token_text(tokens: int) -> str:
    """Tokens of 1e-18 with all eighteen decimals: nothing of a quote is rounded."""
    whole, part = divmod(tokens, ONE_TOKEN)
    return f"{whole}.{part:018d}"


def credits_of(converted_e6: int) -> int:
    """Credits of all that was ever converted for a reference."""
    return converted_e6 // USDC_E6_A_CREDIT


def credits_added(converted_e6: int, usdc_e6: int) -> int:
    """Credits that one more conversion brings. `converted_e6`: what was converted for the reference
    before.
    """
    return credits_of(converted_e6 + usdc_e6) - credits_of(converted_e6)


def credits_taken(converted_e6: int, usdc_e6: int) -> int:
    """Credits that go when a conversion is taken back. `converted_e6`: with it."""
    return credits_of(converted_e6) - credits_of(converted_e6 - usdc_e6)
