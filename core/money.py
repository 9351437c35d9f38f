"""Money: int USDC base units (1e-6) inside, strings with six decimals outside, never a float.

Laws
- Every conversion is here; where one rounds, the direction is in its name.
- Text is read as text: a JSON number's literal never passes through binary floating point.
"""

import re
from functools import lru_cache
from typing import NewType

from core.errors import InvalidNumberError

# USDC base units, 1_000_000 = 1 USDC; signed where a delta is meant
UsdcE6 = NewType("UsdcE6", int)
Bps = NewType("Bps", int)  # 10_000 = 100 %
UnixSeconds = NewType("UnixSeconds", int)

USDC_E6_PER_USDC = 1_000_000
BPS_ONE = 10_000
MAX_ABS_USDC_E6 = 10**12 * USDC_E6_PER_USDC  # inclusive; docs/rules.md#numbers

# without a sign, 13 digits and 10^12 USDC at most; for JSON Schema too
AMOUNT_PATTERN = r"(0?[0-9]{1,12}(\.[0-9]{1,6})?|1000000000000(\.0{1,6})?)"

LONGEST = 21  # characters: a sign, 13 digits, a point, 6 digits
_AMOUNT = re.compile(f"-?{AMOUNT_PATTERN}")
_TOO_LARGE = re.compile(r"-?[0-9]{13,}(\.[0-9]{1,6})?")


def usdc_e6_from_text(text: str, field: str = "amount_usdc") -> UsdcE6:
    """Read an amount of USDC as written: `"12.5"` is 12_500_000.

    Form: `-?digits(1..13)[.digits(1..6)]`, ASCII, within plus or minus 1e12. Exact, nothing is
    rounded.
    Errors: InvalidNumberError. Source: docs/rules.md#numbers.
    """
    found = usdc_e6_or_none(text)
    if found is None:
        is_large = _TOO_LARGE.fullmatch(text) is not None
        rule = (
            "stay within plus or minus 1000000000000"
            if is_large
            else "write a decimal with at most 6 decimals, such as 12.500000"
        )
        raise InvalidNumberError(field, text, rule)
    return found


def usdc_e6_or_none(text: str) -> UsdcE6 | None:
    """As `usdc_e6_from_text`; None where that is an error."""
    return _base_units(text) if len(text) <= LONGEST else None


@lru_cache(maxsize=4_096)
def _base_units(text: str) -> UsdcE6 | None:
    """A ledger has few different amounts. None: another form."""
    if not _AMOUNT.fullmatch(text):
        return None
    sign = -1 if text.startswith("-") else 1
    whole, _, fraction = text.lstrip("-").partition(".")
    return UsdcE6(sign * (int(whole) * USDC_E6_PER_USDC + int(fraction.ljust(6, "0"))))


def usdc_text(amount_usdc_e6: int) -> str:
    """Write base units with six decimals: 12_500_000 is `"12.500000"`."""
    if amount_usdc_e6 < 0:
        return "-" + usdc_text(-amount_usdc_e6)
    return f"{amount_usdc_e6 // USDC_E6_PER_USDC}.{amount_usdc_e6 % USDC_E6_PER_USDC:06d}"


def eth_text(wei: int) -> str:
    """Write wei as ether with six decimals, rounded up: 450_000_000_000_000 is `"0.000450"`, and 1
    is `"0.000001"`.
    """
    whole, millionths = divmod(-(-wei // 10**12), 10**6)
    return f"{whole}.{millionths:06d}"


def usdc_text_or_none(amount_usdc_e6: int | None) -> str | None:
    """Write base units with six decimals; unknown stays unknown, never 0.000000."""
    return None if amount_usdc_e6 is None else usdc_text(amount_usdc_e6)


def bps_of_down(amount_usdc_e6: int, bps: int) -> UsdcE6:
    """`bps` of an amount, rounded towards minus infinity.

    Source: MandateVaultFactory (stop floor, agent fee).
    """
    return UsdcE6(amount_usdc_e6 * bps // BPS_ONE)
