"""Worth and open positions of a vault over random histories: calls, reports that are true, false,
missing or doubled, marks, unwinds, withdrawals, reorgs. A small world beside them knows what is out.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.mandate.rules import events as ev
from core.mandate.rules.fold import fold
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.positions import open_positions, shared
from core.mandate.rules.progress import fees_block
from core.mandate.rules.rows import LedgerRow, ReportedBy, RowKind
from core.mandate.rules.state import MandateFacts, MandateState, position_rules
from core.mandate.rules.terms import Rule, RuleKind
from core.mandate.rules.worth import worth_of
from core.money import usdc_e6_from_text, usdc_text
from tests.unit.core.mandate.rules.ledgers import (
    OWNER,
    SampleLedger,
    executed,
    marked,
    stopped,
    unwound,
    withdrawn,
    working,
)

A, B, C, D = (f"0x00000000000000000000000000000000000000{n}" for n in ("d1", "d2", "d3", "d4"))
RELAY = "0x00000000000000000000000000000000000000d9"
BUY, SELL = "0x00000001", "0x00000002"
FACTS = MandateFacts(
    market_mode=MarketMode.TESTNET,
    budget_usdc_e6=1_000_000_000,
    positions=position_rules(
        [
            *(Rule(at, BUY, 255, RuleKind.VALUED) for at in (A, B)),
            *(Rule(at, SELL, 255, RuleKind.EXIT) for at in (A, B)),
            *(Rule(at, BUY, 255, RuleKind.SPEND) for at in (C, D)),
            *(Rule(at, SELL, 255, RuleKind.EXIT) for at in (C, D)),
        ]
    ),
)
USD = 1_000_000


@dataclass
class World:
    """What the vault would answer: own cash, what each adapter values, and the counter."""

    cash: int = 1_000 * USD
    values: dict[str, int] = field(default_factory=lambda: {A: 0, B: 0})
    unvalued: int = 0
    withdrawn: int = 0
    done: list[tuple[LedgerRow, "World"]] = field(default_factory=list)  # and the world before it

    @property
    def worth(self) -> int:
        return self.cash + sum(self.values.values()) + self.unvalued

    def move(self, at: str, spent: int, received: int) -> None:
        self.cash += received - spent
        if at in self.values:
            self.values[at] = max(0, self.values[at] + spent - received)
        else:
            self.unvalued = max(0, self.unvalued + spent - received)

    def take_back(self) -> LedgerRow:
        """The newest block is gone, with its one row."""
        row, before = self.done.pop()
        self.cash, self.values, self.unvalued = before.cash, before.values, before.unvalued
        return row


STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            (
                "buy",
                "sell",
                "mark",
                "price",
                "true",
                "false",
                "doubled",
                "agent mark",
                "proceeds",
                "reorg",
            )
        ),
        st.sampled_from((A, B, C, D)),
        st.integers(1, 90 * USD),
    ),
    max_size=14,
)


def play(ledger: SampleLedger, world: World, name: str, at: str, amount: int, number: int) -> None:
    if name == "reorg":
        if world.done:
            ledger.reverse(world.take_back())
        return
    before, known = replace(world, values={**world.values}), len(ledger.rows)
    _play(ledger, world, name, at, amount, number)
    told = [row for row in ledger.rows[known:] if row.reported_by is not ReportedBy.AGENT]
    world.done += [(row, before) for row in told]


def _play(ledger: SampleLedger, world: World, name: str, at: str, amount: int, number: int) -> None:
    match name:
        case "buy" if amount <= world.cash:
            ledger.chain(call(at, amount, 0, number))
            world.move(at, amount, 0)
        case "sell" if at not in world.values or world.values[at]:  # of a price that rose, too
            ledger.chain(call(at, 0, amount, number))
            world.move(at, 0, amount)
        case "price" if world.values.get(at):
            world.values[at] = amount
        case "mark":
            ledger.chain(marked(usdc_text(world.worth), usdc_text(world.unvalued)))
        case "proceeds":
            ledger.chain(ev.ProceedsReceived(RELAY, amount, 0))
            world.cash += amount
            world.unvalued = max(0, world.unvalued - amount)
        case "true" | "false" | "doubled" if at != RELAY:
            said: dict[str, Any] = {"target": at, "position": {"id": f"p{number % 3}"}}
            if name == "false":
                said["unseen"] = True
            for _ in range(2 if name == "doubled" else 1):
                ledger.report(RowKind.BUY, usdc_text(amount), payload=said)
        case "agent mark":
            mark = {"position_id": f"p{number % 3}", "worth_usdc": usdc_text(amount)}
            ledger.report(RowKind.NOTE, payload={"mark": mark})


def call(at: str, spent: int, received: int, nonce: int) -> Any:
    selector = BUY if spent else SELL
    made = executed(usdc_text(spent), usdc_text(received), nonce=nonce, target=at)
    return replace(made, selector=selector)


def check(state: MandateState) -> None:
    listed = open_positions(state)
    assert sum(one.cost_usdc_e6 for one in listed) == state.out_cost_usdc_e6
    worth = worth_of(state, FACTS)
    assert sum(one.worth_usdc_e6 or 0 for one in listed) == worth.positions_usdc_e6
    assert min([0, *(one.cost_usdc_e6 for one in listed)]) == 0


@given(STEPS)
def test_costs_are_what_is_out_and_no_report_moves_a_worth(
    steps: list[tuple[str, str, int]],
) -> None:
    ledger, world = working(FACTS), World()
    for number, (name, at, amount) in enumerate(steps):
        play(ledger, world, name, at, amount, number)
        state = ledger.state
        check(state)
        silent = fold(
            [row for row in ledger.rows if row.reported_by is not ReportedBy.AGENT], FACTS
        )
        assert worth_of(silent, FACTS) == worth_of(state, FACTS)
        assert (silent.realized_usdc_e6, silent.out_cost_usdc_e6) == (
            state.realized_usdc_e6,
            state.out_cost_usdc_e6,
        )
        if name == "mark":
            assert worth_of(state, FACTS).worth_usdc_e6 == world.worth
        assert state.unvalued_out_usdc_e6 == world.unvalued


@given(STEPS, st.booleans())
def test_once_all_is_home__estimated_is_realised_is_what_moved(
    steps: list[tuple[str, str, int]], is_stopped_by_owner: bool
) -> None:
    ledger, world = working(FACTS), World()
    for number, (name, at, amount) in enumerate(steps):
        play(ledger, world, name, at, amount, number)
    ledger.chain(stopped(OWNER, "owner") if is_stopped_by_owner else stopped())
    for at, value in world.values.items():
        if value:
            ledger.chain(replace(unwound(usdc_text(value)), target=at, selector=SELL))
            world.move(at, 0, value)
    ledger.chain(marked(usdc_text(world.worth), usdc_text(world.unvalued)))
    if world.cash:
        ledger.chain(withdrawn(usdc_text(world.cash)))
    state = ledger.state
    worth = worth_of(state, FACTS)
    if not world.cash:
        return  # nothing was there to take
    assert (worth.worth_usdc_e6, open_positions_of(state)) == (0, [])
    assert state.not_returned_usdc_e6 == world.unvalued
    moved = state.received_usdc_e6 - state.spent_usdc_e6
    block = fees_block(state, worth, 0)
    assert usdc_e6_from_text(block["net_after_fees_est"]["value"]) == moved
    assert state.realized_usdc_e6 == moved


def open_positions_of(state: MandateState) -> list[Any]:
    """Without claims."""
    return [one for one in open_positions(state) if one.worth_usdc_e6 is not None]


@given(st.integers(0, 10**15), st.lists(st.integers(0, 10**9), max_size=6))
def test_shared__adds_up(total: int, weights: list[int]) -> None:
    parts = shared(total, weights)
    assert (len(parts), sum(parts)) == (len(weights), total if weights else 0)
    if sum(weights):
        assert all(
            abs(part * sum(weights) - total * weight) < sum(weights)
            for part, weight in zip(parts, weights, strict=True)
        )


# One story each


def test_a_report__names_money_at_its_target_and_the_rest_is_its_own_position() -> None:
    ledger = working(FACTS)
    ledger.chain(call(A, 100 * USD, 0, 0), 60)
    ledger.report(RowKind.BUY, "60", 60, {"target": A, "position": {"id": "p1", "name": "ETH"}})
    listed = [
        (one.reported and one.reported.id, one.cost_usdc_e6) for one in open_positions(ledger.state)
    ]
    assert listed == [("p1", 60 * USD), (None, 40 * USD)]


def test_an_owner_who_withdrew_everything__is_not_shown_what_never_came_back() -> None:
    """-27 % in red once, while everything was there, and a gain after all had come home."""
    ledger = working(FACTS)
    ledger.chain(call(A, 100 * USD, 0, 0))
    ledger.chain(call(C, 50 * USD, 0, 1))
    ledger.report(RowKind.BUY, "100", payload={"target": A, "position": {"id": "p1"}})
    state = ledger.state
    assert worth_of(state, FACTS).worth_usdc_e6 == 1_000 * USD
    ledger.chain(stopped(OWNER, "owner"))
    ledger.chain(replace(unwound("90"), target=A, selector=SELL))
    ledger.chain(marked("990", "50"))
    ledger.chain(withdrawn("940"))
    state = ledger.state
    assert worth_of(state, FACTS).worth_usdc_e6 == 0
    assert (state.not_returned_usdc_e6, open_positions(state)) == (50 * USD, [])
    assert state.realized_usdc_e6 == -60 * USD
