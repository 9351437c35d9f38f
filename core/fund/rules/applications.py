"""Who applies for a pilot on an index, what bond that takes, and what becomes of both
(docs/fund.md#applications).

    submitted --approve--> approved: its vault is the applicant's pilot
        |
        +-----reject-----> rejected

    bond  held --rejected, or the pilot is 14 days old--> due --given back--> returned

Laws
- The server computes the bond; nobody sends one. In USDC it follows the cap on assets. Credit has no
  rate in dollars: in credits it is what operators set for this very account
  (docs/decisions/0038).
- A bond is given back once, whole, and never kept.
- Approved and rejected are final.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from core.errors import InvalidNumberError, InvalidParameterError, MandateError
from core.fund.rules.frozen import LEVERAGE_E2_ONE, FundKind, leverage_text
from core.fund.rules.journey import SPOT_PILOT
from core.money import UsdcE6

PLAN_CHARACTERS: Final = 2_000
BOND_SHARE: Final = 4  # a quarter of the cap on assets
LEAST_BOND_USDC_E6: Final = UsdcE6(100_000_000)
CENT_USDC_E6: Final = 10_000
MOST_FEE_BPS: Final = 1_000


class FundType(StrEnum):
    PASSIVE = "passive"
    ACTIVE = "active"


class Cadence(StrEnum):
    """How often a fund says that it rebalances."""

    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    QUARTERLY = "quarterly"


class BondCurrency(StrEnum):
    USDC = "usdc"
    CREDIT = "credit"


class ApplicationState(StrEnum):
    SUBMITTED = "submitted"
    APPROVED = "approved"
    REJECTED = "rejected"


class BondState(StrEnum):
    HELD = "held"
    DUE = "due"
    RETURNED = "returned"


class ApplicationMoveKind(StrEnum):
    """What happens to an application, each once at most."""

    APPROVED = "approved"
    REJECTED = "rejected"
    BOND_RETURNED = "bond_returned"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewApplication:
    """`fee_bps`: of the assets, a year. `categories`: empty: the whole index."""

    index_id: int
    categories: tuple[str, ...]
    fund_type: FundType
    plan_text: str
    cadence: Cadence
    leverage_e2: int
    fee_bps: int
    tvl_cap_usdc_e6: UsdcE6
    bond_currency: BondCurrency

    @property
    def kind(self) -> FundKind:
        return FundKind.SPOT if self.leverage_e2 == LEVERAGE_E2_ONE else FundKind.PERP


class ApplicationStateError(MandateError):
    """An application that is decided already is not decided again."""

    def __init__(self, state: ApplicationState, wanted: ApplicationState) -> None:
        super().__init__(f"The application is {state}; only a submitted one can be {wanted}")
        self.state = state


class BondNotDueError(MandateError):
    """`until`: the bond is held until then; None: it was given back, or nobody has decided yet."""

    def __init__(self, state: BondState, until: datetime | None) -> None:
        super().__init__(f"The bond is {state}; only one that is due is given back")
        self.state = state
        self.until = until


def bond_usdc_e6(tvl_cap_usdc_e6: UsdcE6) -> UsdcE6:
    """A quarter of the cap, at least 100 USDC, rounded up to the cent."""
    least = max(LEAST_BOND_USDC_E6 * BOND_SHARE, tvl_cap_usdc_e6)
    return UsdcE6(-(-least // (BOND_SHARE * CENT_USDC_E6)) * CENT_USDC_E6)


def require_application(new: NewApplication, known: Sequence[str]) -> None:
    """`known`: the categories of the index. Errors: InvalidParameterError, InvalidNumberError."""
    if len(set(new.categories)) < len(new.categories):
        raise InvalidParameterError("filter_categories", "name each category once")
    if any(one not in known for one in new.categories):
        advice = f"name categories of this index: {', '.join(known)}" if known else "leave it empty"
        raise InvalidParameterError("filter_categories", advice)
    if new.leverage_e2 < LEVERAGE_E2_ONE:
        raise InvalidNumberError(
            "leverage",
            leverage_text(new.leverage_e2),
            "write 1.00 for a spot pilot, or more for a perp one",
        )
    if new.fund_type is FundType.PASSIVE and new.kind is FundKind.PERP:
        raise InvalidNumberError(
            "leverage", leverage_text(new.leverage_e2), "a passive fund has 1.00"
        )
    if not 0 <= new.fee_bps <= MOST_FEE_BPS:
        raise InvalidNumberError(
            "fee_bps", str(new.fee_bps), f"write 0 to {MOST_FEE_BPS} basis points a year"
        )


def require_undecided(state: ApplicationState, wanted: ApplicationState) -> None:
    """Errors: ApplicationStateError."""
    if state is not ApplicationState.SUBMITTED:
        raise ApplicationStateError(state, wanted)


def bond_due_at(state: ApplicationState, decided_at: datetime | None) -> datetime | None:
    """From when on the bond is to be given back (inclusive); None: nobody has decided yet."""
    if decided_at is None:
        return None
    return decided_at + SPOT_PILOT if state is ApplicationState.APPROVED else decided_at


def bond_state(due_at: datetime | None, now: datetime, *, is_returned: bool) -> BondState:
    if is_returned:
        return BondState.RETURNED
    return BondState.DUE if due_at is not None and now >= due_at else BondState.HELD


def require_due(due_at: datetime | None, now: datetime, *, is_returned: bool) -> None:
    """Errors: BondNotDueError."""
    state = bond_state(due_at, now, is_returned=is_returned)
    if state is not BondState.DUE:
        raise BondNotDueError(state, None if is_returned else due_at)
