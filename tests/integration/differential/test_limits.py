"""The same random sequences through MandateVault and through core.mandate.rules.limits: they must
agree at every step.

Compared at each step: what `check` answers, error name and arguments; `remaining()`; the totals,
money that no adapter values among them; and that a call which the model lets pass is mined, and one
that it refuses is not. Beside the test venue and its adapter stands a venue without one, which
takes a part of its allowance, returns change and pays out in one call. A failing seed prints
itself; `SEEDS=a..b` chooses others.
"""

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from core.chain.abi import call_by_signature, decode_revert
from core.chain.errors import RpcRevertedError
from core.chain.reader import refusal_name
from core.errors import SettleGraceError
from core.hexes import bytes_of
from core.mandate.chain import calldata
from core.mandate.chain.typed_data import rules_hash
from core.mandate.rules import limits
from core.mandate.rules.lifecycle import StoppedBy, VaultStatus, check_stop
from core.mandate.rules.limits import (
    DAY_S,
    Effect,
    LimitRefusal,
    VaultModel,
    left_today_usdc_e6,
    window_frees_at,
)
from core.mandate.rules.terms import UNPINNED, ZERO_ADDRESS, Rule, RuleKind
from core.mandate.venues import test_venue
from core.selectors import selector_of
from tests.integration.chain_fixtures import BUDGET, USDC, DeployedChain
from tests.personas import AGENT, DEPLOYER, OPERATOR, OWNER, Persona

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
    venue: str  # a HostileVenue: no adapter values what is there
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

    def compare(self, calls: Sequence[calldata.VaultCall]) -> LimitRefusal | None:
        """The chain's answer and the model's to the agent's calls now; both must be the same."""
        self.chain.rpc.call("evm_mine", [])
        now = self.chain.now
        theirs = self.chain.reader.check(self.vault, calls)
        ours = limits.check_call(
            self.model,
            self.model.agent,
            [limits.ProposedCall(c.target, c.max_spend, bytes_of(c.data)) for c in calls],
            now,
        )
        decoded = decode_revert(theirs)
        found = (
            None
            if not theirs
            else LimitRefusal(decoded.name, tuple(decoded.args.values()))
            if decoded
            else LimitRefusal("undecoded")
        )
        assert found == ours, f"check says {found}, the model says {ours}"
        remaining = self.chain.reader.remaining(self.vault)
        assert (
            remaining.per_action,
            remaining.today,
            remaining.total,
            remaining.window_frees_at,
        ) == (
            self.model.per_tx_cap,
            left_today_usdc_e6(self.model.window, self.model.daily_cap, now),
            self.model.cash,
            window_frees_at(self.model.window, now) or 0,
        )
        totals = self.chain.reader.totals(self.vault)
        assert (totals.spent, totals.received, totals.unvalued_out) == (
            self.model.spent,
            self.model.received,
            self.model.unvalued_out,
        )
        self.compared += 1
        if ours is not None:
            self.refusals.add(ours.reason)
        return ours

    def act(
        self,
        calls: Sequence[calldata.VaultCall],
        effects: Sequence[Effect],
        bought: Sequence[int] = (),
    ) -> None:
        """Compare, then send.

        `effects`: what each call does to allowance and balance; `bought`: to the position, below 0
        a sale.

        The venue refuses a purchase of less than a unit itself; such a call is compared and not
        sent.
        """
        self.compare(calls)
        if 0 in bought:
            return
        data = calldata.execute(calls[0]) if len(calls) == 1 else calldata.execute_batch(calls)
        receipt = self.chain.send(AGENT, self.vault, data)
        asked = [
            limits.ProposedCall(call.target, call.max_spend, bytes_of(call.data)) for call in calls
        ]
        after = limits.after_call(self.model, AGENT.address, asked, effects, self.chain.now)
        assert receipt.status == (1 if isinstance(after, VaultModel) else 0), (
            f"mined with {receipt.status}, the model says {after}"
        )
        if isinstance(after, VaultModel):
            self.model, self.units = after, self.units + sum(bought)

    # What happens

    def amount(self) -> int:
        """Around the caps and what the day leaves: exactly, one less, one more, or anything."""
        left = left_today_usdc_e6(self.model.window, self.model.daily_cap, self.chain.now)
        edges = [self.model.per_tx_cap, left, self.model.cash]
        return max(
            1,
            self.luck.choice(
                [
                    *(edge + step for edge in edges for step in (-1, 0, 1)),
                    self.luck.randrange(1, 120 * USDC),
                ]
            ),
        )

    def buy(self) -> None:
        amount = self.amount()
        self.act([self._buy(amount)], [took(amount)], [amount * USDC // self.price_e6])

    def buy_twice(self) -> None:
        first, second = self.amount() // 2 + 1, self.amount() // 2 + 1
        self.act(
            [self._buy(first), self._buy(second)],
            [took(first), took(second)],
            [one * USDC // self.price_e6 for one in (first, second)],
        )

    def sell(self) -> None:
        if self.units:
            units = self.luck.randrange(1, self.units + 1)
            income = units * self.price_e6 // USDC
            self.act(
                [calldata.VaultCall(self.adapter, 0, test_venue.sell(units))],
                [gave(income)],
                [-units],
            )

    def buy_and_sell(self) -> None:
        amount = self.amount()
        units = amount * USDC // self.price_e6
        calls = [
            self._buy(amount),
            calldata.VaultCall(self.adapter, 0, test_venue.sell(max(units, 1))),
        ]
        self.act(calls, [took(amount), gave(units * self.price_e6 // USDC)], [units, -units])

    def take_a_part(self) -> None:
        """A call whose target takes less than it may, down to nothing."""
        amount = self.amount()
        taken = self.luck.randrange(0, amount + 1)
        self.act([self._at_venue(amount, "take(uint256)", taken)], [took(taken)])

    def take_and_return_change(self) -> None:
        """Down to a balance that did not move, and beyond: income hides what was taken."""
        amount = self.amount()
        taken, back = (
            self.luck.randrange(0, amount + 1),
            self.luck.choice([0, 1, amount // 3, amount, amount + USDC]),
        )
        self.act(
            [self._at_venue(amount, "takeAndGive(uint256,uint256)", taken, back)],
            [Effect(taken, back - taken)],
        )

    def take_more_than_allowed(self) -> None:
        """The token refuses it: nothing happens, whatever the limits say."""
        amount = self.amount()
        call = self._at_venue(amount, "take(uint256)", amount + 1)
        self.compare([call])
        assert self.chain.send(AGENT, self.vault, calldata.execute(call)).status == 0

    def exit(self) -> None:
        """Free as it must be, or with a maxSpend, alone or behind a call that no rule allows."""
        income = self.luck.randrange(0, 60 * USDC)
        max_spend = self.luck.choice([0, 0, 0, 1, self.amount()])
        call = self._at_venue(max_spend, "give(uint256)", income)
        self.act([call], [gave(income)])
        self.compare(
            self.luck.choice(
                [[call, self._stray()], [self._stray(), call], [self._buy(self.amount()), call]]
            )
        )

    def spend_and_exit(self) -> None:
        amount = self.amount()
        taken, income = self.luck.randrange(0, amount + 1), self.luck.randrange(0, 60 * USDC)
        calls = [
            self._at_venue(amount, "take(uint256)", taken),
            self._at_venue(0, "give(uint256)", income),
        ]
        self.act(calls, [took(taken), gave(income)])

    def stray(self) -> None:
        self.compare([self._stray()])

    def _stray(self) -> calldata.VaultCall:
        """A function that no rule names, at an allowed and at another target, and calls without a
        whole selector.
        """
        data = self.luck.choice(
            [
                "0x",
                "0x12",
                "0x123456",
                "0x12345678",
                test_venue.buy(1)[:8],
                calldata.transfer(AGENT.address, 1),
            ]
        )
        target = self.luck.choice([self.adapter, self.chain.contracts["usdc"], OWNER.address])
        return calldata.VaultCall(target, self.luck.choice([0, self.amount()]), data)

    def ask_for_everything(self) -> None:
        self.compare([self._buy(2**256 - 1), self._buy(self.amount())])

    def wait(self) -> None:
        self.chain.rpc.call("evm_increaseTime", [self.luck.choice(WARPS)])
        self.compare([self._buy(self.amount())])

    def move_price(self) -> None:
        self.price_e6 = self.luck.choice([500_000, 999_999, 1_000_000, 1_000_001, 2_000_000])
        self.chain.succeed(
            OPERATOR, self.chain.contracts["test_venue"], test_venue.set_price(self.price_e6)
        )

    def pause_the_factory(self) -> None:
        name = "unpause()" if self.model.is_factory_paused else "pause()"
        self.chain.succeed(DEPLOYER, self.chain.contracts["factory"], call_by_signature(name, []))
        self.model = replace(self.model, is_factory_paused=not self.model.is_factory_paused)
        self.compare([self._buy(1)])

    def remove_or_set_the_agent(self) -> None:
        is_set = self.model.agent != ZERO_ADDRESS
        self.chain.succeed(
            OWNER,
            self.vault,
            calldata.remove_agent() if is_set else calldata.set_agent(AGENT.address),
        )
        self.model = replace(self.model, agent=ZERO_ADDRESS if is_set else AGENT.address)
        self.compare([self._buy(1)])

    def end_it(self) -> None:
        """The last step: a stop, or the end date."""
        if self.luck.random() < 0.5:
            self.chain.succeed(OWNER, self.vault, calldata.stop("owner_stop"))
            self.model = replace(
                self.model,
                status=VaultStatus.STOPPED,
                stopped_at=self.chain.now,
                agent=ZERO_ADDRESS,
            )
        else:
            self.chain.rpc.call(
                "evm_setNextBlockTimestamp", [max(self.model.ends_at, self.chain.now + 1)]
            )
            self.compare([self._buy(1)])
            self.compare_the_grace()
        self.compare([self._buy(1)])

    def compare_the_grace(self) -> None:
        """In the grace, at its last second and after it: who may stop, by the vault and by the
        record. Nobody names an agent.
        """
        grace_end = self.model.ends_at + DAY_S
        for at in (self.chain.now + 1, grace_end - 1, grace_end):
            self.chain.rpc.call("evm_setNextBlockTimestamp", [at])
            self.chain.rpc.call("evm_mine", [])
            if self.model.agent != ZERO_ADDRESS:
                assert self._refused(AGENT, calldata.stop("agent")) == _refused_by_record(
                    StoppedBy.AGENT, self.model.ends_at, at
                )
            assert self._refused(OWNER, calldata.stop("owner")) == _refused_by_record(
                StoppedBy.OWNER, self.model.ends_at, at
            )
            assert self._refused(OWNER, calldata.set_agent(AGENT.address)) == "MandateEnded"

    def _refused(self, sender: Persona, data: str) -> str | None:
        try:
            self.chain.rpc.call(
                "eth_call", [{"from": sender.address, "to": self.vault, "data": data}, "latest"]
            )
        except RpcRevertedError as error:
            return refusal_name(error.revert_data)
        return None

    def _at_venue(self, max_spend: int, function: str, *arguments: int) -> calldata.VaultCall:
        return calldata.VaultCall(self.venue, max_spend, call_by_signature(function, arguments))

    def _buy(self, amount: int) -> calldata.VaultCall:
        return calldata.VaultCall(self.adapter, amount, test_venue.buy(min(amount, 2**255)))


def took(amount: int) -> Effect:
    return Effect(taken_usdc_e6=amount, change_usdc_e6=-amount)


def gave(amount: int) -> Effect:
    return Effect(taken_usdc_e6=0, change_usdc_e6=amount)


def _refused_by_record(by: StoppedBy, ends_at: int, now: int) -> str | None:
    try:
        check_stop(by, ends_at, now, is_paper=False)
    except SettleGraceError:
        return "SettleGrace"
    return None


def rules_of(chain: DeployedChain, venue: str) -> tuple[Rule, ...]:
    spends = ("take(uint256)", "takeAndGive(uint256,uint256)")
    named = [Rule(venue, selector_of(function), UNPINNED, RuleKind.SPEND) for function in spends]
    named.append(Rule(venue, selector_of("give(uint256)"), UNPINNED, RuleKind.EXIT))
    return tuple(
        sorted([*chain.rules(), *named], key=lambda rule: (int(rule.target, 16), rule.selector))
    )


def pair_of(chain: DeployedChain, luck: random.Random) -> Pair:
    venue = chain.deploy("HostileVenue", chain.contracts["usdc"])
    chain.mint(venue, 100_000 * USDC)
    rules = rules_of(chain, venue)
    terms = replace(
        chain.terms("m_4k2v7c3xqa"),
        allowed_targets_hash=rules_hash(rules),
        per_tx_cap=luck.choice([1, 40, 100]) * USDC,
        daily_cap=luck.choice([100, 300]) * USDC,
        nonce=luck.getrandbits(60),
    )
    vault = chain.create_vault(terms, rules=rules)
    model = VaultModel(
        address=vault,
        status=VaultStatus.WORKING,
        agent=AGENT.address,
        budget=BUDGET,
        per_tx_cap=terms.per_tx_cap,
        daily_cap=terms.daily_cap,
        ends_at=terms.ends_at,
        rules=rules,
        deposited=BUDGET,
    )
    return Pair(chain, vault, venue, model, luck)


@pytest.mark.parametrize("seed", seeds())
def test_contract_and_model__agree_at_every_step(deployed: DeployedChain, seed: int) -> None:
    pair = pair_of(deployed, random.Random(seed))
    common: list[Callable[[], None]] = [
        pair.buy,
        pair.buy,
        pair.buy,
        pair.buy_twice,
        pair.sell,
        pair.buy_and_sell,
        pair.wait,
        pair.wait,
    ]
    gross: list[Callable[[], None]] = [
        pair.take_a_part,
        pair.take_and_return_change,
        pair.exit,
        pair.spend_and_exit,
    ]
    rare: list[Callable[[], None]] = [
        pair.stray,
        pair.take_more_than_allowed,
        pair.ask_for_everything,
        pair.move_price,
        pair.pause_the_factory,
        pair.remove_or_set_the_agent,
    ]
    for _ in range(STEPS):
        pair.luck.choice(pair.luck.choice([common, common, gross, gross, rare]))()
        if pair.model.is_factory_paused and pair.luck.random() < 0.7:
            pair.pause_the_factory()
        if pair.model.agent == ZERO_ADDRESS and pair.luck.random() < 0.7:
            pair.remove_or_set_the_agent()
    pair.end_it()

    assert pair.compared >= STEPS // 2
    assert len(pair.refusals) >= 4, f"the sequence met too few limits: {sorted(pair.refusals)}"
