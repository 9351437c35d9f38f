"""What is held is tried again: after a reorg, one ledger's trouble apart from the others', and
cheaply.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import delete, text

from api.areas.mandates.views.readings import mandates_before, mandates_now
from core.blocks.tables import ChainBlock, RawLogRow, RevertedTx
from core.chain.blocks import TransactionReceipt
from core.mandate.ledger import writer as mandate_ledger
from core.quarantine.rules import ShortLedger
from indexer.chain.quarantine import TRY_AGAIN, HeldFacts
from indexer.chain.reverts import RevertedCalls
from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.conftest import Follower, SampleLedger, now_utc
from tests.integration.indexer.refusing import Refusals, counted, held
from tests.integration.indexer.test_quarantine import buy, moves, owner_alerts, reasons
from tests.slow import few

DAY_S = 86_400
DEFECTS = [
    TypeError("save() got an unexpected keyword argument"),
    AttributeError("no attribute"),
    AssertionError(),
    KeyError("usdc"),
]


def late_and_held(
    follower: Follower,
    ledger: SampleLedger,
    refusals: Refusals,
    monkeypatch: pytest.MonkeyPatch,
    between_s: int = 0,
) -> TransactionReceipt:
    """A reverted call of an older block is explained late, and so queues behind a fact of a newer
    one that is refused.
    """
    with monkeypatch.context() as lagging:
        lagging.setattr(RevertedCalls, "round", lambda self: False)
        reverted = follower.deployed.buy(ledger[1], 500 * USDC)
        assert reverted.status == 0
        follower.catch_up()
        follower.deployed.rpc.call("evm_increaseTime", [between_s])
        refusals.add(buy(follower, ledger))
        follower.catch_up()
    follower.reverted_calls.round()
    return reverted


def test_a_reorg_of_the_bad_fact_alone__frees_what_only_waited_behind_it(
    follower: Follower,
    ledgers: Sequence[SampleLedger],
    refusals: Refusals,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = ledgers[0]
    late_and_held(follower, first, refusals, monkeypatch)
    assert reasons(follower, first) == ["database", "behind"]
    follower.deployed.anvil.reorg(1)
    refusals.drop()
    follower.catch_up()
    follower.retry_held()
    assert reasons(follower, first) == []
    buy(follower, first)
    follower.catch_up()
    assert (moves(follower, first), reasons(follower, first)) == (1, [])
    follower.assert_sound(*first)


@pytest.mark.slow
def test_a_reorg_of_the_first_fact_of_several__leaves_the_alert_until_the_record_is_whole(
    follower: Follower,
    ledgers: Sequence[SampleLedger],
    refusals: Refusals,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = ledgers[0]
    late_and_held(follower, first, refusals, monkeypatch)
    follower.deployed.anvil.reorg(1)
    follower.catch_up()
    assert [alert.withdrawn_at for alert in owner_alerts(follower)] == [None]
    follower.retry_held()
    assert [alert.withdrawn_at is None for alert in owner_alerts(follower)] == [False]


def test_a_gap__begins_at_the_lowest_block_that_is_held(
    follower: Follower,
    ledgers: Sequence[SampleLedger],
    refusals: Refusals,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was explained late stands behind a fact that came a week after it."""
    first = ledgers[0]
    late = late_and_held(follower, first, refusals, monkeypatch, between_s=8 * DAY_S)
    newer, older = held(follower.database, first[0].id)
    assert older.block_number == late.block_number < newer.block_number
    header = follower.deployed.reader.header(late.block_number)
    assert header is not None
    began_at = datetime.fromtimestamp(header.timestamp, UTC)
    with follower.database.read() as session:
        now = mandates_now(session, [first[0].id])[first[0].id]
        after = mandates_before(session, [first[0].id], began_at + timedelta(days=3))[first[0].id]
        before = mandates_before(session, [first[0].id], began_at)[first[0].id]
    assert now.short == ShortLedger(2, late.block_number, began_at)
    assert after.short == now.short
    assert before.short is None


@pytest.mark.slow
def test_a_gap_whose_lowest_block_is_not_kept__begins_at_a_time_that_nobody_knows(
    follower: Follower,
    ledgers: Sequence[SampleLedger],
    refusals: Refusals,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = ledgers[0]
    late = late_and_held(follower, first, refusals, monkeypatch)
    with follower.database.write() as session:
        session.execute(delete(RawLogRow).where(RawLogRow.number <= late.block_number))
        session.execute(delete(RevertedTx).where(RevertedTx.number <= late.block_number))
        session.execute(delete(ChainBlock).where(ChainBlock.number <= late.block_number))
    with follower.database.read() as session:
        now = mandates_now(session, [first[0].id])[first[0].id]
    assert now.short == ShortLedger(2, late.block_number, None)


def test_what_is_refused_by_the_code_of_this_process__is_tried_once(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals
) -> None:
    refusals.add(buy(follower, ledgers[0]))
    buy(follower, ledgers[0])
    follower.catch_up()
    tries = [[one.tries for one in held(follower.database, ledgers[0][0].id)]]
    for _ in range(2):
        follower.retry_held()
        tries.append([one.tries for one in held(follower.database, ledgers[0][0].id)])
    assert tries == [[1, 0], [2, 0], [2, 0]]


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: type(defect).__name__)
@pytest.mark.slow
def test_a_defect_in_the_writing_of_ledgers__fails_the_round_and_holds_no_ledger(
    follower: Follower,
    ledgers: Sequence[SampleLedger],
    monkeypatch: pytest.MonkeyPatch,
    defect: Exception,
) -> None:
    def broken(*rest: object) -> None:
        raise defect

    for ledger in ledgers:
        buy(follower, ledger)
    with monkeypatch.context() as patch:
        patch.setattr(mandate_ledger, "save", broken)
        with pytest.raises(type(defect)):
            follower.catch_up()
    follower.restart()
    follower.catch_up()
    assert [(reasons(follower, ledger), moves(follower, ledger)) for ledger in ledgers] == [
        ([], 1)
    ] * 3


UNREADABLE = {
    "a row without its fields": '{"row": {"kind": "move"}}',
    "a log without its fields": '{"log": {"topics": []}}',
    "no log": '{"log": 7}',
    "neither": "{}",
    "no JSON": "no JSON",
    "too deep": "[" * 100_000,
}


@pytest.mark.parametrize("fact", few([*UNREADABLE.values()], plain=1), ids=list(UNREADABLE))
def test_a_held_row_that_todays_code_cannot_read__keeps_no_other_ledger_from_being_tried(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals, fact: str
) -> None:
    first, second, _ = ledgers
    for ledger in (first, second):
        refusals.add(buy(follower, ledger))
    follower.catch_up()
    refusals.drop()
    with follower.database.write() as session:
        changed = text(
            "update quarantined_fact set fact = convert_to(:fact, 'UTF8') where ledger_id = :id"
        )
        session.execute(changed, {"fact": fact, "id": first[0].id})
    follower.retry_all()
    assert (reasons(follower, first), reasons(follower, second)) == (["domain"], [])


def test_a_defect_that_a_retry_meets__is_told_and_leaves_it_held(
    follower: Follower,
    ledgers: Sequence[SampleLedger],
    refusals: Refusals,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*rest: object) -> None:
        raise KeyError("usdc")

    refusals.add(buy(follower, ledgers[0]))
    follower.catch_up()
    refusals.drop()
    with monkeypatch.context() as patch:
        patch.setattr(mandate_ledger, "save", broken)
        [done] = follower.retry_all()
    assert done.refusal is not None
    assert (done.released, done.refusal.note) == (
        0,
        "This code fails on it (KeyError); see the log.",
    )
    [done] = follower.retry_all()
    assert (done.released, done.refusal) == (1, None)


@pytest.mark.slow
def test_a_ledger_on_which_the_database_times_out__keeps_no_other_from_being_tried(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals
) -> None:
    first, second, _ = ledgers
    refusals.add(slow := buy(follower, first))
    refusals.add(buy(follower, second))
    follower.catch_up()
    refusals.drop()
    refusals.add(slow, "57014")  # query_canceled, as by statement_timeout
    follower.retry_held()
    assert (reasons(follower, first), reasons(follower, second)) == (["database"], [])
    refusals.drop()
    follower.retry_held()
    assert reasons(follower, first) == []


def test_what_stays_held__is_tried_again_after_a_while(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals
) -> None:
    """A cause that was mended in the database needs no restart."""
    first, now = ledgers[0], now_utc()
    refusals.add(buy(follower, first))
    follower.catch_up()
    queues = HeldFacts(follower.chain, lambda: now)
    assert [one.released for one in queues.round()] == [0]
    refusals.drop()
    assert queues.round() == []
    now += TRY_AGAIN
    assert [one.released for one in queues.round()] == [1]


@pytest.mark.slow
def test_the_retry_of_a_long_queue__asks_for_all_times_at_once(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals
) -> None:
    first = ledgers[0]
    refusals.add(buy(follower, first, 1))
    for _ in range(60):
        follower.deployed.buy(first[1], 1)
    follower.catch_up()
    refusals.drop()
    with counted(follower.database) as sent:
        [done] = follower.retry_all()
    assert done.released == 61
    assert sum("chain_block.hash = ANY" in statement for statement in sent) == 1
    assert len(sent) < 40, sent
    follower.assert_sound(*first)
