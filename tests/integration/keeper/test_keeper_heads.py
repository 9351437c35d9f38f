"""What one node says of the newest block: its time, its height. /a lies; the others, one or two,
are honest.
"""

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from core.errors import OutsideError
from keeper.witness import SILENT_S
from tests.integration.keeper import lies
from tests.integration.keeper.conftest import GWEI, PRICE_AT_FLOOR, USDC, KeeperProcess, Stage
from tests.integration.keeper.liars import Lie, LyingWire, together, trials_pass
from tests.integration.keeper.lies import THREE, TWO
from tests.integration.keeper.test_keeper_at_cost import out, rules, venue
from tests.personas import STRANGER

__all__ = ["out", "rules", "venue"]

BLOCK_S = 2
of_two_or_three = pytest.mark.parametrize("paths", [TWO, THREE], ids=["of two", "of three"])


class Clock:
    """Seconds that only rise, and go with the chain's."""

    def __init__(self) -> None:
        self.passed_s = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.passed_s


def blocks(
    stage: Stage,
    keeper: KeeperProcess,
    clock: Clock,
    count: int,
    until: Callable[[], bool] = lambda: False,
) -> int:
    """A tick and a block, so often or until that is so; answers how often."""
    for done in range(count):
        if until():
            return done
        with suppress(OutsideError):
            keeper.run()
        stage.pass_time(stage.chain.now + BLOCK_S)
        clock.passed_s += BLOCK_S
    return count


def ahead(seconds: int) -> Lie:
    return lies.head(
        lambda block: {**block, "timestamp": hex(int(block["timestamp"], 16) + seconds)}
    )


def higher(count: int) -> Lie:
    return lies.head(lambda block: {**block, "number": hex(int(block["number"], 16) + count)})


# Time


@pytest.mark.slow
@of_two_or_three
def test_a_head_ahead_of_time__leaves_no_node_alone_with_a_worth_of_nothing(
    stage: Stage, paths: tuple[str, ...]
) -> None:
    wire, clock = LyingWire({"/a": together(ahead(20), lies.view("worth", 0))}), Clock()
    keeper = stage.keeper(paths=paths, wire=wire, clock=clock)
    keeper.tick._observer.witnesses._clock = clock
    blocks(stage, keeper, clock, int(SILENT_S) // BLOCK_S + 3)
    assert stage.status() == "working"


@of_two_or_three
@pytest.mark.parametrize("seconds", [11, 20, 29])
def test_a_head_ahead_of_time__hides_no_fall(
    stage: Stage, paths: tuple[str, ...], seconds: int
) -> None:
    stage.set_price(PRICE_AT_FLOOR)
    wire, clock = (
        LyingWire({"/a": together(ahead(seconds), lies.view("worth", 1000 * USDC))}),
        Clock(),
    )
    assert (
        blocks(
            stage,
            stage.keeper(paths=paths, wire=wire),
            clock,
            4,
            lambda: stage.status() == "stopped",
        )
        < 4
    )


@of_two_or_three
def test_a_clock_that_is_late__silences_no_node(out: Stage, paths: tuple[str, ...]) -> None:
    """Only a mark stops at cost, and two nodes have to agree to it."""
    out.set_price(PRICE_AT_FLOOR)
    keeper = out.keeper(paths=paths, wire=LyingWire(dict.fromkeys(paths, ahead(20))))
    assert blocks(out, keeper, Clock(), 2, lambda: out.status() == "stopped") < 2


# Height


@pytest.mark.slow
@pytest.mark.parametrize("paths", [("/a",), TWO, THREE], ids=["alone", "of two", "of three"])
@pytest.mark.parametrize("stop_signer", [None, STRANGER.signer], ids=["one key", "a key for stops"])
def test_a_height_that_was_never_reached__keeps_no_stop_from_being_offered_again(
    stage: Stage, paths: tuple[str, ...], stop_signer: object
) -> None:
    """Said once, when the stop is signed; then the base fee rises."""
    stage.set_price(PRICE_AT_FLOOR)
    wire, clock = LyingWire({"/a": higher(10**6)}), Clock()
    keeper = stage.keeper(paths=paths, wire=wire, stop_signer=stop_signer)  # type: ignore[arg-type]
    with stage.no_blocks():
        keeper.run()
        wire.lies = {}
        for _ in range(12):
            stage.chain.anvil.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(40 * GWEI)])
            blocks(stage, keeper, clock, 1)
    assert stage.status() == "stopped"


@pytest.mark.parametrize("liar", TWO)
@pytest.mark.parametrize("count", [1_000, -300])
def test_another_height__gives_no_node_the_last_word_on_a_fall(
    stage: Stage, count: int, liar: str
) -> None:
    stage.chain.anvil.mine(400)
    stage.set_price(PRICE_AT_FLOOR)
    lie = together(higher(count), lies.view("worth", 1000 * USDC))
    keeper = stage.keeper(paths=TWO, wire=LyingWire({liar: lie}))
    assert blocks(stage, keeper, Clock(), 6, lambda: stage.status() == "stopped") < 6


@pytest.mark.slow
@of_two_or_three
@pytest.mark.parametrize(
    "lies_of_trials", [False, True], ids=["honest trials", "every trial passes"]
)
@pytest.mark.parametrize("count", [1_000, -300])
def test_another_height__bars_no_stop_at_cost_and_burns_one_at_most(
    out: Stage, paths: tuple[str, ...], count: int, lies_of_trials: bool
) -> None:
    """The contract takes a mark of the last 256 blocks alone."""
    out.chain.anvil.mine(400)
    out.set_price(PRICE_AT_FLOOR)
    lie = together(higher(count), trials_pass(100_000)) if lies_of_trials else higher(count)
    keeper = out.keeper(paths=paths, wire=LyingWire({"/a": lie}))
    assert blocks(out, keeper, Clock(), 6, lambda: out.status() == "stopped") < 6
    assert len(out.txs()) <= 2
