"""Money out at a venue that no adapter values: the public stop is off, and the keeper stops by a
worth at cost.

Budget 1000, floor 950: 850 cash, 100 units at the test venue, and 50 USDC at a venue of the owner's
choice. At a price of 0.5 the vault is worth 950 at cost: 850 + 50 + 50.
"""

from pathlib import Path

import pytest

from core.chain.abi_text import call_by_signature
from core.chain.reader import refusal_name
from core.chain.rpc import RpcRevertedError
from core.hexes import bytes_of, hex_of
from core.mandate.chain import calldata
from core.mandate.chain.calldata import VaultCall
from core.mandate.chain.decode import decode_log
from core.mandate.rules.events import Marked, Stopped
from core.mandate.rules.terms import UNPINNED, Rule, RuleKind
from core.selectors import selector_of
from keeper.metrics import KeeperMetrics
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.keeper.alerting import Keeping
from tests.integration.keeper.conftest import PRICE_AT_FLOOR, USDC, KeeperProcess, Stage
from tests.personas import AGENT, KEEPER, STRANGER
from tests.watching import AlertWatch, fires

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


def enforced(stage: Stage) -> str | None:
    """The error by which the vault refuses the public stop, which it must; None: an error that is
    not known.
    """
    with pytest.raises(RpcRevertedError) as refused:
        stage.chain.rpc.call(
            "eth_call",
            [
                {"from": STRANGER.address, "to": stage.vault, "data": calldata.enforce_stop_line()},
                "latest",
            ],
        )
    return refusal_name(refused.value.revert_data)


def test_a_keeper_that_the_factory_does_not_name__plans_no_stop_at_cost(out: Stage) -> None:
    out.set_price(PRICE_AT_FLOOR)
    stranger = out.keeper(signer=STRANGER.signer)
    stranger.run()
    assert (out.states(), stranger.wire.sent, out.status()) == ([], [], "working")


def test_worth_at_cost_falls_to_the_floor__the_keepers_mark_stops_what_nobody_else_can(
    out: Stage,
) -> None:
    out.set_price(PRICE_AT_FLOOR)
    assert enforced(out) == "WorthUnknown"
    report = out.keeper().run()
    (tx,) = out.txs()
    events = [decode_log(log) for log in out.receipt_of(tx).logs]
    (marked,) = [event for event in events if isinstance(event, Marked)]
    (stopped,) = [event for event in events if isinstance(event, Stopped)]
    assert out.status() == "stopped"
    assert marked.worth == 950 * USDC
    assert (stopped.by, stopped.worth) == (KEEPER.address, 950 * USDC)
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


def test_a_key_of_its_own_for_stops__is_not_chosen_for_one_at_cost(out: Stage) -> None:
    out.set_price(PRICE_AT_FLOOR)
    out.keeper(stop_signer=STRANGER.signer).run()
    (intent,) = out.intents()
    (tx,) = out.txs()
    assert (out.status(), intent.role, out.receipt_of(tx).sender) == (
        "stopped",
        "keeper",
        KEEPER.address,
    )


def test_money_goes_out_between_decision_and_signature__the_stop_is_read_again_at_cost(
    stage: Stage, venue: str
) -> None:
    """The agent can't turn the stop off by sending a base unit to a venue that nobody values."""
    stage.set_price(PRICE_AT_FLOOR - 1)

    def spend() -> None:
        stage.chain.succeed(AGENT, stage.vault, calldata.execute(VaultCall(venue, 1, take(1))))

    stage.keeper(before_signing=spend, stop_signer=STRANGER.signer).run()
    (intent,) = stage.intents()
    assert (stage.status(), intent.reason["source"], intent.role) == (
        "stopped",
        "vault.worth_at_cost",
        "keeper",
    )


def test_agent_that_makes_each_public_stop_revert__is_stopped_by_the_keepers_mark(
    stage: Stage, venue: str
) -> None:
    """In every block the agent takes a base unit out before `enforceStopLine` and brings it back
    after it.
    """
    stage.set_price(PRICE_AT_FLOOR - 1)
    sandwich(stage, venue, stage.keeper(stop_signer=STRANGER.signer), 4)
    first, second = stage.intents()[:2]
    assert (first.role, first.state) == ("stop", "reverted")
    assert second.role == "keeper"
    assert stage.status() == "stopped"


@pytest.mark.slow
def test_agent_that_makes_each_public_stop_revert__costs_a_keeper_that_stands_down_little(
    stage: Stage, venue: str
) -> None:
    """It has no other way, and ETH that other vaults may need."""
    stage.set_price(PRICE_AT_FLOOR - 1)
    keeper = stage.keeper(signer=STRANGER.signer, age=stage.chain_clock)
    sandwich(stage, venue, keeper, 12)
    assert [state for _, state in stage.states()] == ["reverted", "reverted", "planned"]
    stage.pass_time(stage.chain.now + 60)
    keeper.run()
    assert stage.status() == "stopped"


def sandwich(stage: Stage, venue: str, keeper: KeeperProcess, blocks: int) -> None:
    """The agent's two transactions stand before and after the keeper's in each of so many
    blocks.
    """
    give = call_by_signature("give(uint256)", [1])
    around = ((VaultCall(venue, 1, take(1)), 500 * GWEI), (VaultCall(venue, 0, give), 1))
    with stage.no_blocks():
        for _ in range(blocks):
            keeper.run()
            nonce = stage.chain.reader.transaction_count(AGENT.address)
            for n, (call, tip_wei) in enumerate(around if stage.status() == "working" else ()):
                stage.chain.rpc.call(
                    "eth_sendRawTransaction",
                    [signed_by_agent(stage, calldata.execute(call), nonce + n, tip_wei)],
                )
            stage.chain.anvil.mine(1)


def signed_by_agent(stage: Stage, data: str, nonce: int, tip_wei: int) -> str:
    transaction = {
        "chainId": stage.chain.chain_id,
        "nonce": nonce,
        "to": stage.vault,
        "data": data,
        "value": 0,
        "gas": 500_000,
        "maxFeePerGas": max(tip_wei, GWEI),
        "maxPriorityFeePerGas": tip_wei,
    }
    return hex_of(AGENT.signer.sign_transaction(transaction))


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


def test_worth_at_cost__is_cash_plus_the_adapters_value_plus_what_was_spent_at_the_venue(
    out: Stage,
) -> None:
    answer = out.chain.rpc.call(
        "eth_call", [{"to": out.vault, "data": selector_of("worthAtCost()")}, "latest"]
    )
    words = bytes_of(answer)
    assert (int.from_bytes(words[:32]), int.from_bytes(words[32:])) == (1_000 * USDC, OUT)


@pytest.mark.slow
@fires("VaultsAtCostWithoutSpareKeeper")
def test_money_is_at_cost_and_no_spare_runs__somebody_is_asked_for(
    out: Stage, watch: AlertWatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alert, keeping = "VaultsAtCostWithoutSpareKeeper", Keeping(out, watch, tmp_path, monkeypatch)
    with keeping.keeper() as keeper:
        keeping.tick(keeper)
        keeping.scrape()
        spare = KeeperMetrics(lambda: 0.0).registry
        watch.scrape(spare, at=keeping.now().timestamp(), instance="spare", beside=True)
        assert not keeping.fires(alert, 400)
        keeping.passed_s += 10
        keeping.scrape()  # of this one alone: the spare is gone
        assert not keeping.fires(alert, 290)
        assert keeping.fires(alert, 310)
