"""The keeper on a real chain and a real database: it marks, it stops, and nothing that goes wrong
makes it send twice.
"""

import pytest

from core.db.leadership import LeadershipLostError
from core.hexes import hex_of
from core.mandate.chain import calldata
from core.mandate.chain.decode import decode_log
from core.mandate.rules.events import Marked, Stopped
from keeper.intents import ENFORCE
from tests.integration.keeper.conftest import PRICE_AT_FLOOR, USDC, KilledError, Stage
from tests.integration.keeper.test_keeper_process import wait_until
from tests.personas import KEEPER, OWNER, STRANGER


def raw_of(stage: Stage) -> list[str]:
    return [hex_of(tx.raw) for tx in stage.txs()]


# The stop line


def test_price_falls_to_the_floor__one_mark_stops_the_vault_in_its_own_transaction(
    stage: Stage,
) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper()
    keeper.run()
    assert stage.status() == "stopped"
    assert stage.keeper_nonce() == 1
    (tx,) = stage.txs()
    events = [decode_log(log) for log in stage.receipt_of(tx).logs]
    (marked,) = [event for event in events if isinstance(event, Marked)]
    (stopped,) = [event for event in events if isinstance(event, Stopped)]
    assert marked.worth == 950 * USDC
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


def test_stop__is_safe_when_its_block_is_and_done_when_the_record_has_it(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper()
    keeper.run()
    assert stage.states() == [("stop", "mined")]
    stage.make_safe()
    report = keeper.run()
    assert (stage.states(), report.live_intents) == ([("stop", "safe")], 1)
    stage.record("stopped")
    report = keeper.run()
    assert (stage.states(), report.live_intents) == ([("stop", "done")], 0)


def test_vault_recovers_before_the_signature__nothing_is_sent(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper(before_signing=lambda: stage.set_price(1_000_000))
    keeper.run()
    assert stage.states() == [("stop", "superseded")]
    assert keeper.wire.sent == []
    assert stage.status() == "working"


def test_owner_stops_first__the_keepers_stop_is_superseded(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper(
        before_signing=lambda: (
            stage.chain.succeed(OWNER, stage.vault, calldata.stop("owner")) and None
        )
    )
    keeper.run()
    assert (stage.states(), keeper.wire.sent) == ([("stop", "superseded")], [])


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


@pytest.mark.parametrize("state", ["signed", "mined"])
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
    stage.finish(second)
    assert (stage.status(), stage.keeper_nonce(), stage.states()) == (
        "stopped",
        1,
        [("stop", "done")],
    )
    assert first.wire.sent + second.wire.sent == stored == raw_of(stage)


def test_killed_when_the_node_has_it_and_the_row_does_not_say_so__sends_the_same_bytes_and_stops_once(
    stage: Stage,
) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    first = stage.keeper()
    first.wire.kill_after_send = True
    with pytest.raises(KilledError):
        first.run()
    first.die()
    assert stage.states() == [("stop", "signed")]
    second = stage.keeper()
    second.run()
    stage.finish(second)
    assert (stage.status(), stage.keeper_nonce(), stage.states()) == (
        "stopped",
        1,
        [("stop", "done")],
    )
    assert set(first.wire.sent + second.wire.sent) == set(raw_of(stage))


def test_killed_after_planning__the_next_process_signs_the_numbers_of_its_own_time(
    stage: Stage,
) -> None:
    stage.set_price(PRICE_AT_FLOOR)

    def die() -> None:
        raise KilledError

    first = stage.keeper(before_signing=die)
    with pytest.raises(KilledError):
        first.run()
    first.die()
    stage.set_price(PRICE_AT_FLOOR - 100_000)
    stage.keeper().run()
    assert stage.intents()[0].reason["worth_usdc"] == "940.000000"
    assert stage.status() == "stopped"


# The chain does not do as hoped


def test_block_of_the_stop_is_orphaned__the_same_bytes_go_out_again(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper()
    keeper.run()
    stage.chain.anvil.reorg(1)
    assert stage.status() == "working"
    keeper.run()
    assert stage.states() == [("stop", "mined")]
    stage.finish(keeper)
    assert (stage.status(), stage.states()) == ("stopped", [("stop", "done")])
    assert set(keeper.wire.sent) == set(raw_of(stage))
    assert len(stage.txs()) == 1


def test_nonce_used_elsewhere__is_lost_and_a_new_stop_is_sent(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    first = stage.keeper(die_after="signed")
    with pytest.raises(KilledError):
        first.run()
    first.die()
    stage.chain.succeed(KEEPER, OWNER.address, "0x")
    second = stage.keeper()
    second.run()
    assert (stage.states(), second.wire.sent) == ([("stop", "nonce_lost")], [])
    second.run()
    assert stage.states() == [("stop", "nonce_lost"), ("stop", "mined")]
    assert (stage.status(), [tx.state for tx in stage.txs()]) == ("stopped", ["lost", "mined"])


# One leader


def test_second_keeper__cannot_lead_while_the_first_does(stage: Stage) -> None:
    first, second = stage.keeper(), stage.keeper()
    first.run()
    assert not second.leadership.try_take(stage.now())
    first.die()
    # the server notices the closed connection in its own time
    wait_until(lambda: second.leadership.try_take(stage.now()))
    assert second.leadership.epoch == 2


def test_old_leader_that_was_paused__is_refused_and_sends_nothing(stage: Stage) -> None:
    old, new = stage.keeper(), stage.keeper()
    old.run()
    _lose_lock(stage)
    new.run()
    stage.set_price(PRICE_AT_FLOOR)
    with pytest.raises(LeadershipLostError):
        old.tick.run(stage.now())
    assert old.wire.sent == []
    new.run()
    assert (stage.status(), len(new.wire.sent)) == ("stopped", 1)


def _lose_lock(stage: Stage) -> None:
    """The database drops the connection that holds the lock; its process has not noticed yet."""
    with stage.database.write() as session:
        session.connection().exec_driver_sql(
            "select pg_terminate_backend(backend_pid) from leader where name = 'keeper'"
        )


def test_a_turn_of_stops_of_which_none_can_be_signed__is_a_sign_of_the_tick(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    stage.chain.anvil.rpc.call("anvil_setBalance", [KEEPER.address, "0x0"])
    keeper, signs = stage.keeper(), list[str]()
    sender = keeper.tick._sender
    sender._sign = lambda: signs.append("sign")  # type: ignore[union-attr]
    assert keeper.leadership.try_take(stage.now())
    keeper.tick.run(stage.now())
    assert (stage.states(), stage.txs()) == ([("stop", "planned")], [])
    assert len(signs) == 2, "the turn at once, and again when everything else was done"
