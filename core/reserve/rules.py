"""The reserve token's arithmetic as the contract does it, and what conversions are worth in credit.

    reserve      what backs the supply: what is unlocked, and what is locked for 24 hours at most
    purchase     102 % of its share of the reserve; what is above its share of what is unlocked is locked
    redemption   its share of what is unlocked, rounded down
    conversion   the same share leaves the reserve and is owed to the treasury; 0.01 USDC of it is a credit

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
NANOSECONDS: Final = 10**9
UNLOCK_NS: Final = 86_400 * NANOSECONDS  # ReserveToken.UNLOCK_TIME
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
    """`waiting`: credited once its block is safe. `held`: for a reference that nobody has
    registered. `set_aside`: crediting failed and is retried. `reversed`: a reorg removed its block.
    """

    WAITING = "waiting"
    CREDITED = "credited"
    HELD = "held"
    SET_ASIDE = "set_aside"
    REVERSED = "reversed"


@dataclass(frozen=True, slots=True)
class ReserveLock:
    """A part of the reserve that no redemption takes of: `amount_e6` at the unix second `since`, evenly
    less until nothing is at `until_ns`, unix nanoseconds.
    """

    amount_e6: int = 0
    since: int = 0
    until_ns: int = 0

    def left_e6(self, at: int) -> int:
        """What is locked still at a unix second from `since` on, rounded up: `locked`."""
        left = self.until_ns - at * NANOSECONDS
        if left <= 0:
            return 0
        return -(-self.amount_e6 * left // (self.until_ns - self.since * NANOSECONDS))


@dataclass(frozen=True, slots=True)
class ReserveTotals:
    """The contract's numbers after an event. `reserve_e6`: with what is locked. `owed_e6`: to the
    treasury. `treasury` None: no event named one.
    """

    reserve_e6: int = SEED_USDC_E6
    supply: int = SEED_TOKENS
    owed_e6: int = 0
    is_paused: bool = False
    treasury: str | None = None
    lock: ReserveLock = ReserveLock()

    def unlocked_e6(self, at: int) -> int:
        return self.reserve_e6 - self.lock.left_e6(at)


@dataclass(frozen=True, slots=True)
class ReserveFact:
    """What one event moved. `party`: buyer, holder or treasury; None for a pause."""

    kind: ReserveEventKind
    party: str | None = None
    recipient: str | None = None
    account_ref: str | None = None
    tokens: int = 0
    usdc_e6: int = 0


def after(before: ReserveTotals, fact: ReserveFact, at: int) -> ReserveTotals:
    """The contract's numbers after one more event. `at`: unix seconds of its block."""
    match fact.kind:
        case ReserveEventKind.BOUGHT:
            return replace(
                before,
                reserve_e6=before.reserve_e6 + fact.usdc_e6,
                supply=before.supply + fact.tokens,
                lock=_locked(before, fact, at),
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


def _locked(before: ReserveTotals, fact: ReserveFact, at: int) -> ReserveLock:
    """The lock after a purchase. What no contract would do, as a node's lie may say, locks nothing or
    for a day at most, until it is repaired.
    """
    left_e6, now = before.lock.left_e6(at), at * NANOSECONDS
    if before.supply < 1:
        return before.lock
    share = -(-fact.tokens * (before.reserve_e6 - left_e6) // before.supply)
    amount = left_e6 + fact.usdc_e6 - share
    if amount == left_e6 or amount < 1:
        return before.lock
    markup = fact.usdc_e6 * (BUY_PERCENT - 100) // BUY_PERCENT
    until = max(before.lock.until_ns, now)
    until += markup * (now + UNLOCK_NS - until) // amount
    return ReserveLock(amount, at, min(until, now + UNLOCK_NS))


def _burned(before: ReserveTotals, fact: ReserveFact) -> ReserveTotals:
    return replace(
        before,
        reserve_e6=before.reserve_e6 - fact.usdc_e6,
        supply=before.supply - fact.tokens,
    )


def quote(usdc_e6: int, reserve_e6: int, supply: int) -> int:
    """Tokens (1e-18) that a purchase for so much mints: `quoteBuy`, rounded down. Time does not move it.

    Errors: InvalidNumberError for a reserve or supply below 1, which the contract never has.
    """
    _require_seeded(reserve_e6, supply)
    return usdc_e6 * supply * 100 // (reserve_e6 * BUY_PERCENT)


def redeem_value(tokens: int, unlocked_e6: int, supply: int) -> int:
    """USDC base units that a redemption pays, or a conversion is worth: `quoteRedeem`, rounded
    down. Of the whole reserve: what it will be when nothing is locked any more.

    Errors: as `quote`.
    """
    _require_seeded(unlocked_e6, supply)
    return tokens * unlocked_e6 // supply


def redeem_price(unlocked_e6: int, supply: int) -> int:
    """USDC base units per whole token, rounded down: `redeemPrice`. Errors: as `quote`."""
    return redeem_value(ONE_TOKEN, unlocked_e6, supply)


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
