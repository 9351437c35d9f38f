"""docs/sponsored-buys.md, as numbers and states."""

from itertools import product

from core.money import UsdcE6
from core.sponsored.rules import (
    LEAST_FEE_USDC_E6,
    NEXT_STEPS,
    STATES,
    STUCK_S,
    AuthorizationState,
    BuyPart,
    BuyState,
    GasPrice,
    Heights,
    SeenUse,
    TransferFate,
    Use,
    can_send,
    covered_wei,
    fee_after_credit,
    fee_usdc_e6,
    is_apart,
    least_tokens_down,
    part_to_send,
    state_of,
    transfer_of,
)
from tests.each import each

ETH = 3_000_000_000
OPEN, PAID, DEAD = AuthorizationState
PAID_AT_10 = SeenUse(Use.PAID, 10, "0x01", 5)


@each(
    ("price", "covers", "fee"),
    [
        (GasPrice(5_000_000, 1_000_000, 2_000_000_000), 3_302_500_000_000, 9_908),
        (GasPrice(50_000_000, 1_000_000, 2_000_000_000), 30_302_500_000_000, 90_908),
        (GasPrice(100_000, 0, 0), 60_000_000_000, LEAST_FEE_USDC_E6),
        (GasPrice(5 * 10**9, 10**9, 0), 3_300_000_000_000_000, None),
    ],
)
def test_fee__worked_numbers(price: GasPrice, covers: int, fee: int | None) -> None:
    assert covered_wei(price) == covers
    assert fee_usdc_e6(covers, ETH) == fee


@each(("wei", "fee"), [(5 * 10**18, 5_000_000), (5 * 10**18 + 1, None), (10**15 + 1, 1_001)])
def test_fee__is_rounded_up_and_has_a_most(wei: int, fee: int | None) -> None:
    assert fee_usdc_e6(wei, 10**6) == fee


@each(
    ("fee", "owed", "signed", "used"),
    [(30_000, 20_000, 10_000, 20_000), (15_000, 20_000, 0, 15_000), (15_000, 0, 15_000, 0)],
)
def test_fee_after_credit__worked_numbers(fee: int, owed: int, signed: int, used: int) -> None:
    assert fee_after_credit(UsdcE6(fee), UsdcE6(owed)) == (signed, used)


@each(("told", "is_too_far"), [(950, False), (949, True), (1_050, False), (1_051, True)])
def test_prices__are_apart_above_five_percent(told: int, is_too_far: bool) -> None:
    assert is_apart((told, 7), (1_000, 7)) is is_too_far


@each(("told", "recorded"), [((0, 0), (1_000, 7)), ((0, 7), (1_000, 7)), ((1_000, 7), (0, 0))])
def test_a_pool_without_a_price__is_apart_from_any(
    told: tuple[int, int], recorded: tuple[int, int]
) -> None:
    """A node that told of an empty pool was taken at its word, and the quote divided by it."""
    assert is_apart(told, recorded)


def test_least_tokens__worked_number() -> None:
    assert least_tokens_down(9_423_990_502, 50) == 9_376_870_549


def heights(
    number: int, at: int, confirmed: tuple[int | None, int | None] | None = None
) -> Heights:
    """Confirmed up to the safe block unless named otherwise."""
    return Heights(number, at, *(confirmed or (number, at)))


def test_an_open_authorization__lapses_at_the_confirmed_block_of_its_end() -> None:
    assert transfer_of(None, 100, heights(9, 99)) == TransferFate(OPEN, False)
    assert transfer_of(None, 100, heights(9, 100)) == TransferFate(DEAD, True, why="lapsed")
    safe_only = transfer_of(None, 100, heights(9, 100, (8, 99)))
    assert safe_only == TransferFate(DEAD, False, why="lapsed")


def test_before_the_first_safe_block__nothing_is_final() -> None:
    nowhere = Heights(None, None, None, None)
    assert transfer_of(None, 100, nowhere) == TransferFate(OPEN, False)
    assert transfer_of(PAID_AT_10, 100, nowhere) == TransferFate(PAID, False, "0x01", 5)


@each(("confirmed", "is_final"), [((10, 100), True), ((9, 99), False), ((None, None), False)])
def test_what_nodes_do_not_agree_about__is_never_final(
    confirmed: tuple[int | None, int | None], is_final: bool
) -> None:
    for seen in (None, PAID_AT_10):
        assert transfer_of(seen, 100, heights(10, 100, confirmed)).is_final is is_final


@each(
    ("seen", "tx_hash"),
    [(None, None), (PAID_AT_10, "0x01"), (SeenUse(Use.ELSEWHERE, 10, "0x02", None), "0x02")],
)
def test_what_would_be_final_and_is_not_confirmed_for_too_long__is_disputed(
    seen: SeenUse | None, tx_hash: str | None
) -> None:
    at, late = (9, 99), 99 + STUCK_S
    assert transfer_of(seen, 100, heights(10, late, at)).why != "disputed"
    fate = transfer_of(seen, 100, heights(10, late + 1, at))
    assert fate == TransferFate(OPEN, False, tx_hash, why="disputed")
    other = TransferFate(PAID, True)
    assert part_to_send(fate, other) is None
    assert part_to_send(TransferFate(OPEN, False), fate) is None
    assert state_of(fate, other) == state_of(other, fate) == (BuyState.DISPUTED, False)
    assert NEXT_STEPS[BuyState.DISPUTED, False]


@each("seen", [None, PAID_AT_10])
def test_what_is_not_safe_or_was_confirmed_before__is_not_disputed(seen: SeenUse | None) -> None:
    long = 10_000_000
    assert transfer_of(seen, long + 2, heights(9, long + 1, (8, 0))).why is None
    assert transfer_of(seen, 100, heights(50, long, (10, 100))).is_final
    assert transfer_of(seen, 100, heights(50, long, (None, None))).why != "disputed"


def test_a_use__is_final_at_a_confirmed_block() -> None:
    assert not transfer_of(PAID_AT_10, 100, heights(9, 50)).is_final
    fate = transfer_of(PAID_AT_10, 100, heights(10, 50))
    assert fate == TransferFate(PAID, True, "0x01", 5)


def test_a_use_before_the_end__is_paid_however_late_it_is_looked_at() -> None:
    assert transfer_of(PAID_AT_10, 100, heights(50, 10_000)).leg is PAID


@each("use", [Use.ELSEWHERE, Use.CANCELLED])
def test_another_use__is_dead(use: Use) -> None:
    fate = transfer_of(SeenUse(use, 10, "0x01", None), 100, heights(10, 50))
    assert fate == TransferFate(DEAD, True, "0x01", why=use.value)


def test_states__hold_every_pair() -> None:
    assert set(STATES) == set(product(AuthorizationState, repeat=2))


@each("pair", sorted(STATES))
def test_every_state__says_what_comes_next(
    pair: tuple[AuthorizationState, AuthorizationState],
) -> None:
    for finals in product((True, False), repeat=2):
        fates = [
            TransferFate(one, is_final and one is not OPEN)
            for one, is_final in zip(pair, finals, strict=True)
        ]
        assert NEXT_STEPS[state_of(*fates)]


@each(
    ("purchase", "fee", "part"),
    [
        (OPEN, OPEN, BuyPart.BOTH),
        (OPEN, PAID, BuyPart.PURCHASE),
        (OPEN, DEAD, None),
        (PAID, OPEN, None),
        (PAID, PAID, None),
        (DEAD, OPEN, None),
    ],
)
def test_what_is_sent(
    purchase: AuthorizationState, fee: AuthorizationState, part: BuyPart | None
) -> None:
    assert part_to_send(TransferFate(purchase, False), TransferFate(fee, False)) is part


def test_a_fee_without_a_purchase__is_owed_once_both_are_final() -> None:
    assert state_of(TransferFate(DEAD, True), TransferFate(PAID, False)) == (
        BuyState.FEE_OWED,
        False,
    )
    assert state_of(TransferFate(DEAD, True), TransferFate(PAID, True)) == (BuyState.FEE_OWED, True)


@each(("now", "can"), [(939, True), (940, False)])
def test_nothing_is_signed__in_the_last_minute(now: int, can: bool) -> None:
    assert can_send(1_000, now) is can
