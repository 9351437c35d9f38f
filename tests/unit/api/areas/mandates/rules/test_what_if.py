"""A record replayed under other terms (docs/what-if.md)."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.areas.mandates.rules.what_if import (
    AGENT,
    VAULT,
    RecordedCall,
    RecordedFact,
    RecordedMark,
    RecordedReturn,
    RecordedRun,
    WhatIf,
    what_if,
)
from core.mandate.rules.lifecycle import VaultStatus
from core.mandate.rules.limits import (
    Effect,
    LimitRefusal,
    ProposedCall,
    RunningDay,
    SpendWindow,
    VaultModel,
    after_call,
)
from core.mandate.rules.terms import UNPINNED, MandateTerms, Rule, RuleKind, stop_floor_usdc_e6
from tests.each import each

DAY = 86_400
START = 1_767_225_600
USDC = 1_000_000
VENUE = "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc"
OTHER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
BUY, SELL = "0xd96a094a", "0xe4849b32"
RULES = (Rule(VENUE, BUY, 1, RuleKind.VALUED), Rule(VENUE, SELL, UNPINNED, RuleKind.EXIT))
HASH = "0x" + "00" * 32


def terms(
    budget: int = 1_000 * USDC,
    per_tx: int | None = None,
    daily: int | None = None,
    floor_bps: int = 5_000,
    days: int = 30,
) -> MandateTerms:
    return MandateTerms(
        public_id="m_aaaaaaaaaa",
        owner=OTHER,
        agent=OTHER,
        budget_usdc=budget,
        per_tx_cap=budget if per_tx is None else per_tx,
        daily_cap=budget if daily is None else daily,
        stop_floor=stop_floor_usdc_e6(budget, floor_bps),
        stop_floor_bps=floor_bps,
        horizon_days=days,
        ends_at=START + days * DAY,
        agent_fee_bps=0,
        approval_above=0,
        on_floor=0,
        allowed_targets_hash=HASH,
        guard_targets_hash=HASH,
        issued_at=START,
        nonce=0,
    )


def call(at: int, spent: int, received: int = 0, nonce: int | None = None) -> RecordedCall:
    selector = BUY if spent else SELL
    return RecordedCall(START + at, HASH, nonce or at, VENUE, selector, spent, received)


def asked(*facts: RecordedFact, under: MandateTerms | None = None) -> WhatIf:
    return what_if([RecordedRun(facts=facts, valued=frozenset({VENUE}))], under or terms(), RULES)


@each(
    ("under", "spent", "refused"),
    [
        (terms(per_tx=100 * USDC), 100 * USDC, {}),
        (terms(per_tx=100 * USDC), 100 * USDC + 1, {"OverPerTxCap": 1}),
        (terms(daily=100 * USDC), 100 * USDC, {}),
        (terms(daily=100 * USDC), 100 * USDC + 1, {"OverDailyCap": 1}),
        (terms(), 1_000 * USDC, {}),
    ],
)
def test_what_if__at_a_cap_and_above_it(
    under: MandateTerms, spent: int, refused: dict[str, int]
) -> None:
    assert asked(call(0, spent), under=under).refused == refused


def test_what_if__more_than_the_cash__is_over_budget() -> None:
    found = asked(call(0, 600 * USDC), call(DAY, 401 * USDC), under=terms(floor_bps=10_000))
    assert found.refused == {"OverBudget": 1}


@pytest.mark.parametrize(("later", "refused"), [(DAY - 1, {"OverDailyCap": 1}), (DAY, {})])
def test_what_if__the_day_frees_after_24_hours(later: int, refused: dict[str, int]) -> None:
    found = asked(call(0, 60 * USDC), call(later, 60 * USDC), under=terms(daily=100 * USDC))
    assert found.refused == refused


@pytest.mark.parametrize(("later", "refused"), [(DAY - 1, {}), (DAY, {"MandateEnded": 1})])
def test_what_if__from_its_end_on__refuses(later: int, refused: dict[str, int]) -> None:
    assert asked(call(0, USDC), call(later, USDC), under=terms(days=1)).refused == refused


def test_what_if__a_target_that_the_terms_leave_out__is_named() -> None:
    strange = replace(call(0, USDC), target=OTHER)
    found = asked(strange)
    assert found.refused == {"TargetNotAllowed": 1}
    assert found.targets_not_allowed == ((OTHER, BUY, 1),)


def test_what_if__calls_of_a_batch__are_one_action() -> None:
    found = asked(
        call(5, 60 * USDC, nonce=9), call(5, 60 * USDC, nonce=9), under=terms(per_tx=100 * USDC)
    )
    assert (found.actions, found.refused) == (1, {"OverPerTxCap": 1})


@pytest.mark.parametrize(
    ("worth", "refused"), [(950_000_001, {}), (950_000_000, {"MandateStopped": 1})]
)
def test_what_if__a_mark_at_the_floor__stops(worth: int, refused: dict[str, int]) -> None:
    marked = RecordedMark(START + 10, worth, 0, 800 * USDC)
    found = asked(call(0, 200 * USDC), marked, call(20, USDC), under=terms(floor_bps=500))
    assert found.refused == refused
    assert found.worst_drawdown_usdc_e6 == 1_000 * USDC - worth


def test_what_if__money_out_that_was_never_marked__leaves_the_drawdown_unknown() -> None:
    found = asked(call(0, 200 * USDC))
    assert found.worst_drawdown_usdc_e6 is None
    assert found.smallest.stop_floor_bps is None


def test_what_if__a_refused_position__gains_and_loses_nothing() -> None:
    found = asked(
        call(0, 300 * USDC),
        RecordedMark(START + 10, 700 * USDC + 30 * USDC, 0, 700 * USDC),
        call(20, 0, 30 * USDC),
        under=terms(per_tx=100 * USDC),
    )
    assert found.refused == {"OverPerTxCap": 1}
    assert found.worst_drawdown_usdc_e6 == 0


@pytest.mark.parametrize(
    ("again", "refused"),
    [(120_000_000, {"OverPerTxCap": 1}), (120_000_001, {"OverPerTxCap": 1, "OverBudget": 1})],
)
def test_what_if__a_quarter_of_a_position__brings_a_quarter_of_what_it_brought(
    again: int, refused: dict[str, int]
) -> None:
    """100 of 400 were let pass: of the 480 that came back 120 are the vault's."""
    under = terms(100 * USDC, floor_bps=10_000)
    under = replace(under, per_tx_cap=200 * USDC, daily_cap=1_000 * USDC, stop_floor=-1)
    facts = (call(0, 100 * USDC), call(10, 300 * USDC), call(20, 0, 480 * USDC))
    assert asked(*facts, call(30, again), under=under).refused == refused


def test_what_if__gifts_of_a_target_without_money_out__do_not_count() -> None:
    found = asked(
        RecordedReturn(START, OTHER, 500 * USDC),
        call(1, 1_000 * USDC + 1),
        under=replace(terms(), per_tx_cap=2_000 * USDC, daily_cap=2_000 * USDC),
    )
    assert found.refused == {"OverBudget": 1}


def test_what_if__no_actions__knows_no_caps() -> None:
    found = asked()
    assert (found.actions, found.worst_drawdown_usdc_e6) == (0, None)
    assert found.smallest.budget_usdc_e6 is None


def test_what_if__each_mandate_has_a_vault_of_its_own() -> None:
    run = RecordedRun(facts=[call(0, 100 * USDC)])
    assert what_if([run, run], terms(daily=100 * USDC), RULES).allowed == 2


# Properties

gaps = st.sampled_from([1, 3_600, 40_000, DAY - 1, DAY, DAY + 1])
steps = st.lists(
    st.tuples(
        gaps,
        st.sampled_from(["buy", "sell", "mark"]),
        st.integers(1, 40),
        st.integers(0, 60),
        st.booleans(),
    ),
    max_size=25,
)


def story(steps: list[tuple[int, str, int, int, bool]]) -> list[RecordedFact]:
    at, cash, out, facts = 0, 1_000, 0, list[RecordedFact]()
    for gap, what, amount, back, twice in steps:
        at += gap
        if what == "buy":
            spent = min(amount, cash)
            facts.append(call(at, spent * USDC, nonce=at))
            cash, out = cash - spent, out + spent
            if twice and spent < cash:
                facts.append(call(at, spent * USDC, nonce=at))
                cash, out = cash - spent, out + spent
        elif what == "sell" and out:
            facts.append(call(at, 0, back * USDC, nonce=at))
            cash, out = cash + back, max(0, out - back)
        else:
            facts.append(RecordedMark(START + at, (cash + out * back // 40) * USDC, 0, cash * USDC))
    return facts


@given(steps)
def test_smallest_caps__refuse_nothing_and_one_unit_less_refuses(
    steps: list[tuple[int, str, int, int, bool]],
) -> None:
    facts = story(steps)
    smallest = asked(*facts).smallest
    budget, per_tx, daily = (
        smallest.budget_usdc_e6,
        smallest.per_tx_cap_usdc_e6,
        smallest.daily_cap_usdc_e6,
    )
    days, floor = smallest.horizon_days, smallest.stop_floor_bps or 10_000
    if budget is None or per_tx is None or daily is None or days is None:
        return
    fits = terms(budget, per_tx, daily, floor, days)
    if smallest.stop_floor_bps is None:
        fits = replace(fits, stop_floor=-(10**18))  # it would have lost more than all
    assert asked(*facts, under=fits).refused == {}
    assert asked(*facts, under=replace(fits, per_tx_cap=per_tx - 1)).refused
    assert asked(*facts, under=replace(fits, daily_cap=daily - 1)).refused
    if budget > max(per_tx, daily):
        less = replace(fits, budget_usdc=budget - 1, stop_floor=fits.stop_floor - 1)
        assert asked(*facts, under=less).refused
    if days > 1:
        assert asked(*facts, under=replace(fits, horizon_days=days - 1)).refused


@given(steps, st.integers(1, 60), st.integers(1, 120), st.integers(100, 1_000))
def test_what_if__of_spending_alone__is_what_the_model_says_call_by_call(
    steps: list[tuple[int, str, int, int, bool]], per_tx: int, daily: int, budget: int
) -> None:
    """The slow reference: the vault's model, moved on by the model itself, over the whole window."""
    facts = [one for one in story(steps) if isinstance(one, RecordedCall) and one.spent_usdc_e6]
    under = replace(terms(budget * USDC), per_tx_cap=per_tx * USDC, daily_cap=daily * USDC)
    under = replace(under, stop_floor=-1)
    vault = VaultModel(
        address=VAULT,
        status=VaultStatus.WORKING,
        agent=AGENT,
        budget=under.budget_usdc,
        deposited=under.budget_usdc,
        per_tx_cap=under.per_tx_cap,
        daily_cap=under.daily_cap,
        ends_at=(facts[0].at if facts else 0) + 30 * DAY,
        rules=RULES,
    )
    refused: Counter[str] = Counter()
    pinned = bytes.fromhex(BUY[2:]) + bytes(32) + bytes.fromhex(VAULT[2:]).rjust(32, b"\0")
    for nonce in dict.fromkeys(fact.nonce for fact in facts):
        batch = [fact for fact in facts if fact.nonce == nonce]
        calls = [ProposedCall(VENUE, fact.spent_usdc_e6, pinned) for fact in batch]
        effects = [Effect(fact.spent_usdc_e6, -fact.spent_usdc_e6) for fact in batch]
        after = after_call(vault, AGENT, calls, effects, batch[0].at)
        if isinstance(after, LimitRefusal):
            refused[after.reason] += 1
        else:
            vault = after
    assert asked(*facts, under=under).refused == dict(refused)


def drawdown_of(facts: list[RecordedFact], budget: int) -> int:
    """The slow reference for a record of which all happened: what is there, fact by fact."""
    cash, out, worst = budget, 0, 0
    for nonce in dict.fromkeys(getattr(fact, "nonce", -index) for index, fact in enumerate(facts)):
        for index, fact in enumerate(facts):
            if getattr(fact, "nonce", -index) != nonce:
                continue
            if isinstance(fact, RecordedMark):
                out = max(0, fact.worth_usdc_e6 - fact.cash_usdc_e6)
            elif isinstance(fact, RecordedCall):
                cash += fact.received_usdc_e6 - fact.spent_usdc_e6
                out = max(0, out + fact.spent_usdc_e6 - fact.received_usdc_e6)
        worst = max(worst, budget - cash - out)
    return worst


@given(steps)
def test_worst_drawdown__of_a_record_that_all_happened__is_that_of_its_cash_and_marks(
    steps: list[tuple[int, str, int, int, bool]],
) -> None:
    facts = story(steps)
    found = asked(*facts, under=replace(terms(1_000 * USDC, days=3_650), stop_floor=-(10**18)))
    wide = replace(terms(1_000_000 * USDC, days=3_650), stop_floor=-(10**18))
    assert asked(*facts, under=wide).refused == {}
    if found.worst_drawdown_usdc_e6 is not None and not found.refused:
        assert found.worst_drawdown_usdc_e6 == drawdown_of(facts, 1_000 * USDC)


@given(st.lists(st.tuples(gaps, st.integers(0, 100)), max_size=30))
def test_running_day__says_what_the_window_of_all_spends_says(
    spends: list[tuple[int, int]],
) -> None:
    day, all_, now = RunningDay(), list[tuple[int, int]](), START
    for gap, amount in spends:
        now += gap
        day.add(now, amount)
        all_.append((now, amount))
        window = SpendWindow.of(all_)
        assert day.in_day(now).spent_usdc_e6(now) == window.spent_usdc_e6(now)
