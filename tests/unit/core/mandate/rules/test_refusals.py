"""The six reasons, and what an agent may report."""

import pytest

from core.errors import InvalidNumberError, InvalidParameterError
from core.mandate.rules.rows import (
    reason_as_recorded,
    reason_code,
    refusal_report,
)
from core.money import UsdcE6
from tests.each import each

TX = "0x" + "Ab" * 32


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


@each("tx_hash", ["0x12", TX[:-1], TX + "0", TX[2:], "0x" + "zz" * 32])
def test_report__with_a_malformed_hash__is_refused(tx_hash: str) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        refusal_report("OverDailyCap", tx_hash, None)
    assert refused.value.field == "tx_hash"


def test_report__amount_of_zero_is_kept_and_below_zero_refused() -> None:
    assert refusal_report("OverDailyCap", TX, UsdcE6(0)).amount_usdc_e6 == 0
    with pytest.raises(InvalidNumberError):
        refusal_report("OverDailyCap", TX, UsdcE6(-1))
