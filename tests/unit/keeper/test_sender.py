"""Fees and nonces of the sender. Its transitions are tested on a real chain and database."""

from keeper.sender import Fees, fees_for, first_free_nonce

GWEI = 10**9


def test_fees_for__is_twice_the_base_fee_plus_the_priority_fee() -> None:
    assert fees_for(3 * GWEI, GWEI, 50 * GWEI) == Fees(7 * GWEI, GWEI)


def test_fees_for__never_passes_the_cap() -> None:
    assert fees_for(30 * GWEI, GWEI, 50 * GWEI) == Fees(50 * GWEI, GWEI)


def test_fees_for__base_fee_at_the_cap__still_sends() -> None:
    assert fees_for(50 * GWEI, GWEI, 50 * GWEI) == Fees(50 * GWEI, GWEI)


def test_fees_for__base_fee_above_the_cap__waits() -> None:
    assert fees_for(50 * GWEI + 1, GWEI, 50 * GWEI) is None


def test_fees_for__priority_fee_above_the_cap__is_cut_to_it() -> None:
    assert fees_for(0, 90 * GWEI, 50 * GWEI) == Fees(50 * GWEI, 50 * GWEI)


def test_first_free_nonce__nothing_held__is_the_count() -> None:
    assert first_free_nonce(7, set()) == 7


def test_first_free_nonce__skips_what_live_transactions_hold_and_fills_gaps() -> None:
    assert first_free_nonce(7, {7, 8}) == 9
    assert first_free_nonce(7, {8}) == 7
