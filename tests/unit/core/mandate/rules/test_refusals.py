"""The six reasons, and what an agent may report."""

import pytest

from core.errors import InvalidNumberError, InvalidParameterError
from core.mandate.rules.clauses import CLAUSE_NUMBERS
from core.mandate.rules.refusals import (
    CLAUSE_KEYS,
    MEANINGS,
    RefusalReason,
    RefusalReport,
    reason_as_recorded,
    reason_code,
    refusal_report,
    refused_text,
)
from core.money import UsdcE6
from tests.each import each

TX = "0x" + "Ab" * 32


def test_reasons__are_the_six_of_the_specification() -> None:
    assert [reason.value for reason in RefusalReason] == [
        "TargetNotAllowed",
        "OverPerTxCap",
        "OverDailyCap",
        "MandateStopped",
        "MandateEnded",
        "server_guard",
    ]
    assert set(MEANINGS) == set(CLAUSE_KEYS) == set(RefusalReason)
    assert set(CLAUSE_KEYS.values()) <= set(CLAUSE_NUMBERS)


@each(
    ("error_name", "recorded"),
    [
        ("OverPerTxCap", "OverPerTxCap"),
        ("server_guard", "server_guard"),
        ("OverBudget", "unknown"),
        ("overpertxcap", "unknown"),
        (None, "unknown"),
    ],
)
def test_reason__outside_the_six__reads_unknown(error_name: str | None, recorded: str) -> None:
    assert reason_as_recorded(error_name) == recorded


@each(
    ("reason", "code"),
    [
        ("OverPerTxCap", "over_per_tx_cap"),
        ("MandateStopped", "mandate_stopped"),
        ("server_guard", "server_guard"),
        ("unknown", "unknown"),
    ],
)
def test_code__of_a_reason__is_snake_case(reason: str, code: str) -> None:
    assert reason_code(reason) == code


def test_report__is_kept_with_a_lower_case_hash() -> None:
    report = refusal_report("OverDailyCap", TX, UsdcE6(5))
    assert report == RefusalReport(RefusalReason.OVER_DAILY_CAP, TX.lower(), UsdcE6(5))
    assert refused_text(report.reason) == "Refused: OverDailyCap"


def test_report__without_hash_and_amount__is_kept() -> None:
    assert refusal_report("server_guard", None, None) == RefusalReport(
        RefusalReason.SERVER_GUARD, None, None
    )


@each("reason", ["unknown", "OverBudget", "", "overdailycap"])
def test_report__with_another_reason__is_refused(reason: str) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        refusal_report(reason, TX, None)
    assert refused.value.field == "reason"


@each("tx_hash", ["0x12", TX[:-1], TX + "0", TX[2:], "0x" + "zz" * 32])
def test_report__with_a_malformed_hash__is_refused(tx_hash: str) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        refusal_report("OverDailyCap", tx_hash, None)
    assert refused.value.field == "tx_hash"


def test_report_of_the_guard__with_a_hash__is_refused() -> None:
    with pytest.raises(InvalidParameterError):
        refusal_report("server_guard", TX, None)


def test_report__amount_of_zero_is_kept_and_below_zero_refused() -> None:
    assert refusal_report("OverDailyCap", TX, UsdcE6(0)).amount_usdc_e6 == 0
    with pytest.raises(InvalidNumberError):
        refusal_report("OverDailyCap", TX, UsdcE6(-1))
