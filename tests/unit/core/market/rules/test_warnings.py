"""Each warning at both of its thresholds."""

from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.market.rules.identity import IdentityVerdict
from core.market.rules.notices import OutcomeKind
from core.market.rules.warnings import (
    EVIDENCE,
    PREDICTIVE,
    RULE_OF,
    RULES,
    ForeignOutcome,
    WarningFacts,
    WarningSign,
    WarningType,
    evidence,
    foreign_outcome,
    signs,
)
from tests.each import each
from tests.unit.core.mandate.rules.worked import table

NOW = datetime(2026, 3, 1, tzinfo=UTC)
RAISE, HOLD, CLEAR = WarningSign
T = WarningType


TAGGED = ForeignOutcome("mexc", OutcomeKind.ST_TAG, NOW)


def facts(**known: Any) -> WarningFacts:
    return WarningFacts(**known)


def depth(highest: float, lowest: float) -> WarningFacts:
    return facts(
        depth_highest_1h_usd=highest, depth_lowest_1h_usd=lowest, depth_median_7d_usd=100_000.0
    )


def halt(deposit_s: float | None, withdraw_s: float | None, scans: int) -> WarningFacts:
    return facts(deposit_closed_s=deposit_s, withdraw_closed_s=withdraw_s, closed_scans=scans)


CASES: list[tuple[WarningType, WarningFacts, WarningSign]] = [
    (T.TRANSFER_HALT, halt(1_800, 0, 2), RAISE),
    (T.TRANSFER_HALT, halt(0, 1_800, 2), RAISE),
    (T.TRANSFER_HALT, halt(1_799, 0, 2), HOLD),
    (T.TRANSFER_HALT, halt(1_800, 0, 1), HOLD),
    (T.TRANSFER_HALT, halt(0, 0, 0), CLEAR),
    (T.TRANSFER_HALT, halt(0, None, 0), HOLD),
    (T.DEPTH_COLLAPSE, depth(30_000, 10_000), RAISE),
    (T.DEPTH_COLLAPSE, depth(30_001, 10_000), HOLD),
    (T.DEPTH_COLLAPSE, depth(90_000, 49_999), HOLD),
    (T.DEPTH_COLLAPSE, depth(90_000, 50_000), CLEAR),
    (T.SPREAD_BLOWOUT, facts(spread_bps=50.01, spread_p95_7d_bps=10.0), RAISE),
    (T.SPREAD_BLOWOUT, facts(spread_bps=50.0, spread_p95_7d_bps=10.0), HOLD),
    (T.SPREAD_BLOWOUT, facts(spread_bps=20.01, spread_p95_7d_bps=10.0), HOLD),
    (T.SPREAD_BLOWOUT, facts(spread_bps=20.0, spread_p95_7d_bps=10.0), CLEAR),
    (T.GRADE_DROP, facts(letters_down_24h=2), RAISE),
    (T.GRADE_DROP, facts(letters_down_24h=1), CLEAR),
    (T.VOLUME_DRYUP, facts(volume_30d_mean_usd=49_999.0), RAISE),
    (T.VOLUME_DRYUP, facts(volume_30d_mean_usd=50_000.0), HOLD),
    (T.VOLUME_DRYUP, facts(volume_30d_mean_usd=60_000.0), CLEAR),
    (T.PRICE_FLOOR, facts(price=0.99, price_first_7d=10.0), RAISE),
    (T.PRICE_FLOOR, facts(price=1.0, price_first_7d=10.0), HOLD),
    (T.PRICE_FLOOR, facts(price=1.5, price_first_7d=10.0), CLEAR),
    (T.ST_TAG, facts(has_st_tag=True), RAISE),
    (T.ST_TAG, facts(has_st_tag=False), CLEAR),
    (T.CAUTION, facts(has_caution=True), RAISE),
    (T.CAUTION, facts(has_caution=False), CLEAR),
    (T.DELIST, facts(is_delisting_declared=True), RAISE),
    (T.DELIST, facts(is_delisting_declared=False), CLEAR),
    (T.SUSPEND, facts(is_suspension_declared=True), RAISE),
    (T.SUSPEND, facts(is_suspension_declared=False), CLEAR),
    (T.COLLISION, facts(identity=IdentityVerdict.COLLISION), RAISE),
    (T.COLLISION, facts(identity=IdentityVerdict.PARTIAL), CLEAR),
    (T.COLLISION, facts(identity=IdentityVerdict.NO_CONTRACT_DATA), HOLD),
    (T.VENUE_RISK, facts(venue_bases_closed=10), RAISE),
    (T.VENUE_RISK, facts(venue_bases_closed=9), CLEAR),
    (T.ONCHAIN_SUPPLY, facts(supply_change_24h=0.1), RAISE),
    (T.ONCHAIN_SUPPLY, facts(supply_change_24h=0.05), HOLD),
    (T.ONCHAIN_SUPPLY, facts(supply_change_24h=0.049), CLEAR),
    (T.CROSS_EXCHANGE, facts(foreign_outcomes=(TAGGED,)), RAISE),
    (T.CROSS_EXCHANGE, facts(foreign_outcomes=()), CLEAR),
]


@each(("of", "known", "sign"), CASES)
def test_a_rule__raises_and_clears_at_its_thresholds(
    of: WarningType, known: WarningFacts, sign: WarningSign
) -> None:
    assert RULE_OF[of].sign(known) is sign


def test_every_type__has_one_rule_and_cases_for_raising_and_clearing() -> None:
    assert [rule.type for rule in RULES] == list(WarningType)
    tried = {(of, sign) for of, _, sign in CASES}
    assert {(of, sign) for of in WarningType for sign in (RAISE, CLEAR)} <= tried


def test_what_is_not_known__neither_raises_nor_clears() -> None:
    assert signs(WarningFacts(), ()) == ()
    assert signs(WarningFacts(), WarningType) == ()


def test_what_an_exchange_declares__is_no_prediction() -> None:
    assert set(WarningType) - PREDICTIVE == {T.ST_TAG, T.CAUTION, T.DELIST, T.SUSPEND, T.VENUE_RISK}


def test_the_page_of_rules__is_the_table_of_the_code() -> None:
    written = [[cell.replace("`", "") for cell in row] for row in table("market.md", "warnings")]

    assert written == [
        [
            rule.type,
            rule.severity,
            "yes" if rule.is_predictive else "no",
            rule.raises,
            rule.clears,
            ", ".join(EVIDENCE[rule.type]),
        ]
        for rule in RULES
    ]


def test_a_change__is_told_once_with_what_the_rule_looked_at() -> None:
    known = halt(1_800, 0, 2)
    (change,) = signs(known, ())

    assert (change.type, change.sign) == (T.TRANSFER_HALT, RAISE)
    assert change.evidence == {
        "deposit_closed_s": "1800",
        "withdraw_closed_s": "0",
        "closed_scans": "2",
    }
    assert signs(known, {T.TRANSFER_HALT}) == ()
    assert signs(halt(0, 0, 0), ()) == ()


def test_evidence__holds_no_fact_that_is_not_known() -> None:
    known = facts(has_st_tag=True, spread_bps=1 / 3)

    assert evidence(T.ST_TAG, known) == {"has_st_tag": "true"}
    assert evidence(T.SPREAD_BLOWOUT, known) == {"spread_bps": "0.333333"}


def test_every_fact__is_looked_at_by_a_rule() -> None:
    everything = {field.name: 1 for field in fields(WarningFacts)}
    known = facts(**everything | {"foreign_outcomes": (TAGGED,)})
    seen = {of: set(evidence(of, known)) for of in WarningType}

    assert seen.pop(T.CROSS_EXCHANGE) == {"exchange", "kind", "at"}
    assert set[str]().union(*seen.values()) == everything.keys() - {"foreign_outcomes"}


def test_a_cross_flag__says_which_exchange_declared_what_and_when() -> None:
    older = ForeignOutcome("gate", OutcomeKind.DELIST, datetime(2026, 2, 1, tzinfo=UTC))
    (change,) = signs(facts(foreign_outcomes=(TAGGED, older)), ())

    assert change.evidence == {"exchange": "mexc", "kind": "st_tag", "at": "2026-03-01T00:00:00Z"}
    assert foreign_outcome(change.evidence) == TAGGED
    assert evidence(T.CROSS_EXCHANGE, facts(foreign_outcomes=())) == {}
    assert evidence(T.CROSS_EXCHANGE, facts()) == {}
    assert foreign_outcome({}) is None
    assert foreign_outcome({"foreign_outcome": "true"}) is None  # of a flag of before


numbers = st.one_of(st.none(), st.floats(0, 1e6))


@given(
    st.builds(
        WarningFacts,
        deposit_closed_s=numbers,
        withdraw_closed_s=numbers,
        closed_scans=st.one_of(st.none(), st.integers(0, 4)),
        spread_bps=numbers,
        spread_p95_7d_bps=numbers,
        price=numbers,
        price_first_7d=numbers,
        supply_change_24h=numbers,
        has_st_tag=st.one_of(st.none(), st.booleans()),
    )
)
def test_applied_once__the_same_facts_change_nothing_more(known: WarningFacts) -> None:
    standing: set[WarningType] = set()
    for change in signs(known, standing):
        standing.add(change.type)

    assert signs(known, standing) == ()
