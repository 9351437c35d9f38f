"""One sick or lying node of several: no word of one node decides what cannot be taken back, and
none stays preferred for ever.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest
from sqlalchemy import select

from core.errors import OutsideError
from core.keeper import intents as rows
from core.keeper.intents import add_ended
from core.keeper.tables import KeeperEnded
from core.mandate.chain import calldata
from keeper.last_resort import FALLEN_S, UNKNOWN_S
from tests.integration.keeper import liars, lies
from tests.integration.keeper.conftest import PRICE_AT_FLOOR, USDC, KeeperProcess, Stage
from tests.integration.keeper.liars import Lie, LyingWire, said
from tests.integration.keeper.lies import TWO
from tests.integration.keeper.test_keeper_apart import a_mark, later
from tests.personas import DEPLOYER, KEEPER, OWNER, STRANGER
from tests.slow import few

WITHIN_S = 15.0
NEAR_FLOOR = 600_000  # 900 cash + 60: above the floor of 950, within 2 %

SICK: dict[str, Callable[[Stage], Lie]] = {
    "its head stands still": lies.frozen,
    "it has no head": lambda _: lies.head(lambda _: None),
    "its head has no base fee": lambda _: lies.head(lies.without_base_fee),
    "it refuses to say its head": lambda _: liars.refuses("eth_getBlockByNumber"),
    "its head is of tomorrow": lambda _: lies.head(
        lambda block: {**block, "timestamp": hex(int(block["timestamp"], 16) + 86_400)}
    ),
    "it refuses every call": lambda _: liars.refuses("eth_call"),
    "it lacks the block": lambda _: liars.refuses("eth_call", message="header not found"),
    "its trials revert": lambda _: lies.trials_revert,
    "it names another keeper": lambda _: lies.another_keeper,
    "it cannot say the worth": lambda _: lies.view_refused("worth"),
    "it says too much worth": lambda _: lies.view("worth", 1_000 * USDC),
    "it says that the vault is stopped": lambda _: lies.view("status", 2),
}


def run(keeper: KeeperProcess, stage: Stage, ticks: int) -> None:
    for _ in range(ticks):
        with suppress(OutsideError):
            keeper.run()
        stage.pass_time(stage.chain.now + 2)


@pytest.mark.parametrize(
    "stop_signer", few([None, STRANGER.signer], plain=1), ids=["one key", "a key for stops"]
)
@pytest.mark.parametrize("name", SICK)
@pytest.mark.parametrize("sick", few(["a", "b"], plain=1), ids=["preferred", "other"])
def test_one_node_of_two_is_sick__the_vault_is_stopped(
    stage: Stage, sick: str, name: str, stop_signer: object
) -> None:
    wire = LyingWire({f"/{sick}": SICK[name](stage)})
    stage.pass_time(stage.chain.now + 15)
    stage.set_price(PRICE_AT_FLOOR)
    run(stage.keeper(paths=TWO, wire=wire, stop_signer=stop_signer), stage, 4)  # type: ignore[arg-type]
    assert stage.status() == "stopped"


def test_the_preferred_node_stands_still__the_other_is_asked_in_the_same_tick(stage: Stage) -> None:
    wire = LyingWire({"/a": lies.frozen(stage)})
    stage.pass_time(stage.chain.now + 15)
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper(paths=TWO, wire=wire)
    keeper.run()
    assert stage.status() == "stopped"
    assert keeper.rpc.stats()[0].failures == {"distrust: stale": 1}


# Nothing is done that cannot be undone


@pytest.mark.parametrize("stop_signer", [None, STRANGER.signer], ids=["one key", "a key for stops"])
@pytest.mark.parametrize("worth", few([0, 950 * USDC], 1))
def test_one_node_of_two_says_too_little_worth__nothing_is_stopped(
    stage: Stage, worth: int, stop_signer: object
) -> None:
    keeper = stage.keeper(
        paths=TWO, wire=LyingWire({"/a": lies.view("worth", worth)}), stop_signer=stop_signer
    )  # type: ignore[arg-type]
    run(keeper, stage, 5)
    assert (stage.status(), stage.txs()) == ("working", [])
    assert "distrust: contradicts" in keeper.rpc.stats()[0].failures


@pytest.mark.slow
def test_one_node_of_two_says_that_money_is_out_at_a_loss__nothing_is_stopped(stage: Stage) -> None:
    lie = lies.view("worth", 900 * USDC, at_cost=USDC)
    run(stage.keeper(paths=TWO, wire=LyingWire({"/a": lie})), stage, 5)
    assert (stage.status(), stage.txs()) == ("working", [])


@pytest.mark.slow
def test_a_node_whose_every_word_says_fallen__costs_one_failed_stop_and_not_one_a_block(
    stage: Stage,
) -> None:
    def lie(call: liars.Call, answer: liars.Call) -> liars.Call | None:
        if call["method"] == "eth_estimateGas":
            return said(call, hex(100_000))
        if call["method"] == "eth_call" and "from" in call["params"][0]:
            return said(call, "0x")
        return lies.view("worth", 0)(call, answer)

    run(stage.keeper(paths=TWO, wire=LyingWire({"/a": lie})), stage, 12)
    assert (stage.status(), len(stage.txs())) == ("working", 1)


def agent(stage: Stage) -> int:
    return int(stage.chain.reader.agent(stage.vault), 16)


@pytest.mark.slow
def test_one_node_of_two_cannot_say_the_worth_for_long__the_agent_stays(stage: Stage) -> None:
    stage.set_price(NEAR_FLOOR)
    wire = LyingWire({})
    keeper = stage.keeper(paths=TWO, wire=wire, pauser=DEPLOYER.signer, clock=stage.chain_clock)
    keeper.run()
    wire.lies = {"/a": lies.view_refused("worth")}
    for _ in range(UNKNOWN_S // 20 + 2):
        later(stage, 20)
        assert keeper.run().unknown == 0
    assert agent(stage) != 0


@pytest.mark.parametrize("worth", few([None, 0], plain=1))
def test_one_node_of_two_insists_that_no_stop_helps__the_agent_stays(
    stage: Stage, worth: int | None
) -> None:
    """The other one is at hand and says how it is."""
    stage.set_price(NEAR_FLOOR)
    lie = lies.view_refused("worth") if worth is None else lies.view("worth", worth)
    keeper = stage.keeper(
        paths=TWO, wire=LyingWire({"/a": lie}), pauser=DEPLOYER.signer, clock=stage.chain_clock
    )
    for _ in range(UNKNOWN_S // 20 + 2):
        keeper.run()
        later(stage, 20)
    assert agent(stage) != 0


def test_unknown_before_this_process_began__counts_for_nothing(stage: Stage) -> None:
    """Known, unknown once, the keeper down for a quarter of an hour, and its first look fails."""
    stage.set_price(NEAR_FLOOR)
    with stage.database.write() as session:
        rows.add_vault_marks(
            session, [a_mark(stage, 960 * USDC), a_mark(stage, None, block_number=6)], stage.now()
        )
    later(stage, UNKNOWN_S + 300)
    wire = LyingWire({"/a": lies.view_refused("worth")})
    stage.keeper(paths=("/a",), wire=wire, pauser=DEPLOYER.signer, clock=stage.chain_clock).run()
    assert agent(stage) != 0


def test_unknown_before_a_gap_in_the_ticks__counts_for_nothing(stage: Stage) -> None:
    stage.set_price(NEAR_FLOOR)
    with stage.database.write() as session:
        rows.add_vault_marks(session, [a_mark(stage, 960 * USDC)], stage.now())
    wire = LyingWire({"/a": lies.view_refused("worth")})
    keeper = stage.keeper(paths=("/a",), wire=wire, pauser=DEPLOYER.signer, clock=stage.chain_clock)
    keeper.run()
    later(stage, UNKNOWN_S)
    keeper.run()
    assert agent(stage) != 0


def test_a_clock_that_is_set_right_between_two_ticks__removes_no_agent(stage: Stage) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    keeper = stage.keeper(pauser=DEPLOYER.signer)
    stage.chain.anvil.rpc.call("anvil_setBalance", [KEEPER.address, "0x0"])
    late = stage.now() - timedelta(seconds=FALLEN_S + 40)
    assert keeper.leadership.try_take(late)
    keeper.tick.run(late)
    later(stage, 1)
    keeper.tick.run(stage.now())
    assert agent(stage) != 0


@pytest.mark.parametrize("paths", few([("/a",), TWO], plain=1), ids=["one node", "two nodes"])
def test_a_worth_that_no_node_answers_in_time__removes_the_agent_near_the_floor(
    stage: Stage, paths: tuple[str, ...]
) -> None:
    """The status is still told."""
    wire = LyingWire({})
    stage.set_price(NEAR_FLOOR)
    keeper = stage.keeper(paths=paths, wire=wire, pauser=DEPLOYER.signer, clock=stage.chain_clock)
    keeper.run()
    wire.lies = {path: lies.hangs_at("worth") for path in paths}
    for _ in range(UNKNOWN_S // 20 + 1):
        later(stage, 20)
        keeper.run()
    until = time.monotonic() + WITHIN_S
    # what timed out just now is left alone for a second or two
    while agent(stage) and time.monotonic() < until:
        time.sleep(0.5)
        later(stage, 1)
        keeper.run()
    assert (stage.status(), agent(stage)) == ("working", 0)


# What ended


def ended(stage: Stage) -> list[str]:
    with stage.database.read() as session:
        return [row.status for row in session.scalars(select(KeeperEnded))]


@pytest.mark.parametrize("status", [2, 3])
def test_one_node_of_two_says_that_it_ended__it_is_watched_all_the_same(
    stage: Stage, status: int
) -> None:
    stage.make_safe()
    wire = LyingWire({"/a": lies.view("status", status)})
    keeper = stage.keeper(paths=TWO, wire=wire)
    for _ in range(3):
        keeper.run()
        stage.make_safe()
    assert ended(stage) == []


def test_a_node_whose_safe_block_is_its_newest__lets_no_vault_drop_out_that_a_reorg_brings_back(
    stage: Stage,
) -> None:
    def lie(call: liars.Call, answer: liars.Call) -> liars.Call | None:
        """Everything at `safe` is answered as of `latest`."""
        if "safe" not in call["params"]:
            return None
        params = ["latest" if param == "safe" else param for param in call["params"]]
        return said(call, stage.chain.anvil.rpc.call(call["method"], params))

    keeper = stage.keeper(paths=TWO, wire=LyingWire({"/a": lie}))
    keeper.run()
    stage.chain.succeed(OWNER, stage.vault, calldata.stop("owner"))
    keeper.run()
    stage.chain.anvil.reorg(1)
    stage.chain.anvil.rpc.call("anvil_dropAllTransactions")
    stage.set_price(PRICE_AT_FLOOR)
    keeper.run()
    assert (ended(stage), stage.status()) == ([], "stopped")


def test_a_vault_that_was_said_to_have_ended_and_works__comes_back(stage: Stage) -> None:
    with stage.database.write() as session:
        add_ended(session, stage.chain.chain_id, [(stage.vault, "stopped")], 1, stage.now())
    keeper = stage.keeper()
    assert keeper.run().vaults == 0
    assert keeper.run().vaults == 1


@pytest.mark.slow
def test_one_absurd_height__is_not_the_newest_judgement_for_ever(stage: Stage) -> None:
    wire = LyingWire({"/a": lies.head(lambda block: {**block, "number": hex(2**58)})})
    keeper = stage.keeper(paths=TWO, wire=wire)
    keeper.run()
    wire.lies = {}
    for _ in range(10):
        later(stage, 60)
        keeper.run()
    assert len(stage.marks()) == 11, "one a minute"
    stage.set_price(800_000)  # 980: moved by 2 %
    for _ in range(5):
        later(stage, 1)
        keeper.run()
    assert len(stage.marks()) == 12, "one for the move"
