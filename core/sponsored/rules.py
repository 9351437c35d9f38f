"""A sponsored buy: what it costs, what became of its two transfers, and what comes next. Pure.

    purchase: the net amount, from the buyer to the reserve token, which mints        } each used, cancelled
    fee:      the gas, from the buyer to the token's treasury                         } or run out on its own

Laws
- What became of a transfer is what the chain's logs say, as the indexer wrote them; a receipt, and
  what any one node says, ends nothing.
- A transfer is final in a safe block about which nodes agree. One that never happened is final when
  such a block has passed the time up to which the authorization is good: from then on it cannot happen.
- While nodes do not agree for STUCK_S, what would be final is disputed: open, and nothing is sent.
- STATES is the whole table: nine pairs, and nothing else decides what is said.
- What is charged is rounded up, what is promised is rounded down.
Source: docs/sponsored-buys.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from core.money import UsdcE6

LEAST_USDC_E6 = UsdcE6(5_000_000)  # net amount, inclusive
MOST_USDC_E6 = UsdcE6(1_000_000_000_000)  # inclusive; a million USDC
BUYS_A_DAY = 50  # accepted ones in a UTC day, by scope
# transactions in a UTC day that fail on chain, by scope: nothing more is sent for it
FAILURES_A_DAY, FAILURES_OF_AN_ADDRESS = 3, 9
MOST_BUYS = {"account": BUYS_A_DAY, "buyer": BUYS_A_DAY, "owner": BUYS_A_DAY}
MOST_FAILURES = {
    "account": FAILURES_A_DAY,
    "address": FAILURES_OF_AN_ADDRESS,
    "buyer": FAILURES_A_DAY,
    "owner": FAILURES_A_DAY,
}
QUOTE_S = 300  # from the quote on, a buy may be handed in, exclusive
GOOD_S = 1_800  # from the quote on, both authorizations are good, exclusive
# before the authorizations end nothing more is signed: a transaction takes some blocks
SEND_MARGIN_S = 60
REQUESTS_A_BUY = 3  # how often it is asked to be sent
STUCK_S = 600  # by the time of blocks, exclusive
FRESH_S = 60  # a sponsor that has not shown itself for so long is away
BPS = 10_000
DEFAULT_RISE_BPS = 50
# between a node's word and the record: some blocks with large purchases lie between them at most
MOST_APART_BPS = 500
MOST_RISE_BPS = 200

# Gas of `SponsoredBuy.buy`: docs/gas.md measures 161,105 with the test token; Circle's USDC checks
# more. A purchase alone costs less.
BUY_GAS = 240_000
# Upper bound of the unsigned type 2 transaction with its 868 bytes of call data.
UNSIGNED_BUY_BYTES = 1_000
# (gas, bytes of the unsigned transaction): docs/gas.md measures them; rounded up
ACTIONS = {
    "sponsored_buy": (BUY_GAS, UNSIGNED_BUY_BYTES),
    "reserve_buy": (75_000, 230),
    "reserve_redeem": (70_000, 200),
    "reserve_convert": (55_000, 200),
    "create_vault": (380_000, 2_600),
    "mandate_execute": (140_000, 700),
    "withdraw": (90_000, 230),
}
SIZES = frozenset(size for _, size in ACTIONS.values())
MARGIN_PERCENT = 125
LEAST_FEE_USDC_E6 = UsdcE6(1_000)  # below it nobody trusts the price of gas, inclusive
MOST_FEE_USDC_E6 = UsdcE6(5_000_000)  # above it nothing is quoted, inclusive
WEI_PER_ETH = 10**18
NO_FEE = (
    "no fee can reach the treasury: USDC has frozen the treasury or the token, or is itself paused"
)


class AuthorizationState(StrEnum):
    """State of one authorization. DEAD: cancelled, used for something else, or expired."""

    OPEN = "open"
    PAID = "paid"
    DEAD = "dead"


class Use(StrEnum):
    """What a log of USDC says of an authorization."""

    PAID = "paid"
    ELSEWHERE = "elsewhere"  # the same nonce was signed and used for another transfer
    CANCELLED = "cancelled"


class BuyState(StrEnum):
    """State of the buy; NEXT_STEPS explains each."""

    PREPARED = "prepared"
    EXPIRED = "expired"
    ACCEPTED = "accepted"
    FEE_PAID = "fee_paid"
    STOPPED = "stopped"
    BOUGHT = "bought"
    PAID = "paid"
    BOUGHT_WITHOUT_FEE = "bought_without_fee"
    FEE_OWED = "fee_owed"
    NOTHING_PAID = "nothing_paid"
    DISPUTED = "disputed"


# (purchase, fee)
STATES: Mapping[tuple[AuthorizationState, AuthorizationState], BuyState] = {
    (AuthorizationState.OPEN, AuthorizationState.OPEN): BuyState.ACCEPTED,
    (AuthorizationState.OPEN, AuthorizationState.PAID): BuyState.FEE_PAID,
    (AuthorizationState.OPEN, AuthorizationState.DEAD): BuyState.STOPPED,
    (AuthorizationState.PAID, AuthorizationState.OPEN): BuyState.BOUGHT,
    (AuthorizationState.PAID, AuthorizationState.PAID): BuyState.PAID,
    (AuthorizationState.PAID, AuthorizationState.DEAD): BuyState.BOUGHT_WITHOUT_FEE,
    (AuthorizationState.DEAD, AuthorizationState.OPEN): BuyState.STOPPED,
    (AuthorizationState.DEAD, AuthorizationState.PAID): BuyState.FEE_OWED,
    (AuthorizationState.DEAD, AuthorizationState.DEAD): BuyState.NOTHING_PAID,
}


class BuyPart(StrEnum):
    """What the sponsor sends: both transfers by one transaction, or the purchase alone."""

    BOTH = "both"
    PURCHASE = "purchase"


@dataclass(frozen=True, slots=True)
class SeenUse:
    """A standing log. `number`, `tx_hash`: of its block and transaction."""

    use: Use
    number: int
    tx_hash: str
    tokens: int | None  # minted in it; None: a fee, or nothing was minted


@dataclass(frozen=True, slots=True)
class Heights:
    """How far the chain is known, each block by its height and its time, unix seconds.

    `safe`: the newest safe block that the indexer has. `confirmed`: the one up to which nodes agree
    about every use, at or below it. None before the first.
    """

    safe_number: int | None
    safe_at: int | None
    confirmed_number: int | None
    confirmed_at: int | None

    @property
    def is_stuck(self) -> bool:
        """Whether nodes disagree, or too few answer, for so long that something must be wrong."""
        if self.safe_at is None or self.confirmed_at is None:
            return False
        return self.safe_at - self.confirmed_at > STUCK_S


@dataclass(frozen=True, slots=True)
class TransferFate:
    """What became of one transfer. `why` of a dead one: cancelled, elsewhere or lapsed; of an open
    one: disputed.
    """

    leg: AuthorizationState
    is_final: bool
    tx_hash: str | None = None
    tokens: int | None = None
    why: str | None = None


LAPSED = "lapsed"
DISPUTED = "disputed"


def transfer_of(seen: SeenUse | None, valid_before: int, heights: Heights) -> TransferFate:
    """`seen`: the canonical log of its nonce; None: there is none.

    An authorization is good before `valid_before`, exclusive, so a safe block at that second or
    later without a log is its end. Nothing is final that is not confirmed.
    """
    place, safe, confirmed = (
        (valid_before, heights.safe_at, heights.confirmed_at)
        if seen is None
        else (seen.number, heights.safe_number, heights.confirmed_number)
    )
    is_safe = safe is not None and place <= safe
    is_final = confirmed is not None and place <= confirmed
    if is_safe and not is_final and heights.is_stuck:
        tx_hash = None if seen is None else seen.tx_hash
        return TransferFate(AuthorizationState.OPEN, False, tx_hash, why=DISPUTED)
    if seen is None:
        if is_safe or is_final:
            return TransferFate(AuthorizationState.DEAD, is_final, why=LAPSED)
        return TransferFate(AuthorizationState.OPEN, False)
    if seen.use is Use.PAID:
        return TransferFate(AuthorizationState.PAID, is_final, seen.tx_hash, seen.tokens)
    return TransferFate(AuthorizationState.DEAD, is_final, seen.tx_hash, why=seen.use.value)


def state_of(purchase: TransferFate, fee: TransferFate) -> tuple[BuyState, bool]:
    """Of an accepted buy: its state, and whether that is its last one."""
    if DISPUTED in (purchase.why, fee.why):
        return BuyState.DISPUTED, False
    return STATES[purchase.leg, fee.leg], purchase.is_final and fee.is_final


def part_to_send(purchase: TransferFate, fee: TransferFate) -> BuyPart | None:
    """What is left to send of an accepted buy; None: nothing, also while one is disputed: what it
    would send may have happened.

    Nobody's fee is dead: without one nothing is sent. A purchase that was made keeps its fee: whoever
    submitted it paid the gas.
    """
    if purchase.leg is not AuthorizationState.OPEN or DISPUTED in (purchase.why, fee.why):
        return None
    return {
        AuthorizationState.OPEN: BuyPart.BOTH,
        AuthorizationState.PAID: BuyPart.PURCHASE,
        AuthorizationState.DEAD: None,
    }[fee.leg]


def is_away(shown_at: datetime | None, now: datetime) -> bool:
    """Whether no sponsor is at work. `shown_at`: its last sign; None: there was none."""
    return shown_at is None or now - shown_at >= timedelta(seconds=FRESH_S)


def can_send(valid_before: int, now: int) -> bool:
    """Whether something may still be signed, unix seconds."""
    return now < valid_before - SEND_MARGIN_S


# What comes next

NEXT_STEPS: Mapping[tuple[BuyState, bool], str] = {
    (BuyState.PREPARED, False): "Sign both documents and hand them in before the quote expires.",
    (BuyState.EXPIRED, True): "The quote expired before it was handed in; prepare another.",
    (BuyState.ACCEPTED, False): (
        "The service sends both transfers in one transaction. If it cannot before the "
        "authorizations end, nothing is paid."
    ),
    (BuyState.FEE_PAID, False): (
        "The fee was submitted alone. The service sends the purchase by itself; if it cannot, the "
        "fee is owed to the buyer."
    ),
    (BuyState.STOPPED, False): (
        "One authorization was cancelled or used elsewhere, so the service sends nothing. The other "
        "one is good until it ends; cancel it at USDC if you do not want it used."
    ),
    (BuyState.BOUGHT, False): (
        "The purchase was submitted alone and the tokens are there. The fee is not collected "
        "any more, unless a transaction of the service was already on its way; wait for a safe block."
    ),
    (BuyState.PAID, False): "Both transfers are in a block; wait until it is safe.",
    (BuyState.PAID, True): "Nothing: the tokens were minted and the fee is paid.",
    (BuyState.BOUGHT_WITHOUT_FEE, False): "The tokens are there; wait until the block is safe.",
    (BuyState.BOUGHT_WITHOUT_FEE, True): "Nothing: the tokens were minted, and no fee is taken.",
    (BuyState.FEE_OWED, False): (
        "The fee was paid and the purchase cannot happen; once both are final, the fee lowers "
        "the buyer's next sponsored buy."
    ),
    (BuyState.FEE_OWED, True): (
        "The fee was paid without a purchase: the buyer's next sponsored buy costs that much less. "
        "Prepare one."
    ),
    (BuyState.NOTHING_PAID, False): "Neither transfer can happen; wait until that is final.",
    (BuyState.NOTHING_PAID, True): "Nothing was paid. Prepare another buy if you still want one.",
    (BuyState.DISPUTED, False): (
        "The nodes that this service asks disagree about one of the transfers, so nothing is final "
        "and nothing is sent. It is asked again by itself; look the transaction up at USDC, and "
        "prepare no other buy for the same money before this one is final."
    ),
}


# What it costs


@dataclass(frozen=True, slots=True)
class GasPrice:
    """Of one transaction, wei. `layer_1_wei`: for its bytes, an upper bound."""

    base_fee_wei: int
    priority_fee_wei: int
    layer_1_wei: int

    @property
    def offer_wei(self) -> int:
        """maxFeePerGas of the sponsor's first offer: keeper.attempts.fees_for."""
        return 2 * self.base_fee_wei + self.priority_fee_wei


def cost_wei(gas: int, price: GasPrice) -> int:
    """The most that a transaction of so much gas costs at its first offer."""
    return gas * price.offer_wei + price.layer_1_wei


def covered_wei(price: GasPrice) -> int:
    """What a fee pays for: the cost of one buy and a quarter more, rounded up. Above it the sponsor
    waits.
    """
    return -(-cost_wei(BUY_GAS, price) * MARGIN_PERCENT // 100)


def usdc_of_wei_up(wei: int, usdc_e6_per_eth: int) -> UsdcE6:
    """Base units, rounded up."""
    return UsdcE6(-(-wei * usdc_e6_per_eth // WEI_PER_ETH))


def fee_usdc_e6(covers_wei: int, usdc_e6_per_eth: int) -> UsdcE6 | None:
    """The fee of a buy; None above MOST_FEE_USDC_E6, which no node's word is trusted for."""
    fee = max(usdc_of_wei_up(covers_wei, usdc_e6_per_eth), LEAST_FEE_USDC_E6)
    return UsdcE6(fee) if fee <= MOST_FEE_USDC_E6 else None


def fee_after_credit(fee: UsdcE6, owed: UsdcE6) -> tuple[UsdcE6, UsdcE6]:
    """(what is signed, what of `owed` it uses up)."""
    used = UsdcE6(min(fee, max(owed, 0)))
    return UsdcE6(fee - used), used


def is_apart(seen: tuple[int, int], recorded: tuple[int, int]) -> bool:
    """Whether two prices, each (reserve, supply), differ by more than MOST_APART_BPS of the
    recorded one. A pool without tokens or reserve has none.
    """
    if min(*seen, *recorded) < 1:
        return True
    one, other = seen[0] * recorded[1], recorded[0] * seen[1]
    return abs(one - other) * BPS > MOST_APART_BPS * other


def least_tokens_down(tokens: int, rise_bps: int) -> int:
    """minOut: the quote less what the price may rise, rounded down."""
    return tokens * (BPS - rise_bps) // BPS
