"""What is free tells nothing of the signal: whoever plans with consents, values and positions of his
choice learns no bit of its weight and leverage (docs/decisions/0057).
"""

import random
from dataclasses import replace
from math import log2
from typing import Any, Final

import pytest

from core.fund.rules.plan import FollowerAccount, SignalFacts, plan, shown_market
from core.fund.rules.sessions import MarketSession, SessionState
from tests.slow import few
from tests.unit.core.fund.made import AT, MARKET, USD, facts, snapshot

ACCOUNTS = 20
SIGNALS: Final = [
    {"weight_e4": weight, "leverage_e2": leverage}
    for weight in (-10_000, -2_500, -1, 0, 1, 2_499, 2_500, 9_999, 10_000)
    for leverage in (1, 99, 100, 101, 500, 2_000)
]
MARKETS: Final[list[dict[str, Any]]] = [
    {},
    {"is_paused": True},
    {"is_superseded": True},
    {"session": MarketSession(SessionState.CLOSED, next_open=AT)},
    {"session": MarketSession(SessionState.UNKNOWN)},
    *({"snapshot": snapshot(grade=grade)} for grade in (*"ABCDF", None)),
    {"snapshot": snapshot(buys=None, sells=None)},
    {"snapshot": snapshot(least_order_usdc_e6=None)},
]
PAID: Final = "402, or what was paid for"


def questions(plans: int) -> list[dict[str, Any]]:
    """The edges of the rules, and values between them; of 20 accounts, one of them unknown."""
    draw = random.Random(60)
    positions = (0, 1, -1, 250 * USD, 249_999_999, -250 * USD, 8 * USD, 10**13)
    accounts: list[FollowerAccount | None] = [None]
    while len(accounts) < ACCOUNTS:
        held = {MARKET: draw.choice((*positions, draw.randint(-(10**10), 10**10)))}
        if draw.random() < 0.5:
            held["OTHER"] = draw.randint(-(10**10), 10**10)
        accounts.append(FollowerAccount(draw.choice((0, 1, 1_000 * USD, 10**12)), held))
    return [
        {
            "account": draw.choice(accounts),
            "max_leverage_e2": draw.choice((1, 98, 99, 100, 101, 2_000, draw.randint(1, 2_000))),
            "max_order_usdc_e6": draw.choice((0, 1, 10 * USD, 250 * USD, 10**13)),
        }
        for _ in range(plans)
    ]


def told(asked: SignalFacts) -> object:
    """All that a caller without the signal sees of an answer."""
    made = plan(asked)
    if made.is_charged:
        return PAID
    return made.disposition, made.reason, made.retry_at, shown_market(asked, made)


@pytest.mark.parametrize("plans", few([100, 2_000], plain=1))
def test_free_answers__tell_no_bit_of_weight_and_leverage(plans: int) -> None:
    asked, seen = questions(plans), []
    for market in MARKETS:
        answers = {
            tuple(told(replace(facts(**market), **signal, **question)) for question in asked)
            for signal in SIGNALS
        }
        assert log2(len(answers)) == 0, market
        seen.append(answers.pop())
    assert any(one == PAID for answers in seen for one in answers)
    print(f"of {len(MARKETS)} states of the market {log2(len(set(seen))):.2f} bits are told free")


def test_the_oracle__hears_what_it_is_told() -> None:
    """Where the signal is paid, the same questions tell weights and leverages apart."""
    asked = questions(200)
    paid = {
        tuple(str(plan(replace(facts(is_paid=True), **signal, **question))) for question in asked)
        for signal in SIGNALS
    }
    assert len(paid) > len(SIGNALS) // 2
