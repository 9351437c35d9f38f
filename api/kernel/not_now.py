"""What a call is told that this process cannot serve now, through no fault of the call."""

from datetime import timedelta

from api.kernel.operation import Deps, Refusal
from api.kernel.workers import TURN_WAIT_S, BusyError, NoTurnError

RETRY_S = 5  # after that a call's turn comes more likely


def busy(deps: Deps, error: BusyError) -> Refusal:
    """Nothing was begun, and nothing of it is kept."""
    if isinstance(error, NoTurnError):
        return _later(
            deps,
            f"This service is busy: the call waited {TURN_WAIT_S:.0f} s for its turn and was not "
            "begun; send it again later.",
        )
    return _later(
        deps,
        "As many calls of your network address as may wait are waiting; send this one again "
        "later, and fewer at a time.",
    )


def ending(deps: Deps) -> Refusal:
    """The process was asked to end and its grace is over: the call may be done or not."""
    return _later(
        deps,
        "This process ends before the call was answered; whether it was done is not known. Send "
        "it again: a read as it is, a write with the same Idempotency-Key (without one, look first "
        "at what it changes), a paid call with the same payment.",
    )


def settling_busy(deps: Deps) -> Refusal:
    """Nothing of the payment was begun."""
    return _later(
        deps,
        "As many payments as this service takes at a time are being settled; send the same "
        "call with the same payment again.",
    )


def _later(deps: Deps, detail: str) -> Refusal:
    at = deps.clock() + timedelta(seconds=RETRY_S)
    return Refusal("temporarily_unavailable", detail, retry_at=at)
