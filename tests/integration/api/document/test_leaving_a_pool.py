"""How an owner leaves an ERC-4626 vault on a real chain: the least that a sale may bring, and what the
pool does not pay.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from core.chain.abi import call_by_signature
from core.mandate.chain import calldata
from core.mandate.chain.calldata import VaultCall
from tests.integration.api.document.live import Live
from tests.integration.api.mandates.stage import reason
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.integration.venue_fixtures import with_pool
from tests.personas import AGENT, DEPLOYER, OWNER

LENT = 100 * USDC
SHARES = LENT * 10**6  # at the pool's first rate


@pytest.fixture
def deployed(deployed: DeployedChain) -> DeployedChain:
    """With a pool that can fail, and its adapter in the list."""
    return with_pool(deployed)


@dataclass
class Lent:
    """A working mandate that has lent 100 USDC to the pool."""

    live: Live
    mandate_id: str
    vault: str

    @property
    def adapter(self) -> str:
        return self.live.deployed.contracts["erc4626_adapter"]

    def pool(self, signature: str, *arguments: Any) -> None:
        at, data = self.live.deployed.contracts, call_by_signature(signature, arguments)
        self.live.send(DEPLOYER, {"to": at["test_pool"], "data": data})

    def plan(self, **query: Any) -> dict[str, Any]:
        return self.live.owners(self.mandate_id, "close-all-plan", **query)

    def step(self, **query: Any) -> dict[str, Any]:
        """The one step about the position."""
        (found,) = [one for one in self.plan(**query)["steps"] if one["type"] == "unwind"]
        return found

    def unwind_call(self, **body: Any) -> dict[str, Any]:
        path = f"/mandates/{self.mandate_id}/unwind-call"
        return self.live.stage.post(path, self.live.stage.owner, {"adapter": self.adapter, **body})

    def stop(self) -> None:
        self.live.send_owners(self.mandate_id, "stop-call")

    def redeem_data(self, least: int) -> str:
        data = call_by_signature("redeem(uint256,uint256)", [SHARES, least])
        return calldata.unwind([VaultCall(self.adapter, 0, data)])


@pytest.fixture
def lent(live: Live) -> Lent:
    mandate_id, vault = live.working()
    found = Lent(live, mandate_id, vault)
    deposit = call_by_signature("deposit(uint256,uint256)", [LENT, 0])
    call = calldata.execute(VaultCall(found.adapter, LENT, deposit))
    live.send(AGENT, {"to": vault, "data": call})
    return found


def test_plan__sells_for_the_worth_less_one_percent(lent: Lent) -> None:
    step = lent.step()
    assert (step["min_proceeds_usdc"], step["withdrawable_now_usdc"]) == (
        "99.000000",
        "100.000000",
    )
    assert step["data"] == lent.redeem_data(99 * USDC)
    assert lent.plan()["exit_allowance_bps"] == 100


def test_plan__with_an_allowance__uses_it_and_all_of_it_is_any_price(lent: Lent) -> None:
    assert lent.step(exit_allowance_bps=250)["data"] == lent.redeem_data(97_500_000)
    assert lent.step(exit_allowance_bps=10_000)["data"] == lent.redeem_data(0)


def test_plan__with_an_allowance_above_the_whole__is_refused(lent: Lent) -> None:
    path, stage = f"/mandates/{lent.mandate_id}/close-all-plan", lent.live.stage
    answer = stage.call("GET", path, stage.owner, exit_allowance_bps=10_001)
    assert reason(answer) == (400, "invalid_parameter")
    assert "exit_allowance_bps" in answer.text


def test_plans_sale__below_its_minimum__reverts(lent: Lent) -> None:
    step = lent.step()
    lent.stop()
    lent.pool("lose(uint256)", 2 * USDC)
    lent.live.send(OWNER, step, succeeds=False)
    lent.live.send(OWNER, lent.step())


def test_unwind_call__takes_the_owners_minimum_down_to_0(lent: Lent) -> None:
    assert lent.unwind_call()["min_proceeds_usdc"] == "99.000000"
    chosen = lent.unwind_call(min_usdc="0")
    assert (chosen["min_proceeds_usdc"], chosen["data"]) == ("0.000000", lent.redeem_data(0))


def test_unwind_call__above_what_the_pool_pays__is_checked_to_revert(lent: Lent) -> None:
    built = lent.unwind_call(min_usdc="100.000001")
    assert (built["check"]["ok"], built["check"]["reason"]) == (False, "UnderMinOut")


def test_unwind_call__with_a_minimum_where_the_exit_takes_none__is_refused(lent: Lent) -> None:
    lent.live.execute(lent.mandate_id, "buy(uint256)", 40)
    path = f"/mandates/{lent.mandate_id}/unwind-call"
    body = {"adapter": "test_venue", "min_usdc": "1"}
    answer = lent.live.stage.call("POST", path, lent.live.stage.owner, body)
    assert reason(answer) == (400, "invalid_parameter")
    assert "takes no minimum" in answer.text


def test_pool_that_does_not_say_its_rate__leaves_the_minimum_to_the_owner(lent: Lent) -> None:
    lent.stop()
    lent.pool("setSilent(bool)", True)
    step = lent.step()
    assert (step["reason"], step["data"], step["call"]) == ("minimum_needed", None, None)
    assert lent.unwind_call()["reason"] == "minimum_needed"
    assert lent.step(exit_allowance_bps=10_000)["data"] == lent.redeem_data(0)
    lent.live.send(OWNER, lent.unwind_call(min_usdc="99.5"))


def test_pool_that_pays_nobody__is_a_part_that_waits_with_its_release(lent: Lent) -> None:
    lent.stop()
    lent.pool("setPaused(bool)", True)
    plan = lent.plan()
    step = plan["steps"][0]
    assert (step["action"], step["reason"], step["withdrawable_now_usdc"]) == (
        "keep",
        "waits_at_venue",
        "0.000000",
    )
    assert (plan["closes"], plan["kept_at_venue"]) == (0, 1)
    lent.live.send(OWNER, step["release_call"])
    held = lent.live.deployed.reader.view(
        "MockUSDC", "balanceOf", lent.live.deployed.contracts["test_pool"], "latest", lent.vault
    )
    assert held == SHARES
