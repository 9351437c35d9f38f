"""One figure on every surface of a real stack: random calls, prices, marks and reports of a vault at
the test venue, an ERC-4626 vault, Uniswap's own pool and a venue without an adapter, and what read,
list, statement (JSON, CSV, PDF, of all), tools, Hall and close-all plan say of it;
tests/unit/core/mandate/rules/test_surfaces.py has more of them, faster.

`SEEDS=a..b` chooses histories.
"""

import csv
import io
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from eth_account import Account
from pypdf import PdfReader

from api.areas.hall.jobs import HallJob
from api.kernel.operation import Deps
from api.main import create_app
from core.chain.abi import call_by_signature
from core.db.engine import Database
from core.mandate.chain import calldata
from core.mandate.chain.calldata import VaultCall
from core.mandate.rules.weeks import week_of
from core.mandate.venues import test_venue
from core.money import usdc_e6_from_text as e6
from core.money import usdc_text
from tests.integration.api.conftest import BASE_URL, Clock
from tests.integration.api.in_process import AppClient
from tests.integration.api.mandates.stage import Stage, StageChain
from tests.integration.api.tools.conftest import call as call_tool
from tests.integration.chain_fixtures import BUDGET, USDC, DeployedChain
from tests.integration.chaos.seeds import Seeds
from tests.integration.indexer.conftest import Follower, follower, leadership  # noqa: F401 (fixtures)
from tests.integration.venue_fixtures import PRICE, with_market_adapter, with_pool
from tests.personas import AGENT, DEPLOYER, KEEPER, OPERATOR, OWNER, Persona

SEEDS = Seeds("surfaces", every_run="1..3", code=("api", "core", "indexer", "contracts"))
STEPS = 9
TAKE, GIVE = "take(uint256)", "give(uint256)"
ACTS = (
    *("buy", "sell", "price", "mark", "take", "give", "true report", "false report"),
    *("lend", "redeem", "rate", "swap", "swap back", "market"),
)


@pytest.fixture
def deployed(deployed: DeployedChain) -> DeployedChain:
    return with_pool(with_market_adapter(deployed))


@pytest.fixture
def stage(
    deps: Deps, deployed: DeployedChain, database: Database, clock: Clock, chain: StageChain
) -> Iterator[Stage]:
    clock.now = datetime.now(UTC)
    real = replace(deps, chain=deployed.reader, contracts=deployed.contracts)
    with AppClient(create_app(real), base_url=BASE_URL) as client:
        owner, agent = Account.from_key(OWNER.private_key), Account.from_key(AGENT.private_key)
        yield Stage(client, database, clock, chain, owner_wallet=owner, agent_wallet=agent).enter()


class Play:
    """One mandate with money at an adapter and at a venue that none values."""

    def __init__(self, stage: Stage, deployed: DeployedChain, follower: Follower) -> None:
        self.stage, self.deployed, self.follower = stage, deployed, follower
        self.adapter = deployed.contracts["test_venue_adapter"]
        self.lending = deployed.contracts["erc4626_adapter"]
        self.swaps = deployed.contracts["uniswap_v3_adapter"]
        self.adapters = [self.adapter, self.lending, self.swaps]
        self.venue = deployed.deploy("HostileVenue", deployed.contracts["usdc"])
        deployed.mint(self.venue, 1_000 * USDC)
        deployed.mint(OWNER.address, BUDGET)
        functions = [{"signature": TAKE}, {"signature": GIVE}]
        elsewhere = {"address": self.venue, "functions": functions, "unpinned": True}
        self.mandate_id = stage.signed(
            allowed_targets=[*self.adapters, elsewhere],
            payout_rule={"kind": "share_of_verified_gain", "bps": 1_000},
            stop_floor_bps=9_000,
            daily_cap_usdc="1000.000000",
        )
        call = stage.get(f"/mandates/{self.mandate_id}/deploy-call", stage.owner, fund="approve")
        for one in call["calls"]:
            deployed.succeed(OWNER, one["to"], one["data"])
        self.vault = call["vault_address"]
        self.newest: str | None = None
        self.elsewhere = 0  # at the venue without an adapter, at cost
        self.has_gifts = False  # it paid more than went there, which the Hall counts as no gain

    def act(self, name: str, amount: int) -> None:
        match name:
            case "buy":
                self._execute(self.adapter, amount, test_venue.buy(amount))
            case "sell":
                self._execute(self.adapter, 0, test_venue.sell(amount))
            case "take":
                if self._execute(self.venue, amount, call_by_signature(TAKE, [amount])):
                    self.elsewhere += amount
            case "give":
                if self._execute(self.venue, 0, call_by_signature(GIVE, [amount])):
                    self.has_gifts = self.has_gifts or amount > self.elsewhere
                    self.elsewhere = max(0, self.elsewhere - amount)
            case "price":
                price = test_venue.set_price(USDC * (50 + amount // USDC) // 100)
                self._send(OPERATOR, self.deployed.contracts["test_venue"], price)
            case "mark":
                self._send(KEEPER, self.vault, calldata.mark())
            case "true report" | "false report" if self.newest is not None:
                self._report(amount, is_true=name == "true report")
            case _:
                self._act_at_a_pool(name, amount)

    def _act_at_a_pool(self, name: str, amount: int) -> None:
        match name:
            case "lend":
                self._enter(self.lending, "deposit(uint256,uint256)", amount)
            case "redeem":
                self._leave(self.lending, "redeem(uint256,uint256)", amount)
            case "swap":
                self._enter(self.swaps, "buy(uint256,uint256)", amount)
            case "swap back":
                self._leave(self.swaps, "sell(uint256,uint256)", amount)
            case "rate":
                self._move_rate(amount)
            case "market":
                moved = call_by_signature("moveTo(uint256)", [PRICE * (97 + amount % 7) // 100])
                self._send(DEPLOYER, self.deployed.contracts["test_market"], moved)

    def _enter(self, adapter: str, signature: str, amount: int) -> None:
        self._execute(adapter, amount, call_by_signature(signature, [amount, 0]))

    def _leave(self, adapter: str, signature: str, amount: int) -> None:
        """A share of what is held there."""
        held = self.deployed.reader.adapter_readings([adapter], self.vault)[adapter].units or 0
        self._execute(adapter, 0, call_by_signature(signature, [held * (amount % 100) // 99, 0]))

    def _move_rate(self, amount: int) -> None:
        """The pool gains that, or loses it where it has as much."""
        at = self.deployed.contracts
        if amount % 2:
            self.deployed.mint(at["test_pool"], amount)
        else:
            self._send(DEPLOYER, at["test_pool"], call_by_signature("lose(uint256)", [amount]))

    def _execute(self, target: str, most: int, data: str) -> bool:
        tx_hash = self._send(AGENT, self.vault, calldata.execute(VaultCall(target, most, data)))
        self.newest = tx_hash or self.newest
        return tx_hash is not None

    def _send(self, sender: Persona, to: str, data: str) -> str | None:
        receipt = self.deployed.send(sender, to, data)
        return receipt.tx_hash if receipt.status else None

    def _report(self, amount: int, *, is_true: bool) -> None:
        body = {
            "kind": "buy",
            "amount_usdc": usdc_text(amount),
            "tx_hash": self.newest if is_true else f"0x{amount:064x}",
            "payload": {"target": self.adapter, "position": {"id": "p1", "name": "Units"}},
        }
        path = f"/mandates/{self.mandate_id}/events"
        answer = self.stage.call("POST", path, self.stage.agent, body)
        assert answer.status_code in (200, 201, 202), answer.text

    # What the surfaces say

    def check(self, *, is_measured: bool) -> None:
        self.follower.catch_up()
        stage, path = self.stage, f"/mandates/{self.mandate_id}"
        progress = stage.get(path, stage.owner)["progress"]
        worth, reserved = e6(progress["worth_est"]), e6(progress["agent_fee_reserved"])
        listed = [e6(it["worth_est"]) for it in progress["positions"] if it["worth_est"]]
        assert e6(progress["cash"]) + sum(listed) == worth
        if is_measured:
            assert (worth, e6(progress["at_cost"])) == self.deployed.reader.worth(self.vault)

        tool = call_tool(stage.client, "mandate_get", stage.agent, id=self.mandate_id)
        assert tool["structuredContent"]["progress"]["worth_est"] == progress["worth_est"]
        self._check_statements(progress, worth)
        self._check_hall(worth - reserved, e6(progress["at_cost"]))
        plan = stage.get(f"{path}/close-all-plan", stage.owner)
        self._check_plan(plan)
        assert plan["kept_at_venue"] == (e6(progress["at_cost"]) > 0)

    def _check_plan(self, plan: dict[str, Any]) -> None:
        """Each position is closed, for its value at the latest block less a hundredth."""
        found = self.deployed.reader.adapter_readings(self.adapters, self.vault)
        held = {adapter: one for adapter, one in found.items() if one.units}
        assert plan["closes"] == len(held)
        sold = [step for step in plan["steps"] if step["min_proceeds_usdc"] is not None]
        assert {one["adapter_address"]: one["min_proceeds_usdc"] for one in sold} == {
            adapter: usdc_text(one.worth_usdc_e6 * 99 // 100)
            for adapter, one in held.items()
            if adapter != self.adapter and one.worth_usdc_e6 is not None
        }

    def _check_statements(self, progress: dict[str, Any], worth: int) -> None:
        stage = self.stage
        week = week_of(stage.clock.now).label
        path = f"/mandates/{self.mandate_id}/statement"
        statement = stage.get(path, stage.owner, week=week)
        assert statement["worth"]["end"] == progress["worth_est"]
        assert statement["worth"]["at_cost"] == progress["at_cost"]
        made = e6(statement["result"]["realized"]) + e6(statement["result"]["estimated"])
        reserved = e6(progress["agent_fee_reserved"])
        assert made - reserved == e6(progress["fees"]["net_after_fees_est"]["value"])
        whole = stage.get("/me/statement", stage.owner, week=week)
        assert e6(whole["totals"]["testnet"]["worth"]["end"]) == worth

        file = stage.call("GET", path, stage.owner, week=week, format="csv").content.decode()
        figures = {line["name"]: line["value"] for line in csv.DictReader(io.StringIO(file))}
        assert figures["worth.end"] == progress["worth_est"]
        pdf = stage.call("GET", path, stage.owner, week=week, format="pdf").content
        pages = PdfReader(io.BytesIO(pdf)).pages
        text = " ".join(" ".join(page.extract_text() for page in pages).split())
        assert f"Worth at the end, est {progress['worth_est']}" in text

    def _check_hall(self, worth_after_fee: int, at_cost: int) -> None:
        """Until the end the Hall counts what no adapter values as lost."""
        HallJob(self.stage.database).run(self.stage.clock.now)
        path = f"/mandate-wallet/hall/{self.stage.agent_id}"
        answer = self.stage.client.get(path)
        window = answer.json()["agent"]["windows"]["since"]
        if not self.has_gifts:
            assert e6(window["net_usdc"]) == worth_after_fee - at_cost - BUDGET
        strip = self.stage.client.get(f"/mandate-wallet/agents/{self.stage.agent_id}/record")
        assert strip.json()["hall"]["trades"] == window["trades"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS.chosen())
def test_every_surface_says_what_the_vault_measures(
    seed: int, stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    dice, play = random.Random(seed), Play(stage, deployed, follower)
    for _ in range(STEPS):
        play.act(dice.choice(ACTS), dice.randint(1, 90) * USDC + dice.randint(0, 999_999))
        if dice.random() < 0.4:
            play.check(is_measured=False)
    play.act("mark", 0)
    play.check(is_measured=True)
