"""Nodes that contradict each other about a vault: a fall is stopped within a few blocks all the
same, and what a lie burns is bounded.
"""

from collections.abc import Callable
from contextlib import suppress

import pytest

from core.errors import OutsideError
from core.mandate.chain import calldata
from tests.integration.keeper import lies
from tests.integration.keeper.conftest import GWEI, PRICE_AT_FLOOR, USDC, KeeperProcess, Stage
from tests.integration.keeper.liars import Call, Lie, LyingWire, refused, together, trials_pass
from tests.integration.keeper.lies import THREE, TWO
from tests.integration.keeper.test_keeper_heads import Clock
from tests.personas import OWNER

# it says so, and that the stop passes
FALLEN = together(trials_pass(100_000), lies.view("worth", 0))
SOUND = lies.view("worth", 1_000 * USDC)
WORKS_AND_FELL = together(FALLEN, lies.view("status", 1))
WITHIN_TICKS = 20

pytestmark = pytest.mark.parametrize("paths", [TWO, THREE], ids=["two nodes", "three nodes"])


class Disputed:
    """A keeper of several nodes whose clocks go with the chain's. `lies` by path."""

    def __init__(self, stage: Stage, paths: tuple[str, ...], lies: dict[str, Lie]) -> None:
        self.stage = stage
        self.age = Clock()
        self.wire = LyingWire(lies)
        self.keeper: KeeperProcess = stage.keeper(paths=paths, wire=self.wire, age=self.age)

    def pass_time(self, seconds: int = 2) -> None:
        self.stage.pass_time(self.stage.chain.now + seconds)
        self.age.passed_s += seconds

    def run(self, ticks: int, until: Callable[[], bool] = lambda: False) -> int:
        """So many ticks, a block of two seconds after each, or fewer: how many it took."""
        for n in range(ticks):
            with suppress(OutsideError):
                self.keeper.run()
            self.pass_time()
            if until():
                return n + 1
        return ticks + 1

    def ticks_to_stop(self) -> int:
        return self.run(WITHIN_TICKS, lambda: self.stage.status() == "stopped")


@pytest.mark.slow
def test_a_node_claims_falls_to_prime_the_wait_and_then_hides_one__the_vault_is_stopped(
    stage: Stage, paths: tuple[str, ...]
) -> None:
    """Each claim without success makes the wait for the next one twice as long: for claims of that
    node alone.
    """
    disputed = Disputed(stage, paths, {"/a": FALLEN})
    for wait_s in (60, 120, 240):
        disputed.run(2)
        disputed.pass_time(wait_s)
    stage.set_price(PRICE_AT_FLOOR)
    disputed.wire.lies = {"/a": SOUND}
    assert disputed.ticks_to_stop() <= 3


@pytest.mark.parametrize("liar", [0, 1], ids=["preferred", "other"])
def test_a_node_claims_a_fall_and_then_hides_one__the_vault_is_stopped(
    stage: Stage, paths: tuple[str, ...], liar: int
) -> None:
    """Neither node rests for its word alone: the liar's would be all there is."""
    disputed = Disputed(stage, paths, {paths[liar]: FALLEN})
    disputed.run(1)
    stage.set_price(PRICE_AT_FLOOR)
    disputed.wire.lies = {paths[liar]: SOUND}
    assert disputed.ticks_to_stop() <= 3


@pytest.mark.parametrize("liar", [0, 1], ids=["preferred", "other"])
@pytest.mark.parametrize("lie", [SOUND, lies.view("status", 2)], ids=["sound", "stopped"])
def test_a_node_says_that_a_pending_stop_is_not_needed__it_stays(
    stage: Stage, paths: tuple[str, ...], liar: int, lie: Lie
) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    disputed = Disputed(stage, paths, {paths[liar]: lie})
    with stage.no_blocks():
        for _ in range(2):  # by the second one at the latest an honest node is asked first
            disputed.keeper.run()
        assert stage.states() == [("stop", "broadcast")]
        # what it pays is too little
        stage.chain.anvil.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(50 * GWEI)])
        disputed.pass_time()
        disputed.keeper.run()
        disputed.pass_time()
    assert not any(tx.is_filler for tx in stage.txs())
    assert stage.status() == "stopped"


def test_all_nodes_say_that_a_pending_stop_is_not_needed__its_nonce_is_filled(
    stage: Stage, paths: tuple[str, ...]
) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    disputed = Disputed(stage, paths, {})
    with stage.no_blocks():
        disputed.keeper.run()
        disputed.wire.lies = dict.fromkeys(paths, SOUND)
        stage.chain.anvil.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(50 * GWEI)])
        disputed.pass_time()
        disputed.keeper.run()
    assert stage.txs()[-1].is_filler


@pytest.mark.slow
def test_a_node_says_that_a_vault_which_ended_works_and_fell__few_stops_are_paid_for(
    stage: Stage, paths: tuple[str, ...]
) -> None:
    stage.chain.succeed(OWNER, stage.vault, calldata.stop("owner"))
    Disputed(stage, paths, {"/a": WORKS_AND_FELL}).run(12)
    assert len(stage.txs()) <= (1 if paths == TWO else 0)


@pytest.mark.slow
def test_a_node_says_that_a_vault_which_is_watched_no_more_fell__it_stays_so(
    stage: Stage, paths: tuple[str, ...]
) -> None:
    def names_no_safe_block(call: Call, _: Call) -> Call | None:
        return refused(call, "no safe block") if "safe" in call["params"] else None

    stage.chain.succeed(OWNER, stage.vault, calldata.stop("owner"))
    disputed = Disputed(stage, paths, {"/a": names_no_safe_block})
    disputed.keeper.run()
    stage.make_safe()
    stage.record("stopped")
    disputed.run(2)
    assert disputed.keeper.run().vaults == 0, "the others name one"
    disputed.wire.lies = {"/a": together(names_no_safe_block, WORKS_AND_FELL)}
    disputed.run(4)
    assert disputed.keeper.run().vaults == 0
    assert stage.txs() == []
