"""USDC has frozen the treasury: sponsoring is off and says why, purchases with one's own gas go on."""

import pytest

from core.chain.abi import call_by_signature
from tests.integration.api.sponsored.conftest import TREASURY, USDC, SponsoredStage
from tests.integration.api.sponsored.test_sponsored_refusals import told
from tests.personas import DEPLOYER

SAYS = "no fee can reach the treasury"


@pytest.fixture
def stage(stage: SponsoredStage) -> SponsoredStage:
    """USDC has the code of one that freezes; what it holds stays."""
    freezable = stage.chain.deploy("FreezableUSDC")
    code = stage.chain.rpc.call("eth_getCode", [freezable, "latest"])
    stage.chain.rpc.call("anvil_setCode", [stage.chain.contracts["usdc"], code])
    return stage


def freeze(stage: SponsoredStage, account: str, *, frozen: bool = True) -> None:
    data = call_by_signature("setFrozen(address,bool)", [account, frozen])
    stage.chain.succeed(DEPLOYER, stage.chain.contracts["usdc"], data)
    stage.index()
    stage.pass_time(5)  # what the node said is kept for so long
    stage.index()
    stage.processes[0].run()
    stage.tell_time()


def config(stage: SponsoredStage) -> dict[str, object]:
    return dict(stage.client.get("/reserve/config").json())


def test_a_frozen_treasury__turns_sponsoring_off_with_a_reason_and_no_purchase(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    assert config(stage)["sponsor_enabled"] is True
    freeze(stage, TREASURY)

    said = config(stage)
    assert said["sponsor_enabled"] is False
    assert str(said["sponsor_reason"]).startswith(SAYS)
    refusal, calls = told(stage.prepare(agent), "sponsor_unavailable")
    assert SAYS in refusal
    assert [one["path"] for one in calls] == ["/reserve/config"]

    before = stage.tokens(DEPLOYER.address)
    stage.buy_beside(10 * USDC, DEPLOYER)
    assert stage.tokens(DEPLOYER.address) > before

    freeze(stage, TREASURY, frozen=False)
    assert config(stage)["sponsor_enabled"] is True
    assert stage.prepare(agent).status_code == 200


def test_a_treasury_frozen_after_the_quote__takes_no_hand_in_and_sends_nothing(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.prepared(agent)
    freeze(stage, TREASURY)
    refusal, _ = told(stage.hand_in(agent, stage.signed(quote)), "sponsor_unavailable")
    assert SAYS in refusal


def test_a_treasury_frozen_after_the_hand_in__burns_no_gas_and_the_purchase_is_the_buyers(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.bought(agent)
    data = call_by_signature("setFrozen(address,bool)", [TREASURY, True])
    stage.chain.succeed(DEPLOYER, stage.chain.contracts["usdc"], data)
    sponsor = stage.processes[0]
    sponsor.run()
    stage.index()
    assert sponsor.wire.sent == []
    assert stage.tokens(stage.buyer.address) == 0
    assert stage.usdc(stage.buyer.address) == 1_000 * USDC
    assert stage.state(agent, quote)["state"] == "accepted"


def test_a_fee_that_was_paid_before__its_purchase_is_taken_all_the_same(
    stage: SponsoredStage, agent: dict[str, str]
) -> None:
    quote = stage.prepared(agent)
    body = stage.signed(quote)
    stage.submit_fee_alone(quote, body)
    freeze(stage, TREASURY)
    assert stage.hand_in(agent, body).status_code == 202
