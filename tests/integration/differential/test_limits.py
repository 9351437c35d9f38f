"""The same random sequences through MandateVault and through core.domain.mandate.limits: they must agree at every step.

Compared at each step: what `check` answers, error name and arguments; `remaining()`; the totals; and that a call which the
model lets pass is mined, and one that it refuses is not. A failing seed prints itself; `SEEDS=a..b` chooses others.
"""

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from core.chain import calldata
from core.chain.abi import hex_bytes
from core.chain.revert import decode_revert
from core.domain.mandate import limits
from core.domain.mandate.limits import DAY_S, Refused, VaultModel, VaultStatus, left_today_usdc_e6, window_frees_at
from core.domain.mandate.terms import ZERO_ADDRESS
from tests.integration.chain_fixtures import BUDGET, USDC, DeployedChain
from tests.personas import AGENT, DEPLOYER, OPERATOR, OWNER

STEPS = 60
WARPS = (1, 59, 3_600, 40_000, DAY_S - 1, DAY_S, DAY_S + 1)


def seeds() -> list[int]:
    first, _, last = os.environ.get("SEEDS", "1..3").partition("..")
    return list(range(int(first), int(last or first) + 1))


@dataclass
class Pair:
    """A vault on the chain and its model, moved together."""

    chain: DeployedChain
    vault: str
    model: VaultModel
    luck: random.Random
    price_e6: int = USDC
    units: int = 0
    compared: int = 0
    refusals: set[str] = field(default_factory=set)

    @property
    def adapter(self) -> str:
        return self.chain.contracts["test_venue_adapter"]

    # What is compared

    def compare(self, calls: Sequence[calldata.Call]) -> Refused | None:
        """The chain's answer and the model's to the agent's calls now; both must be the same."""
        self.chain.rpc.call("evm_mine", [])
        now = self.chain.now
        theirs = self.chain.reader.check(self.vault, calls)
        ours = limits.check_call(self.model, self.model.agent, [limits.Call(c.target, c.max_spend, hex_bytes(c.data)) for c in calls], now)
        decoded = decode_revert(theirs)
        found = None if not theirs else Refused(decoded.name, tuple(decoded.args.values())) if decoded else Refused("undecoded")
        assert found == ours, f"check says {found}, the model says {ours}"
        remaining = self.chain.reader.remaining(self.vault)
        assert (remaining.per_action, remaining.today, remaining.total, remaining.window_frees_at) == (
            self.model.per_tx_cap,
            left_today_usdc_e6(self.model.window, self.model.daily_cap, now),
            self.model.cash,
            window_frees_at(self.model.window, now) or 0,
        )
        totals = self.chain.reader.totals(self.vault)
        assert (totals.spent, totals.received) == (self.model.spent, self.model.received)
        self.compared += 1
        if ours is not None:
            self.refusals.add(ours.reason)
        return ours

    def act(self, calls: Sequence[calldata.Call], changes: Sequence[int], bought: Sequence[int]) -> None:
        """Compare, then send. `changes`: what each call does to the vault's USDC; `bought`: to the position, below 0 a sale.

        The venue refuses a purchase of less than a unit itself; such a call is compared and not sent.
        """
        self.compare(calls)
        if 0 in bought:
            return
        data = calldata.execute(calls[0]) if len(calls) == 1 else calldata.execute_batch(calls)
        receipt = self.chain.send(AGENT, self.vault, data)
        asked = [limits.Call(call.target, call.max_spend, hex_bytes(call.data)) for call in calls]
        after = limits.after_call(self.model, AGENT.address, asked, changes, self.chain.now)
        assert receipt.status == (1 if isinstance(after, VaultModel) else 0), f"mined with {receipt.status}, the model says {after}"
        if isinstance(after, VaultModel):
            self.model, self.units = after, self.units + sum(bought)

    # What happens

    def amount(self) -> int:
        """Around the caps and what the day leaves: exactly, one less, one more, or anything."""
        left = left_today_usdc_e6(self.model.window, self.model.daily_cap, self.chain.now)
        edges = [self.model.per_tx_cap, left, self.model.cash]
        return max(1, self.luck.choice([*(edge + step for edge in edges for step in (-1, 0, 1)), self.luck.randrange(1, 120 * USDC)]))

    def buy(self) -> None:
        amount = self.amount()
        self.act([self._buy(amount)], [-amount], [amount * USDC // self.price_e6])

    def buy_twice(self) -> None:
        first, second = self.amount() // 2 + 1, self.amount() // 2 + 1
        self.act([self._buy(first), self._buy(second)], [-first, -second], [one * USDC // self.price_e6 for one in (first, second)])

    def sell(self) -> None:
        if self.units:
            units = self.luck.randrange(1, self.units + 1)
            income = units * self.price_e6 // USDC
            self.act([calldata.Call(self.adapter, 0, calldata.venue_sell(units))], [income], [-units])

    def buy_and_sell(self) -> None:
        amount = self.amount()
        units = amount * USDC // self.price_e6
        calls = [self._buy(amount), calldata.Call(self.adapter, 0, calldata.venue_sell(max(units, 1)))]
        self.act(calls, [-amount, units * self.price_e6 // USDC], [units, -units])

    def stray(self) -> None:
        """A function that no rule names, at an allowed and at another target, and calls without a whole selector."""
        data = self.luck.choice(["0x", "0x12", "0x123456", "0x12345678", calldata.venue_buy(1)[:8], calldata.transfer(AGENT.address, 1)])
        target = self.luck.choice([self.adapter, self.chain.contracts["usdc"], OWNER.address])
        self.compare([calldata.Call(target, self.luck.choice([0, self.amount()]), data)])

    def ask_for_everything(self) -> None:
        self.compare([self._buy(2**256 - 1), self._buy(self.amount())])

    def wait(self) -> None:
        self.chain.rpc.call("evm_increaseTime", [self.luck.choice(WARPS)])
        self.compare([self._buy(self.amount())])

    def move_price(self) -> None:
        self.price_e6 = self.luck.choice([500_000, 999_999, 1_000_000, 1_000_001, 2_000_000])
        self.chain.succeed(OPERATOR, self.chain.contracts["test_venue"], calldata.set_price(self.price_e6))

    def pause_the_factory(self) -> None:
        name = "unpause()" if self.model.is_factory_paused else "pause()"
        self.chain.succeed(DEPLOYER, self.chain.contracts["factory"], calldata.call_by_signature(name, []))
        self.model = replace(self.model, is_factory_paused=not self.model.is_factory_paused)
        self.compare([self._buy(1)])

    def remove_or_set_the_agent(self) -> None:
        is_set = self.model.agent != ZERO_ADDRESS
        self.chain.succeed(OWNER, self.vault, calldata.remove_agent() if is_set else calldata.set_agent(AGENT.address))
        self.model = replace(self.model, agent=ZERO_ADDRESS if is_set else AGENT.address)
        self.compare([self._buy(1)])

    def end_it(self) -> None:
        """The last step: a stop, or the end date."""
        if self.luck.random() < 0.5:
            self.chain.succeed(OWNER, self.vault, calldata.stop("owner_stop"))
            self.model = replace(self.model, status=VaultStatus.STOPPED, stopped_at=self.chain.now, agent=ZERO_ADDRESS)
        else:
            self.chain.rpc.call("evm_setNextBlockTimestamp", [max(self.model.ends_at, self.chain.now + 1)])
        self.compare([self._buy(1)])

    def _buy(self, amount: int) -> calldata.Call:
        return calldata.Call(self.adapter, amount, calldata.venue_buy(min(amount, 2**255)))


def pair_of(chain: DeployedChain, luck: random.Random) -> Pair:
    terms = replace(
        chain.terms("m_4k2v7c3xqa"),
        per_tx_cap=luck.choice([1, 40, 100]) * USDC,
        daily_cap=luck.choice([100, 300]) * USDC,
        nonce=luck.getrandbits(60),
    )
    vault = chain.create_vault(terms)
    model = VaultModel(
        address=vault,
        status=VaultStatus.WORKING,
        agent=AGENT.address,
        budget=BUDGET,
        per_tx_cap=terms.per_tx_cap,
        daily_cap=terms.daily_cap,
        ends_at=terms.ends_at,
        rules=chain.rules(),
        deposited=BUDGET,
    )
    return Pair(chain, vault, model, luck)


@pytest.mark.parametrize("seed", seeds())
def test_contract_and_model__agree_at_every_step(deployed: DeployedChain, seed: int) -> None:
    pair = pair_of(deployed, random.Random(seed))
    common: list[Callable[[], None]] = [pair.buy, pair.buy, pair.buy, pair.buy_twice, pair.sell, pair.buy_and_sell, pair.wait, pair.wait]
    rare: list[Callable[[], None]] = [
        pair.stray,
        pair.ask_for_everything,
        pair.move_price,
        pair.pause_the_factory,
        pair.remove_or_set_the_agent,
    ]
    for _ in range(STEPS):
        pair.luck.choice(pair.luck.choice([common, common, common, rare]))()
        if pair.model.is_factory_paused and pair.luck.random() < 0.7:
            pair.pause_the_factory()
        if pair.model.agent == ZERO_ADDRESS and pair.luck.random() < 0.7:
            pair.remove_or_set_the_agent()
    pair.end_it()

    assert pair.compared >= STEPS // 2
    assert len(pair.refusals) >= 4, f"the sequence met too few limits: {sorted(pair.refusals)}"
