"""One figure on every surface: over random histories of calls, marks, unwinds and reports, read, list,
statement, files, sums, what-if, close-all plan and Hall say the same worth and result, to the unit.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from api.areas.hall.rules.days import Days, DayTerms, MandateStanding
from api.areas.mandates.rules.recorded_runs import run_of
from api.areas.mandates.rules.what_if import replayed_worth_usdc_e6
from core.mandate.rules.close_plan import (
    LISTED,
    AdapterPosition,
    OwnerCall,
    PlanFacts,
    close_all_plan,
)
from core.mandate.rules.fold import effective
from core.mandate.rules.progress import ProgressFacts, progress_block
from core.mandate.rules.state import MandateState
from core.mandate.rules.statement import all_mandates_json, statement_json
from core.mandate.rules.weeks import IsoWeek
from core.money import usdc_e6_from_text, usdc_text
from tests.statements import week_statement
from tests.unit.core.mandate.rules.ledgers import VAULT, SampleLedger, marked, terms, working
from tests.unit.core.mandate.rules.test_open_positions import FACTS, STEPS, World, play
from tests.unit.core.mandate.rules.week_story import about

WEEK = IsoWeek(2026, 6)
NOW = datetime(2026, 2, 4, tzinfo=UTC)
FEES = st.sampled_from([0, 1_000, 3_333])


@dataclass
class Surfaces:
    """What each of them answers of one ledger."""

    ledger: SampleLedger
    state: MandateState
    fee_bps: int

    @property
    def read(self) -> dict[str, Any]:
        signed = terms(agent_fee_bps=self.fee_bps)
        now = int(NOW.timestamp())
        return progress_block(
            self.state, ProgressFacts(facts=FACTS, terms=signed, spread_bps=0, now=now)
        )

    @property
    def statements(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Its own, and that of all mandates of the owner."""
        of = about(FACTS, terms=terms(agent_fee_bps=self.fee_bps))
        one = week_statement(self.ledger.rows, of, WEEK, NOW)
        return statement_json(one), all_mandates_json([one, one], WEEK, NOW)

    @property
    def hall_worth(self) -> int:
        """After the fee that the agent would be owed."""
        ends_at = datetime.fromtimestamp(terms().ends_at, UTC)
        told = DayTerms(FACTS.budget_usdc_e6, self.fee_bps, FACTS.positions, ends_at)
        days = Days(told, MandateStanding())
        for row in effective(self.ledger.rows):
            days.add(row)
        return days.standing.worth_usdc_e6

    @property
    def replayed_worth(self) -> int:
        counted = effective(self.ledger.rows)
        rows = [row for row in counted if row.cash_delta_usdc_e6 or "mark" in row.payload]
        run = run_of(rows, self.state.cash_usdc_e6, self.state, None)
        return replayed_worth_usdc_e6(run, FACTS.budget_usdc_e6)

    def plan(self, world: World) -> dict[str, Any]:
        held = [
            AdapterPosition(
                adapter=LISTED,
                adapter_address=at,
                venue=None,
                label=None,
                worth_usdc_e6=worth,
                unwind=OwnerCall(VAULT, "0x03"),
            )
            for at, worth in world.values.items()
            if worth
        ]
        call = OwnerCall(VAULT, "0x01")
        return close_all_plan(
            PlanFacts(
                facts=FACTS,
                terms=terms(agent_fee_bps=self.fee_bps),
                state=self.state,
                positions=held,
                relay_positions_read=True,
                stop_call=call,
                withdraw_call=call,
                spread_bps=0,
                now=int(NOW.timestamp()),
            )
        )


def e6(text: str | None) -> int:
    assert text is not None
    return usdc_e6_from_text(text)


def check(one: Surfaces, *, has_gifts: bool) -> None:
    """`has_gifts`: a target paid before anything went there, which a replay leaves out."""
    read, (statement, all_of_them) = one.read, one.statements
    worth, reserved = e6(read["worth_est"]), e6(read["agent_fee_reserved"])
    positions = [e6(it["worth_est"]) for it in read["positions"] if it["worth_est"] is not None]
    assert e6(read["cash"]) + sum(positions) == worth == e6(read["leave_now_est"])
    assert e6(read["fees"]["agent_fee"]["reserved_est"]) == reserved
    assert statement["worth"]["end"] == read["worth_est"]
    assert statement["worth"]["source"] == read["worth_source"]
    result = statement["result"]
    made = e6(result["realized"]) + e6(result["estimated"])
    assert made - reserved == e6(read["fees"]["net_after_fees_est"]["value"])
    assert result["realized"] == read["realized"]
    (sums,) = all_of_them["totals"].values()
    assert e6(sums["worth"]["end"]) == 2 * worth
    assert statement["worth"]["at_cost"] == read["at_cost"] == read["public_stop"]["at_cost_usdc"]
    assert e6(sums["worth"]["at_cost"]) == 2 * e6(read["at_cost"])
    assert one.hall_worth == worth - reserved
    if not has_gifts:
        assert one.replayed_worth == worth


@given(STEPS, FEES)
def test_every_surface_says_the_same_at_every_prefix(
    steps: list[tuple[str, str, int]], fee_bps: int
) -> None:
    ledger, world, has_gifts = working(FACTS), World(), False
    for number, (name, at, amount) in enumerate(steps):
        play(ledger, world, name, at, amount, number)
        one = Surfaces(ledger, ledger.state, fee_bps)
        has_gifts = has_gifts or any(
            flow.received_usdc_e6 and not flow.spent_usdc_e6 for flow in one.state.targets
        )
        check(one, has_gifts=has_gifts)
    ledger.chain(marked(usdc_text(world.worth), usdc_text(world.unvalued)))
    last = Surfaces(ledger, ledger.state, fee_bps)
    check(last, has_gifts=has_gifts)

    plan = last.plan(world)
    proceeds = [e6(it["est_proceeds_usdc"]) for it in plan["steps"] if it["est_proceeds_usdc"]]
    assert sum(proceeds) == last.state.valued_out_usdc_e6
    assert plan["kept_at_venue"] == sum(
        it["worth_source"] == "cost" and e6(it["worth_est"]) > 0 for it in last.read["positions"]
    )
    if not world.unvalued:
        left = e6(last.read["worth_est"]) - e6(last.read["agent_fee_reserved"])
        assert e6(plan["gets_back_est"]) == left
