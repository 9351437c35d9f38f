"""What the venue answers, parsed: hostile until it has passed here.

Numbers are texts of digits; NaN, exponents, JSON numbers and what is too long are refused. An
answer may have more fields than are read. Source: docs/perpetuals.md#what-is-read.
"""

import re
from collections.abc import Mapping
from typing import Any

from core.errors import OutsideError
from core.money import MAX_ABS_USDC_E6, UsdcE6
from core.perps.rules.leg import AccountReading, Degraded

DECIMALS = 18
# Accounts whose perpetual balance counts by itself; in other modes spot balances count too, and
# accountValue alone would be wrong.
READ_MODES = frozenset({"disabled", "default"})
LONGEST = 100
_DECIMAL = re.compile(r"(-?)([0-9]{1,15})(?:\.([0-9]{1,18}))?", re.ASCII)
_SCALE = 10 ** (DECIMALS - 6)


class VenueAnswerError(OutsideError):
    """The venue answered something else than it documents."""


def worth_usdc_e6(answer: Any) -> UsdcE6:
    """marginSummary.accountValue of clearinghouseState, rounded towards minus infinity.

    Errors: VenueAnswerError.
    """
    summary = object_of(answer, "clearinghouseState").get("marginSummary")
    value = decimal_e18(object_of(summary, "marginSummary").get("accountValue"), "accountValue")
    worth = value // _SCALE
    if abs(worth) > MAX_ABS_USDC_E6:
        raise VenueAnswerError("accountValue is beyond plus or minus 1e12")
    return UsdcE6(worth)


def decimal_e18(value: Any, name: str) -> int:
    """A decimal text as an integer of 1e-18. Errors: VenueAnswerError."""
    found = _DECIMAL.fullmatch(value) if isinstance(value, str) and len(value) < LONGEST else None
    if found is None:
        raise VenueAnswerError(f"{name} is not a decimal")
    sign, whole, fraction = found.groups()
    size: int = int(whole) * 10**DECIMALS + int((fraction or "").ljust(DECIMALS, "0"))
    return -size if sign == "-" else size


def is_plain_user(role: Any, mode: Any) -> bool:
    """Whether the account is one whose perpetual worth can be read by itself.

    Errors: VenueAnswerError.
    """
    if not isinstance(mode, str):
        raise VenueAnswerError("userAbstraction is not a word")
    return _role(role) == "user" and mode in READ_MODES


def is_agent_of(role: Any, owner: str) -> bool:
    """Whether the venue takes the agent's key for the owner. Errors: VenueAnswerError."""
    if _role(role) != "agent":
        return False
    user = object_of(object_of(role, "userRole").get("data"), "userRole.data").get("user")
    if not isinstance(user, str):
        raise VenueAnswerError("userRole.data.user is not an address")
    return user.lower() == owner.lower()


def reading_of(
    *, owner_role: Any, mode: Any, agent_role: Any, state: Any, owner: str
) -> AccountReading:
    """One reading of four answers. Errors: VenueAnswerError."""
    if not is_plain_user(owner_role, mode):
        return AccountReading(worth_usdc_e6=None, reason=Degraded.ACCOUNT_MODE)
    worth = worth_usdc_e6(state)
    reason = None if is_agent_of(agent_role, owner) else Degraded.KEY_LOST
    return AccountReading(worth_usdc_e6=worth, reason=reason)


def object_of(value: Any, name: str) -> Mapping[str, Any]:
    """Errors: VenueAnswerError."""
    if not isinstance(value, Mapping):
        raise VenueAnswerError(f"{name} is not an object")
    return value


def _role(answer: Any) -> str:
    role = object_of(answer, "userRole").get("role")
    if not isinstance(role, str):
        raise VenueAnswerError("userRole.role is not a word")
    return role
