"""The credit book: each key once, no bucket below zero but by a debt, a chain that verifies."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import text

from core.books import credit_ledger
from core.books.credit_ledger import CreditOverdraftError, Posting
from core.db.engine import Database, WriteSession
from core.domain.errors import InvalidParameterError
from tests.integration.core.rows import NOW, add_account

LATER = NOW + timedelta(hours=1)


def _post(session: WriteSession, account_id: int, key: str, deltas: Credits, kind: str = "spend") -> Posting:
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
    assert (refused.value.bucket, refused.value.needed, refused.value.available) == ("welcome", 1, 0)
    assert credit_ledger.verify(write, account) == []


def test_post__a_debt__may_leave_earned_below_zero_but_not_welcome(write: WriteSession) -> None:
    account = add_account(write, "agent")
    assert _post(write, account, "debt", Credits(earned=-3), "debt").balance == Credits(earned=-3)
    with pytest.raises(CreditOverdraftError):
        _post(write, account, "debt of welcome", Credits(welcome=-3), "debt")


def test_post__a_move_between_buckets__keeps_the_total(write: WriteSession) -> None:
    account = add_account(write, "agent")
    _post(write, account, "earn", Credits(earned=5), "earn")
    bonded = _post(write, account, "bond", Credits(earned=-3, bonded=3), "bond")
    assert (bonded.balance, bonded.balance.total) == (Credits(earned=2, bonded=3), 5)


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
        credit_ledger.post(write, account, "earn", "k", Credits(earned=1), "sales", {"price": 0.5}, NOW)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("update credit_entry set payload = '{}' where seq = 2", "seq 2: its content does not give its row_hash"),
        ("delete from credit_entry where seq = 1", "seq 2: expected seq 1"),
        ("update credit_head set welcome = 99", "head: welcome is not the sum of its rows"),
    ],
)
def test_verify__after_a_change_behind_the_triggers__names_it(write: WriteSession, change: str, named: str) -> None:
    account = add_account(write, "agent")
    credit_ledger.grant_welcome(write, account, 10, NOW)
    _post(write, account, "a", Credits(welcome=-1))
    write.execute(text("set local session_replication_role = replica"))
    write.execute(text(change))
    write.expire_all()
    assert named in credit_ledger.verify(write, account)
