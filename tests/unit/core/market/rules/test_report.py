"""The report's sections, its numbers in both languages, and what it says of the unknown."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.market.rules.grade import Letter
from core.market.rules.identity import Coin, ContractKey, IdentityGroup, IdentityVerdict
from core.market.rules.notices import OutcomeKind
from core.market.rules.report import (
    MOST_ROWS,
    ComparableOutcome,
    HistoryPoint,
    PairGrade,
    PairReport,
    ReportFacts,
    ReportSection,
    ReportVersion,
    WarningRow,
    bucket_at,
    pair_report,
    printed,
)
from core.market.rules.report_texts import TEXTS, ReportLanguage
from core.market.rules.research import PairPercentiles
from core.market.rules.risk import RiskFactor, RiskInputs, calibration, risk
from core.market.rules.warnings import ForeignOutcome, WarningSeverity, WarningType
from tests.each import each
from tests.unit.core.market.rules.coins import ETH, address, says

NOW = datetime(2026, 3, 1, 13, 30, tzinfo=UTC)
EN, KO = ReportLanguage
V1, V2 = ReportVersion
KEY = ContractKey(ETH, address(1))


FACTS = ReportFacts(
    exchange="upbit",
    symbol="XYZ/KRW",
    made_at=NOW,
    is_simulated=True,
    price=0.000012345,
    verdict=IdentityVerdict.VERIFIED_SAME,
    groups=(
        IdentityGroup(
            KEY, (KEY,), (Coin("binance", "XYZ"), Coin("upbit", "XYZ")), ("binance", "upbit")
        ),
    ),
    letter=Letter.B,
    grade=PairGrade(
        score=72.3512,
        is_provisional=False,
        parts=(2 / 3, 0.70849, 0.73829, 0.67474, 1.0),
        spread_bps=10.0,
        depth_usd=100_000.0,
        slip_10k_bps=20.0,
        volume_24h_usd=5e6,
        uptime=1.0,
        coverage=1.0,
    ),
    gpa_7d=3.5,
    networks=(says("upbit", "XYZ", ETH, address(1), withdraw=False, fee=None),),
    warnings=(
        WarningRow(
            WarningType.TRANSFER_HALT, WarningSeverity.CRITICAL, NOW - timedelta(days=2), None
        ),
        WarningRow(WarningType.GRADE_DROP, WarningSeverity.WARNING, NOW - timedelta(days=1), NOW),
    ),
    risk=risk(
        RiskInputs(
            volume_30d_mean_usd=20_000,
            depth_log_change=-0.25,
            gpa_7d=3.5,
            halts_30d=1,
            venues=2,
            has_cross_flag=False,
        )
    ),
    calibration=calibration([(0.5, True)]),
    history=(
        HistoryPoint(NOW - timedelta(hours=4), 100.0, 2.0, 50_000.0),
        HistoryPoint(NOW - timedelta(hours=2), 98.5, 2.0, None),
    ),
    percentiles={"spread": PairPercentiles(62.5, None), "depth": PairPercentiles(10.0, 20.0)},
    comparable=(ComparableOutcome("ABC", "bithumb", OutcomeKind.DELIST, NOW, was_foreseen=True),),
)


def report(
    version: ReportVersion = V2, language: ReportLanguage = EN, facts: ReportFacts = FACTS
) -> PairReport:
    return pair_report(facts, version, language)


def section(of: PairReport, name: str) -> ReportSection:
    return next(one for one in of.sections if one.id == name)


def cells(of: PairReport, name: str, table: int = 0) -> dict[str, str]:
    return {row[0]: row[1] for row in section(of, name).tables[table].rows}


def test_a_version__has_its_sections() -> None:
    first = ["identity", "grade", "transfer", "warnings", "risk"]

    assert [one.id for one in report(V1).sections] == first
    assert [one.id for one in report(V2).sections] == [
        *first,
        "history",
        "percentiles",
        "comparable",
        "method",
    ]


@pytest.mark.parametrize("version", ReportVersion)
def test_the_numbers__are_the_same_in_both_languages(version: ReportVersion) -> None:
    """Each text is looked at beside its translation."""
    english, korean = printed(report(version, EN)), printed(report(version, KO))

    def numbers(text: str) -> list[str]:
        return sorted(re.findall(r"\d+(?:[.,:-]\d+)*", text))

    assert [numbers(text) for text in korean] == [numbers(text) for text in english]
    assert sum(len(numbers(text)) for text in english) > 40


def test_a_korean_report__has_korean_headings() -> None:
    found = report(V2, KO)

    assert all(re.search("[가-힣]", one.heading) for one in found.sections)


def test_both_languages__have_the_same_words_and_none_is_empty() -> None:
    assert TEXTS[EN].keys() == TEXTS[KO].keys()
    assert all(text for words in TEXTS.values() for text in words.values())


@each("names", [WarningType, WarningSeverity, OutcomeKind, IdentityVerdict, RiskFactor])
def test_every_value_that_may_be_printed__has_a_word(names: type) -> None:
    assert {str(one) for one in names} <= TEXTS[EN].keys()  # type: ignore[attr-defined]  # enums


def test_simulated_data__has_its_watermark() -> None:
    assert report().watermark == "SIMULATED DATA"
    assert report(facts=replace(FACTS, is_simulated=False)).watermark is None


def test_a_wallet__is_printed_as_open_closed_or_unknown() -> None:
    (row,) = section(report(), "transfer").tables[0].rows

    assert row == (ETH, "open", "closed", "unknown")


def test_the_newest_warning__stands_first() -> None:
    rows = section(report(), "warnings").tables[0].rows

    assert [row[0] for row in rows] == ["grade dropped", "transfers halted"]
    assert rows[0][3] == "2026-03-01 13:30 UTC"
    assert rows[1][3] == "open"


def test_a_cross_flag__is_printed_with_what_the_other_exchange_declared() -> None:
    flag = WarningRow(
        WarningType.CROSS_EXCHANGE,
        WarningSeverity.WARNING,
        NOW,
        None,
        ForeignOutcome("bithumb", OutcomeKind.DELIST, NOW - timedelta(minutes=30)),
    )
    facts = replace(FACTS, warnings=(flag,))
    printed_types = [
        section(report(language=language, facts=facts), "warnings").tables[0].rows[0][0]
        for language in (EN, KO)
    ]

    assert printed_types == [
        "flag from another exchange: bithumb, delisting notice, 2026-03-01 13:00 UTC",
        "타 거래소 조치에 따른 경고: bithumb, 거래지원 종료 공지, 2026-03-01 13:00 UTC",
    ]


def test_the_grade__is_printed_with_its_inputs_and_parts() -> None:
    found = cells(report(), "grade")

    assert (found["Grade"], found["Score, 0 to 100"], found["7-day GPA, 0 to 4"]) == (
        "B",
        "72.35",
        "3.50",
    )
    assert found["Median depth within 2 %, USD"] == "100,000"
    assert section(report(), "grade").tables[1].rows[1] == ("spread", "0.7085", "0.20")


def test_what_an_empty_table_is_of__is_said_to_be_none_or_unknown() -> None:
    """A heading stood with nothing below it."""
    found = report(facts=replace(FACTS, warnings=(), networks=(), comparable=()))
    says = {
        one.id: [table.empty for table in one.tables if not table.rows] for one in found.sections
    }

    assert (says["warnings"], says["comparable"], says["transfer"]) == (
        ["none"],
        ["none"],
        ["unknown"],
    )


def test_a_gpa__is_not_called_like_how_far_its_factor_holds() -> None:
    """A GPA of 3.5 was printed as 3.50 above and as 0.00 below."""
    assert "7-day GPA, 0 to 4" not in cells(report(), "risk", 1)
    assert cells(report(), "risk", 1)["low 7-day GPA"] == "0.00"


def test_what_has_no_grade__says_unknown_and_has_no_parts() -> None:
    bare = replace(FACTS, letter=None, grade=None, price=None)
    found = report(facts=bare)

    assert cells(found, "grade")["Grade"] == "unknown"
    assert cells(found, "grade")["Provisional"] == "unknown"
    assert cells(found, "identity")["Price, KRW"] == "unknown"
    assert len(section(found, "grade").tables) == 1


def test_a_risk_of_too_little__is_unknown() -> None:
    found = cells(report(facts=replace(FACTS, risk=risk(RiskInputs()))), "risk")

    assert (found["Probability"], found["Score, 0 to 100"], found["Coverage"]) == (
        "unknown",
        "unknown",
        "0.00 %",
    )


def test_a_brier_score__is_printed_once_it_is_calibrated() -> None:
    ready = replace(FACTS, calibration=calibration([(0.5, True)] * 100))

    assert cells(report(), "risk")["Brier score"] == "unknown"
    assert cells(report(facts=ready), "risk")["Brier score"] == "0.2500"


def test_the_contributions__add_up_to_what_is_printed() -> None:
    rows = section(report(), "risk").tables[1].rows
    total = sum(float(row[2]) for row in rows if row[2] != "unknown")

    assert FACTS.risk.z == pytest.approx(-4.0 + total, abs=1e-3)


def test_a_chart__breaks_where_nothing_is_known() -> None:
    price, _, depth = section(report(), "history").charts

    assert (price.lowest, price.highest, price.newest) == ("98.5", "100", "98.5")
    assert [value for _, value in depth.points] == [50_000.0, None]
    assert depth.newest == "50,000"


def test_a_history_of_nothing__is_unknown() -> None:
    chart = section(report(facts=replace(FACTS, history=())), "history").charts[0]

    assert (chart.points, chart.lowest, chart.newest) == ((), "unknown", "unknown")


def test_a_table__has_twenty_rows_and_says_how_many_more() -> None:
    many = replace(FACTS, networks=FACTS.networks * (MOST_ROWS + 3))
    table = section(report(facts=many), "transfer").tables[0]

    assert (len(table.rows), table.left_out) == (20, 3)


@each(
    ("price", "text"),
    [
        (64_123.45, "64,123"),
        (1_234.5, "1,234.5"),
        (100.0, "100"),
        (1.23456, "1.2346"),
        (1.0, "1"),
        (0.000012345, "0.00001234"),
        (0.5, "0.5"),
        (0.0, "0"),
        (-0.25, "-0.25"),
    ],
)
def test_a_number__is_printed_without_an_exponent(price: float, text: str) -> None:
    assert cells(report(facts=replace(FACTS, price=price)), "identity")["Price, KRW"] == text


@each(("hour", "minute", "begins"), [(12, 0, 12), (13, 59, 12), (14, 0, 14), (0, 1, 0)])
def test_a_report__is_of_two_hours_from_an_even_one(hour: int, minute: int, begins: int) -> None:
    assert bucket_at(NOW.replace(hour=hour, minute=minute)) == NOW.replace(hour=begins, minute=0)
