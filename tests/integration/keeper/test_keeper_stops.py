"""The keeper on a real chain and a real database: it marks, it stops, and nothing that goes wrong
makes it stop late.
"""

import pytest

from core.db.leadership import LeadershipLostError
from core.hexes import hex_of
from core.mandate.chain.decode import decode_log
from core.mandate.rules.events import Marked, Stopped
from keeper.stop_rows import ENFORCE
from tests.integration.keeper.conftest import PRICE_AT_FLOOR, USDC, KilledError, Stage
from tests.integration.keeper.test_keeper_process import wait_until
from tests.personas import KEEPER, OWNER, STRANGER


def raw_of(stage: Stage) -> list[str]:
    return [hex_of(tx.raw) for tx in stage.txs()]


# The stop line


def test_price_falls_to_the_floor__one_call_stops_the_vault(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper()
    keeper.run()
    assert stage.status() == "stopped"
    assert stage.keeper_nonce() == 1
    (tx,) = stage.txs()
    assert bytes(stage.intents()[0].data) == ENFORCE
    events = [decode_log(log) for log in stage.receipt_of(tx).logs]
    (stopped,) = [event for event in events if isinstance(event, Stopped)]
    assert (stopped.by, stopped.worth, stopped.worth_known) == (KEEPER.address, 950 * USDC, True)


def test_price_one_step_above_the_floor__stops_nothing(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR + 1)
    stage.keeper().run()
    assert stage.status() == "working"
    assert stage.states() == [("mark", "mined")]


def test_two_ticks__make_one_transaction(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper()
    keeper.run()
    keeper.run()
    assert (stage.keeper_nonce(), len(keeper.wire.sent)) == (1, 1)
    assert stage.states() == [("stop", "mined")]


def test_stop__is_done_when_its_block_is_safe(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper()
    keeper.run()
    assert stage.states() == [("stop", "mined")]
    stage.make_safe()
    keeper.run()
    assert stage.states() == [("stop", "done")]


def test_a_key_that_is_not_the_keepers__stands_down__and_stops_as_anyone_may(stage: Stage) -> None:
    """Whoever is named may not run yet: a fall does not wait for that."""
    stage.set_price(1_100_000)  # a move of 1 %
    stranger = stage.keeper(signer=STRANGER.signer)
    report = stranger.run()
    assert (stage.states(), stranger.wire.sent, len(stage.marks())) == ([], [], 1)
    assert report.as_status("sending")["error"] == (
        "the factory names another keeper; this one marks nothing, and stops only what "
        "anyone may stop"
    )
    stage.set_price(PRICE_AT_FLOOR)
    stranger.run()
    assert (stage.states(), stage.status()) == ([("stop", "mined")], "stopped")
    assert bytes(stage.intents()[0].data) == ENFORCE


# Marks


def test_worth_moves_by_one_percent__one_mark_is_sent(stage: Stage) -> None:
    stage.set_price(1_100_000)  # 900 + 110 = 1010
    keeper = stage.keeper()
    keeper.run()
    stage.chain.anvil.mine()
    keeper.run()
    assert stage.states() == [("mark", "done")]
    (tx,) = stage.txs()
    assert Marked(1_010 * USDC, 0) in map(decode_log, stage.receipt_of(tx).logs)
    stage.chain.anvil.mine()
    keeper.run()
    assert len(keeper.wire.sent) == 1


def test_smaller_move__is_a_row_and_no_transaction(stage: Stage) -> None:
    stage.set_price(1_099_999)
    keeper = stage.keeper()
    keeper.run()
    keeper.run()
    assert keeper.wire.sent == []
    (row,) = stage.marks()
    assert (int(row.worth_usdc_e6 or 0), int(row.floor_usdc_e6), row.source) == (
        1_009_999_900,
        950 * USDC,
        "vault.worth",
    )


def test_dry_run__judges_and_sends_nothing(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    dry = stage.keeper(signer=None)
    report = dry.run()
    assert (report.actions, report.live_intents, stage.intents(), dry.wire.sent) == (1, 0, [], [])
    assert len(stage.marks()) == 1


# Killed at each point


@pytest.mark.parametrize("state", ["broadcast", "mined"])
def test_killed_after_each_commit__the_next_process_finishes_with_the_same_bytes(
    stage: Stage, state: str
) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    first = stage.keeper(die_after=state)
    with pytest.raises(KilledError):
        first.run()
    first.die()
    stored = raw_of(stage)
    second = stage.keeper()
    second.run()
    stage.make_safe()
    second.run()
    second.run()
    assert (stage.status(), stage.keeper_nonce(), stage.states()) == (
        "stopped",
        1,
        [("stop", "done")],
    )
    assert set(first.wire.sent + second.wire.sent) == set(stored) == set(raw_of(stage))


def test_killed_before_the_row_is_written__the_vault_is_stopped_and_nothing_is_sent_again(
    stage: Stage,
) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    first = stage.keeper()
    first.wire.kill_after_send = True
    with pytest.raises(KilledError):
        first.run()
    first.die()
    assert (stage.status(), stage.states()) == ("stopped", [])
    second = stage.keeper()
    second.run()
    assert (second.wire.sent, stage.states(), stage.keeper_nonce()) == ([], [], 1)


# The chain does not do as hoped


def test_block_of_the_stop_is_orphaned__the_same_bytes_go_out_again(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper()
    keeper.run()
    stage.chain.anvil.reorg(1)
    assert stage.status() == "working"
    keeper.run()
    keeper.run()
    assert stage.states() == [("stop", "mined")]
    stage.finish(keeper)
    assert (stage.status(), stage.states()) == ("stopped", [("stop", "done")])
    assert set(keeper.wire.sent) == set(raw_of(stage))
    assert len(stage.txs()) == 1


def test_nonce_used_elsewhere__the_stop_is_signed_again_at_the_next_one(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper()
    with stage.no_blocks():
        keeper.run()
        stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
    stage.chain.succeed(KEEPER, OWNER.address, "0x")
    with stage.no_blocks():
        for _ in range(2):
            stage.chain.anvil.mine()
            keeper.run()
        stage.chain.anvil.mine()
        keeper.run()
    assert (stage.status(), stage.states()) == ("stopped", [("stop", "mined")])
    assert [(tx.nonce, tx.state) for tx in stage.txs()] == [(0, "broadcast"), (1, "mined")]


# One leader


def test_second_keeper__cannot_lead_while_the_first_does(stage: Stage) -> None:
    first, second = stage.keeper(), stage.keeper()
    first.run()
    assert not second.leadership.try_take(stage.now())
    first.die()
    # the server notices the closed connection in its own time
    wait_until(lambda: second.leadership.try_take(stage.now()))
    assert second.leadership.epoch == 2


def test_old_leader_that_was_paused__stops_all_the_same_and_writes_nothing_else(
    stage: Stage,
) -> None:
    old, new = stage.keeper(), stage.keeper()
    old.run()
    _lose_lock(stage)
    new.run()
    stage.set_price(PRICE_AT_FLOOR)
    with pytest.raises(LeadershipLostError):
        old.tick.run(stage.now())
    assert (len(old.wire.sent), stage.status()) == (1, "stopped")
    assert stage.states() == [("stop", "broadcast")]
    new.die()
    third = stage.keeper()
    third.run()
    third.run()
    assert (third.wire.sent, stage.states()) == ([], [("stop", "mined")])


def _lose_lock(stage: Stage) -> None:
    """The database drops the connection that holds the lock; its process has not noticed yet."""
    with stage.database.write() as session:
        session.connection().exec_driver_sql(
            "select pg_terminate_backend(backend_pid) from leader where name = 'keeper'"
        )
