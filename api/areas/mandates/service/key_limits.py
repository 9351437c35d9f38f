"""What the owner lets an agent's key build, in USD: a call, and a UTC day
(docs/identity.md#limits-in-usd).

    per order   the call's amount_usdc                                   at most per_order_usd
    per day     what left the agent's mandates since 00:00 UTC
                + what the guard signed that is outstanding + amount     at most per_day_usd

The day counts what the ledgers say of all mandates that name the agent: what the chain executed, and
on paper what the agent reported. Of a ledger that is
short of facts nobody here knows what left: while a mandate that counts has one, a key with a limit
a day builds no call. A call that is built and not sent counts nothing, but for a payment: what the
guard signed counts until the record has it mined, or until its deadline has passed in the record's
newest block. What is asked for again while it can still be paid is answered with the same
signature, and counts once. An agent has MOST_OUTSTANDING of them at most, so that the chain is
asked about each in one call. USDC counts as one USD. These limits guard the key at this service;
the vault's own caps stand in the contract.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from api.areas.mandates.service.views import readings_of
from api.kernel.caller import AgentCaller
from api.kernel.operation import Call, Refusal, WriteCall
from api.payments.offer import ADAPTER
from api.shared.sessions import lock_caller
from core.blocks.queries import latest_block
from core.errors import OutsideError
from core.mandate import queries as mandates
from core.mandate import rows as mandate_rows
from core.mandate.rows import mandate_facts
from core.mandate.rules.lifecycle import ACTIVE
from core.mandate.rules.rows import RowKind
from core.mandate.rules.violations import outflows
from core.mandate.tables import Mandate
from core.money import usdc_text
from core.payments import guard_signatures
from core.payments.chain import used_nonces
from core.payments.guard_signatures import SignedByGuard
from core.times import instant_text, next_day, start_of_day

MOST_LIVE = 1_000
MOST_OUTSTANDING = 200  # signatures of an agent that have not ended, mined ones among them
INSTANT = timedelta(microseconds=1)


Mined = frozenset[tuple[str, str]]
"""(vault, nonce) of signed payments that the record has."""


def require_within_key_limits(call: Call, caller: AgentCaller, amount_usdc_e6: int) -> Mined:
    """What of the outstanding payments was found mined, for `keep_signed`.

    Errors: Refusal spend_limit_reached.
    """
    if caller.per_order_usdc_e6 is not None and amount_usdc_e6 > caller.per_order_usdc_e6:
        limit = usdc_text(caller.per_order_usdc_e6)
        detail = (
            f"Your key may spend {limit} USD per call, and this call asks for "
            f"{usdc_text(amount_usdc_e6)}; ask for less."
        )
        raise Refusal("spend_limit_reached", detail, remaining={"per_order_usd": limit})
    if caller.per_day_usdc_e6 is None:
        return frozenset()
    day = _day_of(call, caller.account_id)
    if day.left_of(caller.per_day_usdc_e6) >= amount_usdc_e6:
        return frozenset()
    mined = _mined(call, day)
    _require_left(call, day.without(mined), caller.per_day_usdc_e6, amount_usdc_e6)
    return mined


def keep_signed(
    call: WriteCall,
    caller: AgentCaller,
    signed: SignedByGuard,
    mined: Mined,
    is_same: Callable[[SignedByGuard], bool],
) -> SignedByGuard:
    """Count what the guard signed, before anybody sees it.

    Calls of one agent come one after the other here, and no node is asked.

    `is_same`: pays for the same as `signed`, and still can. One that is counted already is
    answered, and nothing is counted.
    Errors: Refusal spend_limit_reached, rate_limited, or auth_invalid when the key was replaced
    meanwhile: what was signed is forgotten.
    """
    lock_caller(call, caller)
    newest_s = _newest(call)[1]
    outstanding = guard_signatures.outstanding(call.db, caller.account_id, newest_s)
    before = next((one for one in outstanding if is_same(one)), None)
    if before is not None:
        return before
    _require_few(outstanding)
    if caller.per_day_usdc_e6 is not None:
        _require_left(
            call,
            _day_of(call, caller.account_id).without(mined),
            caller.per_day_usdc_e6,
            signed.amount_usdc_e6,
        )
    guard_signatures.keep(call.db, caller.account_id, signed, newest_s, call.now)
    return signed


def _require_few(outstanding: Sequence[SignedByGuard]) -> None:
    """Errors: Refusal rate_limited until the first of them has ended."""
    if len(outstanding) < MOST_OUTSTANDING:
        return
    again = _after(outstanding[len(outstanding) - MOST_OUTSTANDING])
    detail = (
        f"The guard has signed {len(outstanding)} payments for you that have not expired, "
        f"and {MOST_OUTSTANDING} is the limit; call again from {instant_text(again)} on."
    )
    raise Refusal("rate_limited", detail, retry_at=again)


@dataclass(frozen=True, slots=True)
class _Day:
    """What counts today.

    `height`: the record's newest block when it was looked at; None: it has none.
    """

    spent_usdc_e6: int
    outstanding: Sequence[SignedByGuard]
    height: int | None

    @property
    def signed_usdc_e6(self) -> int:
        return sum(one.amount_usdc_e6 for one in self.outstanding)

    def left_of(self, limit_usdc_e6: int) -> int:
        return max(0, limit_usdc_e6 - self.spent_usdc_e6 - self.signed_usdc_e6)

    def without(self, mined: Mined) -> "_Day":
        return replace(
            self,
            outstanding=[one for one in self.outstanding if (one.vault, one.nonce) not in mined],
        )


def _day_of(call: Call, agent_id: int) -> _Day:
    """The newest block is looked at first: what was mined up to it is in what is read after.

    Errors: Refusal temporarily_unavailable.
    """
    height, newest_s = _newest(call)
    signed = guard_signatures.outstanding(call.db, agent_id, newest_s)
    return _Day(spent_since_usdc_e6(call, agent_id, start_of_day(call.now)), signed, height)


def _newest(call: Call) -> tuple[int | None, int]:
    """Height and time of the record's newest block; the clock where it has none."""
    block = latest_block(call.db, call.deps.chain_id)
    return (None, int(call.now.timestamp())) if block is None else block


def _mined(call: Call, day: _Day) -> Mined:
    """Those that are used at the record's newest block.

    None is known while no node has that block.
    """
    asked = [(one.vault, one.nonce) for one in day.outstanding]
    adapter = call.deps.contracts.get(ADAPTER)
    if day.height is None or adapter is None or not asked:
        return frozenset()
    try:
        return used_nonces(call.deps.chain, adapter, asked, day.height)
    except OutsideError:
        return frozenset()


def _require_left(call: Call, day: _Day, limit_usdc_e6: int, amount_usdc_e6: int) -> None:
    left = day.left_of(limit_usdc_e6)
    if amount_usdc_e6 <= left:
        return
    signed = (
        f", besides {usdc_text(day.signed_usdc_e6)} that is signed but not mined"
        if day.outstanding
        else ""
    )
    again = _again(call, day, limit_usdc_e6 - amount_usdc_e6)
    detail = (
        f"Your key may spend {usdc_text(limit_usdc_e6)} USD per UTC day and has "
        f"{usdc_text(left)} left{signed}, less than the {usdc_text(amount_usdc_e6)} of this "
        f"call; ask for less, or call again from {instant_text(again)} on."
    )
    raise Refusal(
        "spend_limit_reached", detail, remaining={"per_day_usd": usdc_text(left)}, retry_at=again
    )


def _again(call: Call, day: _Day, most_usdc_e6: int) -> datetime:
    """When at most that much counts: after as many deadlines as it takes, else when the next day
    begins.
    """
    counts, tomorrow = day.spent_usdc_e6 + day.signed_usdc_e6, next_day(call.now)
    for one in day.outstanding:
        counts -= one.amount_usdc_e6
        if counts <= most_usdc_e6:
            return min(tomorrow, _after(one))
    return tomorrow


def _after(signed: SignedByGuard) -> datetime:
    """The first second at which it is over."""
    return datetime.fromtimestamp(signed.deadline + 1, UTC)


def spent_since_usdc_e6(call: Call, agent_id: int, since: datetime) -> int:
    """What left the cash of the agent's mandates from `since` on (inclusive).

    Errors: Refusal temporarily_unavailable.
    """
    counted = mandates.spending_mandates_of_agent(call.db, agent_id, since)
    _require_known(
        call, [*counted, *mandates.mandates_of_agent(call.db, agent_id, ACTIVE, None, MOST_LIVE)]
    )
    spent = 0
    for mandate in counted:
        rows = mandate_rows.standing_since(
            call.db, mandate.id, since - INSTANT, (RowKind.MOVE, RowKind.BUY)
        )
        spent += sum(outflow.amount_usdc_e6 for outflow in outflows(rows, mandate_facts(mandate)))
    return spent


def _require_known(call: Call, found: list[Mandate]) -> None:
    """A ledger that shows no spending may lack it. Errors: Refusal temporarily_unavailable."""
    readings = readings_of(call, found)
    for mandate in found:
        short = readings[mandate.id].short
        if short is not None:
            raise Refusal(
                "temporarily_unavailable",
                f"What mandate {mandate.public_id} spent today is not known. {short.reason}",
            )
