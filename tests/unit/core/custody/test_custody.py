"""What a request's way means, and how much of a wallet is free."""

import pytest

from core.custody.rules import (
    Authorized,
    TransferState,
    available_usdc_e6,
    transfer_state,
    why_not_paid,
)
from core.keeper.rules import IntentState
from core.money import UnixSeconds, UsdcE6
from tests.each import each

AT = UnixSeconds(1_000)
WORDS = {
    "queued": ("queued", "planned", "superseded", "nonce_lost"),
    "sent": ("signed", "broadcast", "mined"),
    "confirmed": ("safe", "done"),
    "failed": ("reverted", "refused"),
}


def one(nonce: str, amount: int, expires_at: int = 1_001) -> Authorized:
    return Authorized(nonce, UsdcE6(amount), UnixSeconds(expires_at))


@each(("shown", "word"), [(shown, word) for shown, words in WORDS.items() for word in words])
def test_transfer_state__of_each_word_of_the_outbox(shown: str, word: str) -> None:
    assert transfer_state(word, is_used=False) == shown


def test_transfer_state__knows_every_state_of_an_intent() -> None:
    assert {state.value for state in IntentState} | {"queued"} == {
        word for words in WORDS.values() for word in words
    }


@pytest.mark.parametrize("word", ["reverted", "refused"])
def test_transfer_state__failed_here_and_paid_on_chain__is_confirmed(word: str) -> None:
    assert transfer_state(word, is_used=True) is TransferState.CONFIRMED


def test_transfer_state__mined_and_not_safe__is_sent() -> None:
    assert transfer_state("mined", is_used=True) is TransferState.SENT


@each(
    ("word", "refused", "is_used", "why"),
    [
        ("superseded", "frozen", False, "frozen"),
        ("planned", "frozen", False, "frozen"),
        ("queued", None, False, None),
        ("refused", "frozen", False, "frozen"),
        ("refused", None, False, "it could not be sent for an hour"),
        ("refused", "used", True, None),  # paid by another
        ("reverted", "frozen an hour ago", False, "its transaction failed on chain"),
        ("broadcast", "frozen", False, None),
        ("done", "frozen", False, None),
    ],
)
def test_why_not_paid(word: str, refused: str | None, is_used: bool, why: str | None) -> None:
    shown = transfer_state(word, is_used=is_used)
    assert why_not_paid(word, refused, shown) == why


@each(
    ("under_way", "used", "available"),
    [
        ([], set(), 100),
        ([one("a", 40)], set(), 60),
        ([one("a", 40), one("b", 60)], set(), 0),
        ([one("a", 40), one("b", 61)], set(), 0),
        ([one("a", 40), one("b", 60)], {"a"}, 40),  # the balance is already without a
        ([one("a", 40, expires_at=1_000)], set(), 100),  # at its end the chain pays it no more
        ([one("a", 40, expires_at=1_001)], set(), 60),
    ],
)
def test_available__is_the_balance_without_what_may_still_be_taken(
    under_way: list[Authorized], used: set[str], available: int
) -> None:
    assert available_usdc_e6(UsdcE6(100), under_way, used, AT) == available
