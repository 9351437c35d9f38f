"""Money out at a venue that no adapter values counts at cost: by that worth the keeper marks, and
anyone stops.

Budget 1000, floor 950: 850 cash, 100 units at the test venue, and 50 USDC at a venue of the owner's
choice. At a price of 0.5 the vault is worth 950 at cost: 850 + 50 + 50.
"""

import pytest

from core.chain.abi import call_by_signature
from core.mandate.chain import calldata
from core.mandate.chain.calldata import VaultCall
from core.mandate.chain.decode import decode_log
from core.mandate.rules.events import Stopped
from core.mandate.rules.terms import UNPINNED, Rule, RuleKind
from core.selectors import selector_of
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.keeper.conftest import PRICE_AT_FLOOR, USDC, Stage
from tests.personas import AGENT, KEEPER, STRANGER

OUT = 50 * USDC
GWEI = 10**9


def take(amount: int) -> str:
    return call_by_signature("take(uint256)", [amount])


@pytest.fixture
def venue(deployed: DeployedChain) -> str:
    return deployed.deploy("HostileVenue", deployed.contracts["usdc"])


@pytest.fixture
def rules(deployed: DeployedChain, venue: str) -> tuple[Rule, ...]:
    listed = [
        Rule(venue, selector_of("take(uint256)"), UNPINNED, RuleKind.SPEND),
        Rule(venue, selector_of("give(uint256)"), UNPINNED, RuleKind.EXIT),
    ]
    return tuple(
        sorted([*deployed.rules(), *listed], key=lambda rule: (int(rule.target, 16), rule.selector))
    )


@pytest.fixture
def out(stage: Stage, venue: str) -> Stage:
    """The stage with money at the venue."""
    stage.chain.succeed(AGENT, stage.vault, calldata.execute(VaultCall(venue, OUT, take(OUT))))
    return stage


def test_a_keeper_that_the_factory_does_not_name__stops_at_cost_as_anyone_may(out: Stage) -> None:
    out.set_price(PRICE_AT_FLOOR)
    out.keeper(signer=STRANGER.signer).run()
    (tx,) = out.txs()
    (stopped,) = [e for e in map(decode_log, out.receipt_of(tx).logs) if isinstance(e, Stopped)]
    assert (out.status(), stopped.by) == ("stopped", STRANGER.address)
    assert (stopped.worth, stopped.unvalued_out) == (950 * USDC, OUT)


def test_worth_at_cost_falls_to_the_floor__the_stop_names_the_part(
    out: Stage,
) -> None:
    out.set_price(PRICE_AT_FLOOR)
    report = out.keeper().run()
    (tx,) = out.txs()
    events = [decode_log(log) for log in out.receipt_of(tx).logs]
    (stopped,) = [event for event in events if isinstance(event, Stopped)]
    assert out.status() == "stopped"
    assert (stopped.by, stopped.worth, stopped.unvalued_out) == (KEEPER.address, 950 * USDC, OUT)
    assert (report.unknown, report.at_cost) == (0, 1)


def test_worth_at_cost_one_step_above_the_floor__is_a_mark_and_no_stop(out: Stage) -> None:
    out.set_price(PRICE_AT_FLOOR + 1)
    out.keeper().run()
    assert (out.status(), out.states()) == ("working", [("mark", "mined")])


def test_rows_of_a_stop_at_cost__say_that_it_is_at_cost(out: Stage) -> None:
    out.set_price(PRICE_AT_FLOOR)
    out.keeper().run()
    (intent,) = out.intents()
    (row,) = out.marks()
    assert intent.reason["source"] == row.source == "vault.worth_at_cost"


def test_dry_run__judges_at_cost_and_sends_nothing(out: Stage) -> None:
    out.set_price(PRICE_AT_FLOOR)
    dry = out.keeper(signer=None)
    report = dry.run()
    (row,) = out.marks()
    assert (report.actions, report.at_cost, row.source, dry.wire.sent) == (
        1,
        1,
        "vault.worth_at_cost",
        [],
    )


def test_all_came_home__the_worth_is_the_vaults_own_again(out: Stage, venue: str) -> None:
    keeper = out.keeper()
    keeper.run()
    out.chain.succeed(
        AGENT,
        out.vault,
        calldata.execute(VaultCall(venue, 0, call_by_signature("give(uint256)", [OUT]))),
    )
    report = keeper.run()
    assert [row.source for row in out.marks()] == ["vault.worth_at_cost", "vault.worth"]
    assert report.at_cost == 0


def test_worth__is_cash_plus_the_adapters_value_plus_what_was_spent_at_the_venue(
    out: Stage,
) -> None:
    assert out.chain.reader.worth(out.vault) == (1_000 * USDC, OUT)
