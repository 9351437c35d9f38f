"""The credit ledger: each key once, no bucket below zero but by a debt, a chain that verifies."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import text

from core.credits.ledger import writer as credit_ledger
from core.credits.ledger.writer import CreditOverdraftError, Posting
from core.credits.rules.buckets import Credits, NotEnoughCreditsError
from core.db.engine import Database, WriteSession
from core.errors import InvalidParameterError
from tests.integration.core.rows import NOW, add_account

LATER = NOW + timedelta(hours=1)


def _post(
    session: WriteSession, account_id: int, key: str, deltas: Credits, kind: str = "spend"
) -> Posting:
    return credit_ledger.post(session, account_id, kind, key, deltas, "sales", {"read": key}, NOW)


def test_grant_welcome__twice__gives_once(write: WriteSession) -> None:
    account = add_account(write, "agent")
    first = credit_ledger.grant_welcome(write, account, 10, NOW)
    second = credit_ledger.grant_welcome(write, account, 10, LATER)
    assert (first.is_new, second.is_new, second.id) == (True, False, first.id)
    assert second.balance == Credits(welcome=10)
    assert credit_ledger.verify(write, account) == []


def test_post__the_whole_balance__leaves_zero_and_one_more_is_refused(write: WriteSession) -> None:
    account = add_account(write, "agent")
    credit_ledger.grant_welcome(write, account, 10, NOW)
    assert _post(write, account, "a", Credits(welcome=-10)).balance == Credits()
    with pytest.raises(CreditOverdraftError) as refused:
        _post(write, account, "b", Credits(welcome=-1))
    assert (refused.value.bucket, refused.value.needed, refused.value.available) == (
        "welcome",
        1,
        0,
    )
    assert credit_ledger.verify(write, account) == []


def test_owe__takes_nothing_now_and_earnings_repay_it_first(write: WriteSession) -> None:
    account = add_account(write, "agent")
    assert credit_ledger.owe(write, account, 60, "verdict", {}, NOW).balance == Credits(owed=60)
    assert credit_ledger.earn(write, account, 20, "a", {}, NOW).balance == Credits(owed=40)
    assert credit_ledger.earn(write, account, 50, "b", {}, NOW).balance == Credits(earned=10)
    assert credit_ledger.trial_balance(write)["service:penalties"] == 60
    assert credit_ledger.verify(write, account) == []


def test_spend__goes_through_welcome_earned_converted_in_one_posting(write: WriteSession) -> None:
    account = add_account(write, "agent")
    credit_ledger.grant_welcome(write, account, 10, NOW)
    credit_ledger.earn(write, account, 20, "earn", {}, NOW)
    credit_ledger.convert(write, account, 5, "convert", {}, NOW)
    spent = credit_ledger.spend(write, account, 32, "buy", {}, NOW)
    assert (spent.deltas, spent.balance) == (
        Credits(welcome=-10, earned=-20, converted=-2),
        Credits(converted=3),
    )
    with pytest.raises(NotEnoughCreditsError) as refused:
        credit_ledger.spend(write, account, 4, "more", {}, NOW)
    assert (refused.value.needed, refused.value.available) == (4, 3)


def test_spend__the_same_key_again__takes_nothing(write: WriteSession) -> None:
    account = add_account(write, "agent")
    credit_ledger.grant_welcome(write, account, 10, NOW)
    first = credit_ledger.spend(write, account, 4, "buy", {}, NOW)
    again = credit_ledger.spend(write, account, 9, "buy", {}, NOW)
    assert (first.is_new, again.is_new, again.id, again.balance) == (
        True,
        False,
        first.id,
        Credits(welcome=6),
    )


def test_hold__never_takes_the_welcome_credit__and_release_gives_back_once(
    write: WriteSession,
) -> None:
    account = add_account(write, "agent")
    credit_ledger.grant_welcome(write, account, 10, NOW)
    credit_ledger.earn(write, account, 3, "earn", {}, NOW)
    credit_ledger.convert(write, account, 5, "convert", {}, NOW)
    with pytest.raises(NotEnoughCreditsError):
        credit_ledger.hold(write, account, 9, "too much", {}, NOW)
    held = credit_ledger.hold(write, account, 4, "post 1", {}, NOW)
    assert held.balance == Credits(welcome=10, converted=4, bonded=4)
    credit_ledger.spend(write, account, 1, "read", {}, NOW)
    assert credit_ledger.release(write, account, "post 1", NOW).balance == Credits(
        welcome=9, earned=3, converted=5
    )
    assert not credit_ledger.release(write, account, "post 1", NOW).is_new
    with pytest.raises(InvalidParameterError):
        credit_ledger.release(write, account, "read", NOW)


def test_post__from_eight_threads__spends_no_credit_twice(database: Database) -> None:
    with database.write() as session:
        account = add_account(session, "agent")

    def spend(number: int) -> bool:
        try:
            with database.write() as session:
                credit_ledger.grant_welcome(session, account, 10, NOW)
                return _post(session, account, f"spend {number}", Credits(welcome=-3)).is_new
        except CreditOverdraftError:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(8))) == 3
    with database.read() as after:
        assert credit_ledger.load_balance(after, account) == Credits(welcome=1)
        assert credit_ledger.verify(after, account) == []


def test_post__a_float_in_the_payload__is_refused(write: WriteSession) -> None:
    account = add_account(write, "agent")
    with pytest.raises(InvalidParameterError):
        credit_ledger.post(
            write, account, "earn", "k", Credits(earned=1), "sales", {"price": 0.5}, NOW
        )


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            "update credit_entry set payload = '{}' where seq = 2",
            "seq 2: its content does not give its row_hash",
        ),
        ("delete from credit_entry where seq = 1", "seq 2: expected seq 1"),
        ("update credit_head set welcome = 99", "head: welcome is not the sum of its rows"),
    ],
)
def test_verify__after_a_change_behind_the_triggers__names_it(
    write: WriteSession, change: str, named: str
) -> None:
    account = add_account(write, "agent")
    credit_ledger.grant_welcome(write, account, 10, NOW)
    _post(write, account, "a", Credits(welcome=-1))
    write.execute(text("set local session_replication_role = replica"))
    write.execute(text(change))
    write.expire_all()
    assert named in credit_ledger.verify(write, account)


def test_a_head_without_rows__is_sound_where_a_ledger_begins(write: WriteSession) -> None:
    account = add_account(write, "agent")
    with pytest.raises(CreditOverdraftError):
        _post(write, account, "a", Credits(welcome=-1))
    assert credit_ledger.verify(write, account) == []
