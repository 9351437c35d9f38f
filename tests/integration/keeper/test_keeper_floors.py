"""A vault whose floor the record does not have: its terms moved on, and nodes are asked. /a lies;
the others, one or two, are honest.
"""

import pytest
from sqlalchemy import select

from core.chain.abi import function
from core.mandate.tables import Mandate
from keeper.last_resort import FALLEN_S
from tests.integration.keeper.conftest import PRICE_AT_FLOOR, USDC, Stage
from tests.integration.keeper.liars import Call, Lie, LyingWire, refused, said
from tests.integration.keeper.lies import THREE, TWO, word
from tests.integration.keeper.test_keeper_apart import later
from tests.personas import DEPLOYER

STOP_FLOOR = function("MandateVault", "stopFloor").selector
of_two_or_three = pytest.mark.parametrize("paths", [TWO, THREE], ids=["of two", "of three"])


@pytest.fixture(autouse=True)
def without_a_floor(stage: Stage) -> None:
    with stage.database.write() as session:
        session.scalars(select(Mandate)).one().terms_digest = b"\7" * 32


def floor_is(usdc_e6: int | None) -> Lie:
    """None: refused."""

    def lie(call: Call, answer: Call) -> Call | None:
        if call["method"] != "eth_call" or call["params"][0]["data"] != STOP_FLOOR:
            return None
        return refused(call, "missing trie node") if usdc_e6 is None else said(call, word(usdc_e6))

    return lie


@of_two_or_three
def test_a_floor_too_high_told_once__costs_no_sound_vault_its_agent(
    stage: Stage, paths: tuple[str, ...]
) -> None:
    wire = LyingWire({"/a": floor_is(10**9 * USDC)})
    keeper = stage.keeper(paths=paths, wire=wire, pauser=DEPLOYER.signer, clock=stage.chain_clock)
    keeper.run()
    wire.lies = {}
    for _ in range(FALLEN_S // 20 + 2):
        later(stage, 20)
        keeper.run()
    assert int(stage.chain.reader.agent(stage.vault), 16) != 0
    assert len(stage.txs()) <= 1


@pytest.mark.slow
def test_a_floor_too_high_told_for_good__costs_no_sound_vault_its_agent(stage: Stage) -> None:
    wire = LyingWire({"/a": floor_is(10**9 * USDC)})
    keeper = stage.keeper(paths=TWO, wire=wire, pauser=DEPLOYER.signer, clock=stage.chain_clock)
    for _ in range(FALLEN_S // 20 + 2):
        keeper.run()
        later(stage, 20)
    assert int(stage.chain.reader.agent(stage.vault), 16) != 0


@of_two_or_three
@pytest.mark.parametrize("floor", [1, None], ids=["too low", "refused"])
@pytest.mark.parametrize("is_once", [True, False], ids=["once", "for good"])
def test_a_floor_that_is_not_true__hides_no_fall(
    stage: Stage, paths: tuple[str, ...], floor: int | None, is_once: bool
) -> None:
    keeper = stage.keeper(paths=paths, wire=(wire := LyingWire({"/a": floor_is(floor)})))
    keeper.run()
    wire.lies = {} if is_once else wire.lies
    stage.set_price(PRICE_AT_FLOOR)
    for _ in range(4):
        later(stage, 2)
        keeper.run()
    assert stage.status() == "stopped"


@pytest.mark.parametrize(
    "paths", [("/a",), TWO, (*TWO, "/c")], ids=["one node", "two nodes", "three nodes"]
)
def test_a_floor_that_the_nodes_agree_on__is_asked_once(
    stage: Stage, paths: tuple[str, ...]
) -> None:
    keeper = stage.keeper(paths=paths, wire=(wire := LyingWire({})))
    keeper.run()
    assert STOP_FLOOR in wire.views
    wire.views.clear()
    keeper.run()
    assert STOP_FLOOR not in wire.views
