"""Refuses the calls of a network address without a key that are more than its operation's figure
allows in 60 seconds (api/kernel/address_rates.py).
"""

from api.kernel.address_rates import AddressRates
from api.kernel.credentials import Credentials
from api.kernel.operation import Deps, Operation, Refusal
from api.kernel.outcome import Outcome
from api.kernel.refusals import refused
from core.times import instant_text, whole_second


def over_rate(operation: Operation, credentials: Credentials, deps: Deps) -> Outcome | None:
    """The refusal; None: the call is counted, or need not be. Whoever sends a key is held to the
    ceiling of its day instead.
    """
    name = operation.bounds.per_minute
    if name is None or credentials.key is not None:
        return None
    most, now = int(getattr(deps.limits, name)), deps.clock()
    again_at = deps.parts.of(AddressRates).count(name, credentials.client, most, now)
    if again_at is None:
        return None
    with deps.metrics.serving(operation.key) as served:
        at = whole_second(again_at)
        detail = (
            f"A network address may make {most} of these calls a minute without a key; call again from "
            f"{instant_text(at)} on, or send an agent's key in X-SVC-User-Key."
        )
        refusal = Refusal("rate_limited", detail, retry_at=at, next_calls=("identity.connect",))
        outcome = refused(refusal, operation, {}, now, deps.catalogue)
        served.answered(outcome.status, outcome.body)
    return outcome
