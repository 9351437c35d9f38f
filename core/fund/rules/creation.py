"""When a maker may ask for a vault of its own, and what becomes of the request
(docs/fund.md#creation-requests).

    requested --approve--> approved --mark-created(address)--> created
        |                     |
        +-------reject(reason)+----------------------------> rejected

Laws
- A perp vault is never asked for. A spot vault is from the pilot's thirtieth day on:

    began                        began + 30 days
    |--- too young --------------)--- may be asked for
    inclusive                    exclusive

- A vault has one request that is not rejected; asking again finds it. After a rejection the maker
  may ask again, which is another request.
- Created and rejected are final.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from core.errors import InvalidParameterError, MandateError
from core.fund.rules.frozen import FundKind

LEAST_PILOT: Final = timedelta(days=30)
REASON_CHARACTERS: Final = 500
ZERO_ADDRESS: Final = bytes(20)


class CreationState(StrEnum):
    REQUESTED = "requested"
    APPROVED = "approved"
    CREATED = "created"
    REJECTED = "rejected"


# From which states an operator brings a request to this one.
REACHED_FROM: Final[Mapping[CreationState, tuple[CreationState, ...]]] = {
    CreationState.APPROVED: (CreationState.REQUESTED,),
    CreationState.CREATED: (CreationState.APPROVED,),
    CreationState.REJECTED: (CreationState.REQUESTED, CreationState.APPROVED),
}
WAITING: Final = (CreationState.REQUESTED, CreationState.APPROVED)  # for an operator


class PerpVaultError(MandateError):
    """A perp vault is never created by request."""


class PilotTooYoungError(MandateError):
    """`until`: from then on the vault may be asked for."""

    def __init__(self, until: datetime) -> None:
        super().__init__(f"the pilot is 30 days old at {until.isoformat()}")
        self.until = until


class CreationStateError(MandateError):
    """The request is in a state that does not lead to the wanted one."""

    def __init__(self, state: CreationState, wanted: CreationState) -> None:
        allowed = " or ".join(REACHED_FROM[wanted])
        super().__init__(f"The request is {state}; only one that is {allowed} can be {wanted}")
        self.state = state


def require_pilot(kind: FundKind, began_at: datetime, now: datetime) -> None:
    """Errors: PerpVaultError, PilotTooYoungError."""
    if kind is FundKind.PERP:
        raise PerpVaultError("a perp vault is not created by request")
    if now < began_at + LEAST_PILOT:
        raise PilotTooYoungError(began_at + LEAST_PILOT)


def require_move(state: CreationState, wanted: CreationState) -> None:
    """Errors: CreationStateError."""
    if state not in REACHED_FROM[wanted]:
        raise CreationStateError(state, wanted)


def require_created_at(address: bytes) -> None:
    """Errors: InvalidParameterError."""
    if address == ZERO_ADDRESS:
        raise InvalidParameterError("address", "the zero address is not a vault")
