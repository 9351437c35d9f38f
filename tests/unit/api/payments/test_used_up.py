"""What a process remembers of used-up free reads, and when it forgets."""

from datetime import date, timedelta

from api.payments.used_up import UsedUp

DAY = date(2026, 2, 2)


def test_what_is_used_up__stays_so_that_day_for_that_account_and_limit() -> None:
    used_up = UsedUp()
    assert not used_up.has("account:7", DAY, 100)
    used_up.add("account:7", DAY, 100)
    assert [
        used_up.has("account:7", DAY, 100),
        used_up.has("account:8", DAY, 100),
        used_up.has("account:7", DAY, 101),
    ] == [
        True,
        False,
        False,
    ]


def test_another_day__is_asked_again() -> None:
    used_up = UsedUp()
    used_up.add("account:7", DAY, 100)
    next_day = DAY + timedelta(days=1)
    assert not used_up.has("account:7", next_day, 100)
    used_up.add("account:8", next_day, 100)
    assert [used_up.has("account:7", DAY, 100), used_up.has("account:8", next_day, 100)] == [
        False,
        True,
    ]


def test_a_call_of_yesterday_that_ends_late__does_not_turn_the_day_back() -> None:
    used_up = UsedUp()
    used_up.add("account:8", DAY, 100)
    used_up.add("account:7", DAY - timedelta(days=1), 100)
    assert [
        used_up.has("account:7", DAY - timedelta(days=1), 100),
        used_up.has("account:8", DAY, 100),
    ] == [False, True]
