"""The rolling day, the order of refusals, and the block that a read carries."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.mandate.rules.lifecycle import VaultStatus
from core.mandate.rules.limits import (
    Effect,
    LimitRefusal,
    ProposedCall,
    Spend,
    SpendWindow,
    VaultModel,
    after_call,
    check_call,
    left_today_usdc_e6,
    window_frees_at,
)
from core.mandate.rules.terms import UNPINNED, ZERO_ADDRESS, Rule, RuleKind
from core.money import usdc_e6_from_text
from tests.each import each
from tests.unit.core.mandate.rules.worked import table

DAY = 86_400
START = 1_767_225_600
END = START + 30 * DAY
USDC = 1_000_000

VAULT = "0x976EA74026E726554dB657fA54763abd0C3a0aa9"
AGENT = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
STRANGER = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"
VENUE = "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc"
BUY = bytes.fromhex("d96a094a")
SELL = bytes.fromhex("e4849b32")
DEPOSIT = bytes.fromhex("6e553f65")  # deposit(uint256,address): word 1 is the receiver

MODEL = VaultModel(
    address=VAULT,
    status=VaultStatus.WORKING,
    agent=AGENT,
    budget=1_000 * USDC,
    deposited=1_000 * USDC,
    per_tx_cap=100 * USDC,
    daily_cap=300 * USDC,
    ends_at=END,
    rules=(
        Rule(VENUE, "0x6e553f65", 1, RuleKind.SPEND),
        Rule(VENUE, "0xd96a094a", UNPINNED, RuleKind.VALUED),
        Rule(VENUE, "0xe4849b32", UNPINNED, RuleKind.EXIT),
    ),
)


def buy(amount_usdc_e6: int) -> ProposedCall:
    return ProposedCall(VENUE, amount_usdc_e6, BUY + amount_usdc_e6.to_bytes(32, "big"))


def sell(max_spend_usdc_e6: int = 0) -> ProposedCall:
    return ProposedCall(VENUE, max_spend_usdc_e6, SELL + bytes(32))


def took(amount_usdc_e6: int) -> Effect:
    """The target took so much and gave nothing back."""
    return Effect(taken_usdc_e6=amount_usdc_e6, change_usdc_e6=-amount_usdc_e6)


def gave(amount_usdc_e6: int) -> Effect:
    return Effect(taken_usdc_e6=0, change_usdc_e6=amount_usdc_e6)


def deposit_for(receiver: str) -> ProposedCall:
    return ProposedCall(
        VENUE, USDC, DEPOSIT + bytes(32) + bytes.fromhex(receiver[2:]).rjust(32, b"\0")
    )


# The rolling day


@each(
    ("now", "left", "frees_at"),
    [
        (START - 1, 300, None),
        (START, 0, START + DAY),
        (START + DAY - 1, 0, START + DAY),
        (START + DAY, 300, None),
    ],
)
def test_entry__counts_for_exactly_one_day(now: int, left: int, frees_at: int | None) -> None:
    window = SpendWindow.of([(START, 300)])
    assert left_today_usdc_e6(window, 300, now) == left
    assert window_frees_at(window, now) == frees_at


def test_left_today__of_a_cap_below_what_was_spent__is_zero() -> None:
    assert left_today_usdc_e6(SpendWindow.of([(START, 301)]), 300, START) == 0


def test_spend_of_nothing__leaves_no_entry() -> None:
    assert SpendWindow().with_spend(START, 0) == SpendWindow()
    assert SpendWindow.of([(START, 0)]) == SpendWindow()


def test_window__drops_what_is_free_when_it_grows() -> None:
    assert SpendWindow.of([(START, 1)]).with_spend(START + DAY, 2).entries == (
        Spend(START + DAY, 2),
    )


class Checkpoints:
    """OpenZeppelin's RateLimiter.SlidingWindow, line by line: running totals, forgotten when
    nothing is in use.
    """

    def __init__(self) -> None:
        self.trace: list[tuple[int, int]] = []

    def used(self, now: int) -> int:
        before = [total for at, total in self.trace if at <= now - DAY]
        latest = self.trace[-1][1] if self.trace else 0
        return max(0, latest - (before[-1] if before else 0))

    def consume(self, now: int, amount: int) -> None:
        if amount == 0:
            return
        if self.used(now) == 0:
            self.trace = []
        total = (self.trace[-1][1] if self.trace else 0) + amount
        if self.trace and self.trace[-1][0] == now:
            self.trace[-1] = (now, total)
        else:
            self.trace.append((now, total))


STEPS = st.lists(
    st.tuples(st.sampled_from([0, 1, 3_600, DAY // 3, DAY - 1, DAY, DAY + 1]), st.integers(0, 120)),
    max_size=40,
)


@given(STEPS)
def test_window__agrees_with_the_contracts_limiter_after_any_sequence(
    steps: list[tuple[int, int]],
) -> None:
    window, limiter, now = SpendWindow(), Checkpoints(), START
    for wait, amount in steps:
        now += wait
        assert window.spent_usdc_e6(now) == limiter.used(now)
        if amount <= left_today_usdc_e6(window, 300, now):
            window = window.with_spend(now, amount)
            limiter.consume(now, amount)


@given(STEPS)
def test_agent__never_takes_more_than_the_daily_cap_in_any_24_hours(
    steps: list[tuple[int, int]],
) -> None:
    vault, now, taken = MODEL, START, []
    for wait, amount in steps:
        now += wait
        after = after_call(vault, AGENT, [buy(amount * USDC)], [took(amount * USDC)], now)
        if isinstance(after, VaultModel):
            vault = after
            taken.append((now, amount * USDC))
    for start, _ in taken:
        assert sum(amount for at, amount in taken if start <= at < start + DAY) <= MODEL.daily_cap


@given(STEPS)
def test_own_cash__is_budget_plus_received_less_spent_and_never_below_zero(
    steps: list[tuple[int, int]],
) -> None:
    vault, now = replace(MODEL, budget=500 * USDC), START
    for wait, amount in steps:
        now += wait
        effect = took(amount * USDC) if amount % 3 else gave(amount * USDC)
        after = after_call(vault, AGENT, [buy(effect.taken_usdc_e6)], [effect], now)
        vault = after if isinstance(after, VaultModel) else vault
        assert vault.cash == 500 * USDC + vault.received - vault.spent >= 0


# The order of refusals


def test_call__within_all_limits__passes() -> None:
    assert check_call(MODEL, AGENT, [buy(100 * USDC)], START) is None


def test_refusals__come_in_the_order_status_end_pause_caller_rules_caps() -> None:
    stopped = replace(
        MODEL,
        status=VaultStatus.STOPPED,
        stopped_at=START - 5,
        agent=ZERO_ADDRESS,
        is_factory_paused=True,
    )
    paused = replace(MODEL, is_factory_paused=True)
    forbidden = [ProposedCall(STRANGER, 101 * USDC, BUY)]
    over_all_caps = [buy(2_000 * USDC)]
    assert check_call(stopped, STRANGER, [], END) == LimitRefusal("MandateStopped", (START - 5,))
    assert check_call(paused, STRANGER, [], END) == LimitRefusal("MandateEnded", (END,))
    assert check_call(paused, STRANGER, [], START) == LimitRefusal("MandatePaused")
    assert check_call(MODEL, STRANGER, [], START) == LimitRefusal("NotAgent", (STRANGER,))
    assert check_call(MODEL, AGENT, [], START) == LimitRefusal("EmptyBatch")
    assert check_call(MODEL, AGENT, forbidden, START) == LimitRefusal(
        "TargetNotAllowed", (STRANGER, "0xd96a094a")
    )
    assert check_call(MODEL, AGENT, over_all_caps, START) == LimitRefusal(
        "OverPerTxCap", (2_000 * USDC, 100 * USDC)
    )
    wide = replace(MODEL, per_tx_cap=3_000 * USDC)
    assert check_call(wide, AGENT, over_all_caps, START) == LimitRefusal(
        "OverDailyCap", (2_000 * USDC, 300 * USDC)
    )
    wider = replace(wide, daily_cap=3_000 * USDC)
    assert check_call(wider, AGENT, over_all_caps, START) == LimitRefusal(
        "OverBudget", (2_000 * USDC, 1_000 * USDC)
    )


def test_stopped_and_settled__still_says_stopped() -> None:
    vault = replace(MODEL, status=VaultStatus.SETTLED, stopped_at=START)
    assert check_call(vault, AGENT, [buy(1)], START + 1) == LimitRefusal("MandateStopped", (START,))


def test_settled_without_a_stop__says_ended() -> None:
    assert check_call(
        replace(MODEL, status=VaultStatus.SETTLED), AGENT, [buy(1)], END
    ) == LimitRefusal("MandateEnded", (END,))


def test_funding__says_what_is_there_and_what_is_needed() -> None:
    vault = replace(MODEL, status=VaultStatus.FUNDING, deposited=1)
    assert check_call(vault, AGENT, [buy(1)], START) == LimitRefusal(
        "MandateNotFunded", (1, 1_000 * USDC)
    )


@pytest.mark.parametrize(
    ("now", "reason"), [(END - 1, None), (END, LimitRefusal("MandateEnded", (END,)))]
)
def test_end__is_exclusive(now: int, reason: LimitRefusal | None) -> None:
    assert check_call(MODEL, AGENT, [buy(1)], now) == reason


def test_removed_agent__refuses_everyone_even_the_zero_address() -> None:
    vault = replace(MODEL, agent=ZERO_ADDRESS)
    assert check_call(vault, AGENT, [buy(1)], START) == LimitRefusal("NoAgent")
    assert check_call(vault, ZERO_ADDRESS, [buy(1)], START) == LimitRefusal("NoAgent")
    assert check_call(vault, STRANGER, [], START) == LimitRefusal("NoAgent")


def test_removed_agent__after_status_end_and_pause() -> None:
    vault = replace(MODEL, agent=ZERO_ADDRESS)
    assert check_call(
        replace(vault, is_factory_paused=True), AGENT, [buy(1)], START
    ) == LimitRefusal("MandatePaused")
    assert check_call(vault, AGENT, [buy(1)], END) == LimitRefusal("MandateEnded", (END,))


# Exits


def test_exit__with_max_spend__is_refused_before_the_caps() -> None:
    assert check_call(MODEL, AGENT, [sell(2_000 * USDC)], START) == LimitRefusal(
        "ExitNotFree", (2_000 * USDC,)
    )
    assert check_call(MODEL, AGENT, [sell(1)], START) == LimitRefusal("ExitNotFree", (1,))
    assert check_call(MODEL, AGENT, [sell(0)], START) is None


def test_exit__of_the_first_call__is_refused_before_the_second_calls_rule() -> None:
    stray = ProposedCall(STRANGER, 0, BUY)
    assert check_call(MODEL, AGENT, [sell(5), stray], START) == LimitRefusal("ExitNotFree", (5,))
    assert check_call(MODEL, AGENT, [stray, sell(5)], START) == LimitRefusal(
        "TargetNotAllowed", (STRANGER, "0xd96a094a")
    )


def test_exit__its_rule_comes_before_its_freeness() -> None:
    pinned = replace(MODEL, rules=(Rule(VENUE, "0xe4849b32", 0, RuleKind.EXIT),))
    refused = check_call(pinned, AGENT, [sell(5)], START)
    assert refused is not None
    assert refused.reason == "RecipientNotVault"


def test_pin__of_the_vault_passes_and_of_another_is_refused() -> None:
    assert check_call(MODEL, AGENT, [deposit_for(VAULT)], START) is None
    word = "0x" + STRANGER[2:].lower().rjust(64, "0")
    assert check_call(MODEL, AGENT, [deposit_for(STRANGER)], START) == LimitRefusal(
        "RecipientNotVault", (VENUE, "0x6e553f65", 1, word)
    )


def test_pin__with_dirty_high_bytes__is_refused() -> None:
    data = bytearray(deposit_for(VAULT).data)
    data[4 + 32] = 1
    refused = check_call(MODEL, AGENT, [ProposedCall(VENUE, 0, bytes(data))], START)
    assert refused is not None
    assert refused.reason == "RecipientNotVault"


def test_pin__one_byte_short__is_refused() -> None:
    short = ProposedCall(VENUE, 0, deposit_for(VAULT).data[:-1])
    assert check_call(MODEL, AGENT, [short], START) == LimitRefusal(
        "CalldataTooShort", (VENUE, "0x6e553f65", 67, 68)
    )


@pytest.mark.parametrize("data", [b"", BUY[:3]])
def test_calldata__shorter_than_a_selector__names_no_function(data: bytes) -> None:
    assert check_call(MODEL, AGENT, [ProposedCall(VENUE, 0, data)], START) == LimitRefusal(
        "TargetNotAllowed", (VENUE, "0x00000000")
    )


def test_batch__is_capped_by_its_sum() -> None:
    assert check_call(MODEL, AGENT, [buy(60 * USDC), buy(40 * USDC)], START) is None
    over = check_call(MODEL, AGENT, [buy(60 * USDC), buy(40 * USDC + 1)], START)
    assert over == LimitRefusal("OverPerTxCap", (100 * USDC + 1, 100 * USDC))


# What a call leaves behind


def test_fall_beyond_what_was_taken__changes_nothing() -> None:
    assert after_call(
        MODEL, AGENT, [buy(5)], [Effect(taken_usdc_e6=5, change_usdc_e6=-6)], START
    ) == LimitRefusal("OverMaxSpend", (6, 5))


def test_part_of_the_allowance__counts_what_was_taken_of_it() -> None:
    after = after_call(MODEL, AGENT, [buy(100)], [took(60)], START)
    assert isinstance(after, VaultModel)
    assert (after.spent, after.received, after.window.spent_usdc_e6(START)) == (60, 0, 60)


def test_change_that_comes_back_in_the_call__uses_the_day_and_is_received() -> None:
    after = after_call(
        MODEL, AGENT, [buy(80)], [Effect(taken_usdc_e6=80, change_usdc_e6=-50)], START
    )
    assert isinstance(after, VaultModel)
    assert (after.spent, after.received, after.window.spent_usdc_e6(START)) == (80, 30, 80)


def test_income_that_hides_the_spending__does_not_hide_it_from_the_day() -> None:
    """A call that took 100 and brought 100 leaves the balance as it was: three of them use a day of
    300 up.
    """
    vault, hidden = MODEL, Effect(taken_usdc_e6=100 * USDC, change_usdc_e6=0)
    for _ in range(3):
        after = after_call(vault, AGENT, [buy(100 * USDC)], [hidden], START)
        assert isinstance(after, VaultModel)
        vault = after
    assert vault.cash == 1_000 * USDC
    assert check_call(vault, AGENT, [buy(1)], START) == LimitRefusal("OverDailyCap", (1, 0))


def test_income__raises_the_cash_and_not_the_day() -> None:
    spent = after_call(MODEL, AGENT, [buy(100 * USDC)], [took(100 * USDC)], START)
    assert isinstance(spent, VaultModel)
    back = after_call(spent, AGENT, [buy(0)], [gave(150 * USDC)], START + 1)
    assert isinstance(back, VaultModel)
    assert back.cash == 1_050 * USDC
    assert left_today_usdc_e6(back.window, back.daily_cap, START + 1) == 200 * USDC


def test_batch__counts_each_call_gross() -> None:
    after = after_call(MODEL, AGENT, [buy(60), buy(0)], [took(60), gave(50)], START)
    assert isinstance(after, VaultModel)
    assert (after.spent, after.received, after.window.spent_usdc_e6(START)) == (60, 50, 60)


# The worked page


def test_worked_numbers__of_the_rolling_day__are_the_models() -> None:
    vault = replace(MODEL, per_tx_cap=300 * USDC)
    rows = table("limits.md", "rolling day")
    assert len(rows) == 10
    for second, left, frees_at, asks, answer in rows:
        now, amount = START + int(second), usdc_e6_from_text(asks)
        assert left_today_usdc_e6(vault.window, vault.daily_cap, now) == usdc_e6_from_text(left), (
            second
        )
        assert window_frees_at(vault.window, now) == (
            None if frees_at == "-" else START + int(frees_at)
        ), second
        after = after_call(vault, AGENT, [buy(amount)], [took(amount)], now)
        assert ("ok" if isinstance(after, VaultModel) else after.reason) == answer, second
        vault = after if isinstance(after, VaultModel) else vault


def test_worked_numbers__of_gross_counting__are_the_models() -> None:
    rows = table("limits.md", "gross counting")
    assert len(rows) == 6
    for max_spend, taken, back, spent, received, left, balance in rows:
        out, income = usdc_e6_from_text(taken), usdc_e6_from_text(back)
        after = after_call(
            MODEL, AGENT, [buy(usdc_e6_from_text(max_spend))], [Effect(out, income - out)], START
        )
        assert isinstance(after, VaultModel), max_spend
        assert (after.spent, after.received) == (
            usdc_e6_from_text(spent),
            usdc_e6_from_text(received),
        ), max_spend
        assert left_today_usdc_e6(after.window, after.daily_cap, START) == usdc_e6_from_text(
            left
        ), max_spend
        assert after.cash == usdc_e6_from_text(balance), max_spend


def test_worked_numbers__of_the_order_of_caps__are_the_models() -> None:
    rows = table("limits.md", "order of caps")
    assert len(rows) == 9
    for spent, received, asks, answer in rows:
        out = usdc_e6_from_text(spent)
        vault = replace(
            MODEL,
            spent=out,
            received=usdc_e6_from_text(received),
            window=SpendWindow.of([(START, out)]),
        )
        calls = [buy(usdc_e6_from_text(part.strip())) for part in asks.split("+")]
        refused = check_call(vault, AGENT, calls, START)
        found = re.fullmatch(r"(\w+)\((\S+), (\S+)\)", answer)
        expected = found and LimitRefusal(
            found[1], (usdc_e6_from_text(found[2]), usdc_e6_from_text(found[3]))
        )
        assert refused == expected, asks


def test_a_window__is_of_spends_in_any_order_and_of_no_zeros() -> None:
    assert SpendWindow.of([(9, 1), (3, 2), (5, 0)]).entries == (Spend(3, 2), Spend(9, 1))
