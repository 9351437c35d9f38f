"""What several nodes say of vaults, of which one is sick or lies: any node's lens stops a vault,
and what does not revert needs two.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from core.chain.abi import function
from core.chain.errors import RpcUnreachableError
from core.errors import OutsideError
from core.keeper import intents as rows
from core.keeper import views as watched_rows
from core.keeper.intents import add_ended
from core.keeper.tables import KeeperEnded
from core.mandate.chain import calldata
from core.mandate.tables import Mandate
from keeper.last_resort import UNKNOWN_S
from keeper.state import VaultReading
from keeper.tick import PRESENT_S
from tests.integration.keeper import liars, lies
from tests.integration.keeper.blocks import Clock
from tests.integration.keeper.conftest import PRICE_AT_FLOOR, USDC, KeeperProcess, Stage
from tests.integration.keeper.liars import Call, Lie, LyingWire, said, together
from tests.integration.keeper.lies import TWO
from tests.integration.keeper.test_keeper_apart import a_mark, later
from tests.personas import DEPLOYER, OWNER, STRANGER
from tests.slow import few

NEAR_FLOOR = 600_000  # 900 cash + 60: above the floor of 950, within 2 %
MOVED = 1_100_000  # a move of 1 %
MAX_HEAD_AGE_S = 10
HOUR_S = 3_600
SLOW_S = 4.0
STOP_FLOOR = function("MandateVault", "stopFloor").selector


class Stops:
    """Notes what is due, and sends nothing."""

    def __init__(self) -> None:
        self.due: list[VaultReading] = []

    def send(self, due: Sequence[VaultReading]) -> None:
        self.due += due

    def follow(self) -> None:
        pass

    def write(self) -> None:
        pass


def due_at(stage: Stage, keeper: KeeperProcess, ahead_s: int = 0) -> set[int]:
    """The nodes, by their place, whose lens calls for a stop in one tick of a machine whose clock is so wrong."""
    keeper.tick.watch.stops = stops = Stops()
    keeper.now = lambda: stage.now() + timedelta(seconds=ahead_s)
    with suppress(OutsideError):
        keeper.judge()
    assert {one.vault for one in stops.due} <= {stage.vault}
    return {keeper.rpc.names.index(one.node) for one in stops.due}


A, B = {0}, {1}
BOTH = A | B


def slow(call: Call, answer: Call) -> Call | None:
    if lies.is_lens(call):
        time.sleep(SLOW_S)
    return None


def another_chain(call: Call, answer: Call) -> Call | None:
    return said(call, "0x") if call["method"] == "eth_call" else None


# A stop


SICK: dict[str, Callable[[Stage], Lie]] = {
    "it has no head": lambda _: lies.head(lambda _: None),
    "its head has no base fee": lambda _: lies.head(lies.without_base_fee),
    "it refuses to say its head": lambda _: liars.refuses("eth_getBlockByNumber"),
    "it refuses every call": lambda _: liars.refuses("eth_call"),
    "it lacks the block": lambda _: liars.refuses("eth_call", message="header not found"),
    "it serves another chain": lambda _: another_chain,
    "it cannot say the worth": lambda _: lies.no_worth,
    "it says too much worth": lambda _: lies.worth(1_000 * USDC),
    "it says that the vault is stopped": lambda _: lies.status(2),
    "its lens never answers": lambda _: lies.hangs,
}
SICK_AND_RIGHT: dict[str, Callable[[Stage], Lie]] = {
    "its head stands still": lies.frozen,
    "its head is of tomorrow": lambda _: lies.ahead(86_400),
    "it names another keeper": lambda _: lies.another_keeper,
}


@pytest.mark.parametrize("sick", [0, 1], ids=["preferred", "other"])
def test_one_node_of_two_is_sick__the_other_ones_lens_calls_for_the_stop(
    stage: Stage, sick: int
) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    for name, lie in SICK.items():
        keeper = stage.keeper(paths=TWO, wire=LyingWire({TWO[sick]: lie(stage)}))
        assert due_at(stage, keeper) == {1 - sick}, name
        keeper.die()


@pytest.mark.parametrize("sick", [0, 1], ids=["preferred", "other"])
def test_one_node_of_two_is_sick__its_lens_calls_for_the_stop_all_the_same(
    stage: Stage, sick: int
) -> None:
    wire = LyingWire({})
    keeper = stage.keeper(paths=TWO, wire=wire)
    stage.set_price(PRICE_AT_FLOOR)
    for name, lie in SICK_AND_RIGHT.items():
        wire.lies = {TWO[sick]: lie(stage)}
        assert due_at(stage, keeper) == BOTH, name


def test_a_machines_clock_that_is_wrong__delays_no_stop(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper(paths=("/a",), wire=LyingWire({}))
    assert [due_at(stage, keeper, s) for s in (11, -11, HOUR_S, -HOUR_S)] == [A] * 4


def test_the_preferred_nodes_head_stands_still__the_other_one_is_read_first(stage: Stage) -> None:
    clock, wire = Clock(), LyingWire({})
    keeper = stage.keeper(paths=TWO, wire=wire, age=clock)
    keeper.run()
    wire.lies = {TWO[0]: lies.frozen(stage)}
    stage.set_price(MOVED)
    clock.passed_s += MAX_HEAD_AGE_S + 1
    assert not keeper.run().is_stale


@pytest.mark.parametrize("paths", [("/a",), TWO], ids=["one node", "two nodes"])
def test_a_head_that_stands_still__holds_back_marks_and_no_stop(
    stage: Stage, paths: tuple[str, ...]
) -> None:
    clock, wire = Clock(), LyingWire({})
    keeper = stage.keeper(paths=paths, wire=wire, age=clock)
    keeper.run()
    wire.lies = dict.fromkeys(paths, lies.frozen(stage))
    keeper.run()
    stage.set_price(MOVED)
    clock.passed_s += MAX_HEAD_AGE_S + 1
    report = keeper.run()
    assert (stage.states(), report.is_stale, report.head_age_s >= MAX_HEAD_AGE_S) == (
        [],
        True,
        True,
    )
    stage.set_price(PRICE_AT_FLOOR)
    assert due_at(stage, keeper) == set(range(len(paths)))


def test_a_node_that_answers_late__delays_the_other_by_a_second(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper(paths=TWO, wire=LyingWire({"/a": slow}))
    begun = time.monotonic()
    assert due_at(stage, keeper) == B
    assert time.monotonic() - begun < SLOW_S - 1


def test_one_node_that_answers_late__is_waited_for(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    assert due_at(stage, stage.keeper(paths=("/a",), wire=LyingWire({"/a": slow}))) == A


def test_no_node_answers__is_an_error_of_the_tick(stage: Stage) -> None:
    lie = liars.refuses("eth_getBlockByNumber")
    with pytest.raises(RpcUnreachableError):
        stage.keeper(paths=TWO, wire=LyingWire(dict.fromkeys(TWO, lie))).judge()


def test_a_head_from_after_the_end_of_a_vault__keeps_no_stop_back(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    wire = LyingWire({"/a": lies.ahead(stage.ends_at - stage.chain.now)})
    assert due_at(stage, stage.keeper(paths=TWO, wire=wire)) == BOTH


@pytest.mark.slow
def test_postgres_is_away__stops_go_on_by_the_vaults_of_the_tick_before(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = stage.keeper(paths=("/a",), wire=LyingWire({}))
    keeper.run()

    def lost(*_: object) -> None:
        raise OperationalError("select", {}, Exception("connection lost"))

    monkeypatch.setattr(watched_rows, "watched_vaults", lost)
    stage.set_price(PRICE_AT_FLOOR)
    keeper.tick.watch.stops = stops = Stops()
    with pytest.raises(OperationalError):
        keeper.tick.run(stage.now())
    assert [one.vault for one in stops.due] == [stage.vault]


# What does not revert


@pytest.mark.parametrize("liar", [0, 1], ids=["preferred", "other"])
def test_one_node_of_two_says_that_a_worth_moved__no_mark_is_sent(stage: Stage, liar: int) -> None:
    keeper = stage.keeper(paths=TWO, wire=LyingWire({TWO[liar]: lies.worth(1_020 * USDC)}))
    keeper.run()
    assert stage.states() == []
    stage.set_price(MOVED)
    keeper.run()
    assert [kind for kind, _ in stage.states()] == ["mark"]


def test_the_other_node_is_gone__marks_go_by_one_after_a_minute(stage: Stage) -> None:
    clock, wire = Clock(), LyingWire({})
    keeper = stage.keeper(paths=TWO, wire=wire, age=clock)
    keeper.run()
    wire.lies = {"/b": liars.refuses("eth_getBlockByNumber")}
    stage.set_price(MOVED)
    keeper.run()
    assert stage.states() == []
    clock.passed_s += PRESENT_S + 1
    stage.pass_time(stage.chain.now + 2)
    keeper.run()
    assert [kind for kind, _ in stage.states()] == ["mark"]


def test_one_node_of_two_cannot_value_the_vault__its_worth_is_known(stage: Stage) -> None:
    wire = LyingWire({"/a": lies.no_worth})
    keeper = stage.keeper(paths=TWO, wire=wire)
    assert keeper.run().unknown == 0
    wire.lies["/b"] = lies.no_worth
    assert keeper.run().unknown == 1


def agent(stage: Stage) -> int:
    return int(stage.chain.reader.agent(stage.vault), 16)


def unknown_for_long(stage: Stage, keeper: KeeperProcess) -> None:
    for _ in range(UNKNOWN_S // 20 + 2):
        later(stage, 20)
        keeper.run()


@pytest.mark.slow
def test_one_node_of_two_cannot_say_the_worth_for_long__the_agent_stays(stage: Stage) -> None:
    stage.set_price(NEAR_FLOOR)
    wire = LyingWire({})
    keeper = stage.keeper(paths=TWO, wire=wire, pauser=DEPLOYER.signer, clock=stage.chain_clock)
    keeper.run()
    wire.lies = {"/a": lies.no_worth}
    unknown_for_long(stage, keeper)
    assert agent(stage) != 0


@pytest.mark.parametrize("paths", few([("/a",), TWO], plain=1), ids=["one node", "two nodes"])
def test_a_worth_that_no_node_knows_for_long__removes_the_agent_near_the_floor(
    stage: Stage, paths: tuple[str, ...]
) -> None:
    stage.set_price(NEAR_FLOOR)
    keeper = stage.keeper(
        paths=paths, wire=LyingWire({}), pauser=DEPLOYER.signer, clock=stage.chain_clock
    )
    keeper.run()
    stage.chain.anvil.rpc.call(
        "anvil_setCode", [stage.chain.contracts["test_venue_adapter"], "0xfe"]
    )
    unknown_for_long(stage, keeper)
    assert (stage.status(), agent(stage)) == ("working", 0)


def test_unknown_before_this_process_began__counts_for_nothing(stage: Stage) -> None:
    """Known, unknown once, the keeper down for a quarter of an hour, and its first look fails."""
    stage.set_price(NEAR_FLOOR)
    with stage.database.write() as session:
        marks = [a_mark(stage, 960 * USDC), a_mark(stage, None, block_number=6)]
        rows.add_vault_marks(session, marks, stage.now())
    later(stage, UNKNOWN_S + 300)
    wire = LyingWire({"/a": lies.no_worth})
    stage.keeper(paths=("/a",), wire=wire, pauser=DEPLOYER.signer, clock=stage.chain_clock).run()
    assert agent(stage) != 0


def test_unknown_before_a_gap_in_the_ticks__counts_for_nothing(stage: Stage) -> None:
    stage.set_price(NEAR_FLOOR)
    with stage.database.write() as session:
        rows.add_vault_marks(session, [a_mark(stage, 960 * USDC)], stage.now())
    wire = LyingWire({"/a": lies.no_worth})
    keeper = stage.keeper(paths=("/a",), wire=wire, pauser=DEPLOYER.signer, clock=stage.chain_clock)
    keeper.run()
    later(stage, UNKNOWN_S)
    keeper.run()
    assert agent(stage) != 0


# What ended


def ended(stage: Stage) -> list[str]:
    with stage.database.read() as session:
        return [row.status for row in session.scalars(select(KeeperEnded))]


@pytest.mark.parametrize("status", [2, 3])
def test_a_node_that_says_that_it_ended__has_no_say_beside_one_that_does_not_or_the_record(
    stage: Stage, status: int
) -> None:
    lie = {"/a": lies.status(status)}
    keepers = [
        stage.keeper(paths=("/a",), wire=LyingWire(lie)),
        stage.keeper(paths=TWO, wire=LyingWire(lie)),
    ]
    keepers[0].run()
    keepers[0].die()
    stage.record("stopped" if status == 2 else "settled", rested=True)
    keepers[1].run()
    assert ended(stage) == []


def test_it_ended__the_record_has_said_so_for_an_hour_and_no_node_says_otherwise(
    stage: Stage,
) -> None:
    stage.chain.succeed(OWNER, stage.vault, calldata.stop("owner"))
    keeper = stage.keeper()
    keeper.run()
    stage.record("stopped")
    keeper.run()
    assert ended(stage) == []
    stage.record("stopped", rested=True)
    keeper.run()
    assert (ended(stage), keeper.run().vaults) == (["stopped"], 0)


def test_a_vault_that_was_said_to_have_ended__comes_back_when_the_record_calls_it_working(
    stage: Stage,
) -> None:
    with stage.database.write() as session:
        add_ended(session, stage.chain.chain_id, [(stage.vault, "stopped")], 1, stage.now())
        session.scalars(select(Mandate)).one().status = "stopped"
    keeper = stage.keeper()
    keeper.run()
    assert keeper.run().vaults == 0
    stage.record("working")
    keeper.run()
    assert keeper.run().vaults == 1


# The keeper's name


def test_a_node_that_names_another_keeper__makes_nobody_stand_down(stage: Stage) -> None:
    wire = LyingWire({"/a": lies.another_keeper})
    keeper = stage.keeper(paths=TWO, wire=wire)
    assert not keeper.run().is_stood_down
    wire.lies["/b"] = lies.another_keeper
    assert keeper.run().is_stood_down


def test_both_keys_stop__whichever_node_is_sick(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    lie = together(lies.hangs, lies.trials_revert)
    keeper = stage.keeper(paths=TWO, wire=LyingWire({"/a": lie}), stop_signer=STRANGER.signer)
    for _ in range(4):
        with suppress(OutsideError):
            keeper.run()
        stage.pass_time(stage.chain.now + 2)
    assert stage.status() == "stopped"
