"""The transfer ledger: four states, each the sum of its entries; facts once, reversals as
entries.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event, text

from core.db.engine import Database, WriteSession
from core.errors import InvalidParameterError
from core.transfers.ledger import writer as transfer_ledger
from core.transfers.ledger.verify import transfer_ledger_faults
from core.transfers.ledger.writer import NewTransfer
from core.transfers.rules import FourStates
from tests.integration.core.rows import CHAIN, NOW, add_account


def _in(key: str, amount: int, asset: str = "USDC") -> NewTransfer:
    return NewTransfer(
        kind="reported",
        base_key=key,
        chain_id=CHAIN,
        asset=asset,
        deltas=FourStates(idle_e6=amount),
        reported_by="agent",
        tx_hash="0x" + "cc" * 32,
    )


def _balance(session: WriteSession, account: int, asset: str = "USDC") -> FourStates:
    return transfer_ledger.load_balance(session, account, CHAIN, asset)


def test_post__a_fact_twice__counts_once(write: WriteSession) -> None:
    account = add_account(write, "agent")
    first, second = (transfer_ledger.post(write, account, _in("tx:1", 5), NOW) for _ in range(2))
    assert (first.is_new, second.is_new, second.id) == (True, False, first.id)
    assert _balance(write, account) == FourStates(idle_e6=5)
    assert transfer_ledger_faults(write, account) == []


def test_post__two_assets__have_balances_of_their_own(write: WriteSession) -> None:
    account = add_account(write, "agent")
    transfer_ledger.post(write, account, _in("tx:1", 5), NOW)
    transfer_ledger.post(write, account, _in("tx:2", 7, "USDT"), NOW)
    assert [_balance(write, account, asset).idle_e6 for asset in ("USDC", "USDT", "DAI")] == [
        5,
        7,
        0,
    ]


def test_post__more_out_than_in__is_shown_as_negative(write: WriteSession) -> None:
    account = add_account(write, "agent")
    transfer_ledger.post(write, account, _in("tx:1", -5), NOW)
    assert _balance(write, account) == FourStates(idle_e6=-5)


@pytest.mark.row("2.16 each state is the sum of a signed ledger")
def test_reverse__then_the_fact_again__is_the_next_incarnation(write: WriteSession) -> None:
    account = add_account(write, "agent")
    transfer_ledger.post(write, account, _in("tx:1", 5), NOW)
    assert transfer_ledger.reverse(write, {account: ["tx:1"]}, "reorg", NOW) == 1
    assert _balance(write, account) == FourStates()
    assert transfer_ledger.reverse(write, {account: ["tx:1"]}, "reorg", NOW) == 0
    again = transfer_ledger.post(write, account, _in("tx:1", 5), NOW)
    assert (again.incarnation, again.seq, again.is_new) == (2, 3, True)
    assert _balance(write, account) == FourStates(idle_e6=5)
    assert transfer_ledger_faults(write, account) == []


def test_post__from_eight_threads__leaves_no_gap_and_the_sum(database: Database) -> None:
    with database.write() as session:
        account = add_account(session, "agent")

    def report(number: int) -> None:
        with database.write() as session:
            transfer_ledger.post(session, account, _in(f"tx:{number}", 1), NOW)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(report, range(16)))
    with database.write() as session:
        assert _balance(session, account).idle_e6 == 16
        assert transfer_ledger_faults(session, account) == []


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            "update transfer_entry set idle_delta_e6 = 6 where seq = 1",
            "seq 1: its content does not give its row_hash",
        ),
        (
            "update transfer_entry set reverses_id = id where seq = 2",
            "seq 2: reverses seq 2, its payload says 1",
        ),
        (
            "update transfer_head set seq = 9",
            "head: it does not stand at the ledger's last row, seq 2",
        ),
        (
            "update transfer_balance set reserved_e6 = 1",
            f"balance: USDC on chain {CHAIN} is not the sum of its entries",
        ),
    ],
)
def test_verify__after_a_change_behind_the_triggers__names_it(
    write: WriteSession, change: str, named: str
) -> None:
    account = add_account(write, "agent")
    transfer_ledger.post(write, account, _in("tx:1", 5), NOW)
    transfer_ledger.reverse(write, {account: ["tx:1"]}, "reorg", NOW)
    write.execute(text("set local session_replication_role = replica"))
    write.execute(text(change))
    write.expire_all()
    assert named in transfer_ledger_faults(write, account)


def test_reverse_facts__of_many_ledgers__is_as_many_statements_as_of_one(
    write: WriteSession,
) -> None:
    counts = []
    for count in (1, 30):
        accounts = [add_account(write, "agent") for _ in range(count)]
        transfer_ledger.post_ledgers(
            write,
            {account: [_in(f"tx:{count}", 5), _in(f"other:{count}", 2)] for account in accounts},
            NOW,
        )
        sent: list[str] = []
        connection = write.connection()

        def note(_: Any, cursor: Any, statement: str, *rest: Any, sent: list[str] = sent) -> None:
            sent.append(statement)

        event.listen(connection, "before_cursor_execute", note)
        assert (
            transfer_ledger.reverse_facts(
                write, CHAIN, [("0x" + "cc" * 32, f"tx:{count}")], "reorg", NOW
            )
            == count
        )
        event.remove(connection, "before_cursor_execute", note)
        assert {_balance(write, account).idle_e6 for account in accounts} == {2}
        assert [
            fault for account in accounts for fault in transfer_ledger_faults(write, account)
        ] == []
        counts.append(len(sent))
    assert counts[0] == counts[1]


def test_post__a_payload_that_is_not_json__is_refused_and_the_transaction_goes_on(
    write: WriteSession,
) -> None:
    account = add_account(write, "agent")
    with pytest.raises(InvalidParameterError):
        transfer_ledger.post(write, account, replace(_in("tx:1", 5), payload={"share": 0.5}), NOW)
    assert transfer_ledger.post(write, account, _in("tx:2", 7), NOW).seq == 1
    assert transfer_ledger_faults(write, account) == []
