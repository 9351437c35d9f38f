"""What is held is tried again: after a reorg, one ledger's trouble apart from the others', and cheaply."""

from collections.abc import Sequence

import pytest
from sqlalchemy import text

from core.books import mandate_ledger
from indexer.chain import tip
from indexer.chain.retry import retry_all
from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.conftest import Book, Follower, now_utc
from tests.integration.indexer.refusing import Refusals, counted
from tests.integration.indexer.test_quarantine import buy, moves, reasons

DEFECTS = [TypeError("save() got an unexpected keyword argument"), AttributeError("no attribute"), AssertionError(), KeyError("usdc")]


def test_a_reorg_of_the_bad_fact_alone__frees_what_only_waited_behind_it(
    follower: Follower, books: Sequence[Book], refusals: Refusals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reverted call of an older block is explained late, and so queues behind a fact of a newer one."""
    first = books[0]
    follower.tip.retry_held()
    assert not follower.tip.owes_retry
    with monkeypatch.context() as lagging:
        lagging.setattr(tip, "explain_pending", lambda *rest: ([], True))
        assert follower.deployed.buy(first[1], 500 * USDC).status == 0
        follower.catch_up()
        refusals.add(buy(follower, first))
        follower.catch_up()
    follower.tip.round()
    assert reasons(follower, first) == ["database", "behind"]
    follower.deployed.anvil.reorg(1)
    refusals.drop()
    follower.catch_up()
    assert follower.tip.owes_retry
    follower.tip.retry_held()
    assert reasons(follower, first) == []
    buy(follower, first)
    follower.catch_up()
    assert (moves(follower, first), reasons(follower, first)) == (1, [])
    follower.assert_sound(*first)


def test_a_reorg_of_what_is_not_held__owes_no_try(follower: Follower, books: Sequence[Book]) -> None:
    follower.tip.retry_held()
    buy(follower, books[0])
    follower.catch_up()
    follower.deployed.anvil.reorg(1)
    follower.catch_up()
    assert not follower.tip.owes_retry


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: type(defect).__name__)
def test_a_defect_in_the_writing_of_ledgers__fails_the_round_and_holds_no_ledger(
    follower: Follower, books: Sequence[Book], monkeypatch: pytest.MonkeyPatch, defect: Exception
) -> None:
    def broken(*rest: object) -> None:
        raise defect

    for book in books:
        buy(follower, book)
    with monkeypatch.context() as patch:
        patch.setattr(mandate_ledger, "save", broken)
        with pytest.raises(type(defect)):
            follower.catch_up()
    follower.restart()
    follower.catch_up()
    assert [(reasons(follower, book), moves(follower, book)) for book in books] == [([], 1)] * 3


UNREADABLE = {
    "a row without its fields": '{"row": {"kind": "move"}}',
    "a log without its fields": '{"log": {"topics": []}}',
    "no log": '{"log": 7}',
    "neither": "{}",
    "no JSON": "no JSON",
    "too deep": "[" * 100_000,
}


@pytest.mark.parametrize("fact", UNREADABLE.values(), ids=list(UNREADABLE))
def test_a_held_row_that_todays_code_cannot_read__keeps_no_other_ledger_from_being_tried(
    follower: Follower, books: Sequence[Book], refusals: Refusals, fact: str
) -> None:
    first, second, _ = books
    for book in (first, second):
        refusals.add(buy(follower, book))
    follower.catch_up()
    refusals.drop()
    with follower.database.write() as session:
        changed = text("update quarantined_fact set fact = convert_to(:fact, 'UTF8') where ledger_id = :id")
        session.execute(changed, {"fact": fact, "id": first[0].id})
    retry_all(follower.chain, now_utc())
    assert (reasons(follower, first), reasons(follower, second)) == (["domain"], [])


def test_a_defect_that_a_retry_meets__is_told_and_leaves_it_held(
    follower: Follower, books: Sequence[Book], refusals: Refusals, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*rest: object) -> None:
        raise KeyError("usdc")

    refusals.add(buy(follower, books[0]))
    follower.catch_up()
    refusals.drop()
    with monkeypatch.context() as patch:
        patch.setattr(mandate_ledger, "save", broken)
        [done] = retry_all(follower.chain, now_utc())
    assert done.refusal is not None
    assert (done.released, done.refusal.note) == (0, "Today's code fails on it (KeyError); see the log.")
    [done] = retry_all(follower.chain, now_utc())
    assert (done.released, done.refusal) == (1, None)


def test_the_retry_of_a_long_queue__asks_for_all_times_at_once(follower: Follower, books: Sequence[Book], refusals: Refusals) -> None:
    first = books[0]
    refusals.add(buy(follower, first, 1))
    for _ in range(60):
        follower.deployed.buy(first[1], 1)
    follower.catch_up()
    refusals.drop()
    with counted(follower.database) as sent:
        [done] = retry_all(follower.chain, now_utc())
    assert done.released == 61
    assert sum("chain_block" in statement for statement in sent) == 1
    assert len(sent) < 40, sent
    follower.assert_sound(*first)
