"""The operator's own orders: prepare, execute, record (docs/operator-orders.md).

Laws
- One account, the operator's; whoever is not the operator is refused before anything is read.
- No key is taken, kept or answered: what is signed is relayed as it came, and not kept.
- Calls about the account go one by one, venue included, so that two orders never share what a cap
  leaves.
- Nothing is relayed that is not a committed row. Whoever finds an order without an answer asks the
  venue by its confirm_id first.
"""

from collections.abc import Sequence
from datetime import timedelta

from api.areas.orders.schemas import (
    ExecuteOrder,
    OperatorOrderShown,
    OrderPrepared,
    PrepareOrder,
    RecordOrder,
    ToSignShown,
)
from api.kernel.caller import OperatorCaller
from api.kernel.operation import Answer, Call, NextCall, Refusal, WriteCall
from api.kernel.refusals import feature_off
from core.chain.signatures import recovered_address
from core.errors import InvalidParameterError, OutsideError
from core.fund import queries as fund
from core.money import UsdcE6, usdc_text
from core.perps import operator_orders as rows
from core.perps.hyperliquid_desk import OperatorDesk
from core.perps.operator_orders import PreparedOrder
from core.perps.rules.operator_orders import (
    LIVE_TYPES,
    ClaimedOutcome,
    NotReducingError,
    OrderState,
    OutcomeDisprovedError,
    OverOrderCapError,
    StrangeSignalError,
    e8_of,
    found_state,
    largest_fill_usdc_e6,
    left_today_usdc_e6,
    operator_order,
    require_borne_out,
    require_caps,
    require_follows,
    require_reducing,
    state_of,
)
from core.perps.rules.orders import (
    SKEW_S,
    UNKNOWN,
    OrderAnswer,
    OrderOutcome,
    VenueMarket,
    VenueOrder,
    e8_text,
)
from core.times import instant_text, next_day

DEX = ""  # the venue's own markets
NOTES = {
    OrderState.PREPARED: "Nothing is sent. Sign sign.typed_data and hand the signature to "
    "/mandate-wallet/order/execute before expires_at.",
    OrderState.ACCEPTED: "The venue took the order; what a resting order fills later is at the venue.",
    OrderState.REJECTED: "The venue rejected the order. Its signer can send it again until expires_at; 30 s "
    "after that, the same call gives the final answer.",
    OrderState.UNKNOWN: "The venue did not answer. Send the same call again: it takes what you signed "
    "once.",
    OrderState.NEVER_ARRIVED: "The order never reached the venue and no longer can; prepare a new one.",
}
SURELY_REJECTED = (
    "The venue rejected the order; nothing was filled, and nothing can be filled later."
)


def prepare(
    call: WriteCall, caller: OperatorCaller, command: PrepareOrder
) -> Answer[OrderPrepared]:
    """Errors: Refusal, InvalidNumberError, InvalidParameterError, OutsideError."""
    desk = _desk(call)
    if command.type not in LIVE_TYPES:
        raise Refusal(
            "order_type_not_live",
            f"type: {' and '.join(LIVE_TYPES)} are available, {command.type} is not yet; "
            "write one of them.",
        )
    rows.lock_account(call.db, desk.account)
    market = _market(desk, command.coin)
    limit_px = command.limit_px
    order = operator_order(
        market,
        coin=command.coin,
        side=command.side,
        kind=command.type,
        size_e8=e8_of("size", command.size),
        limit_px_e8=None if limit_px is None else e8_of("limit_px", limit_px),
        reduce_only=command.reduce_only,
        allowance_bps=desk.allowance_bps,
    )
    largest = largest_fill_usdc_e6(order, market.mid_e8, desk.allowance_bps)
    placed = rows.placed_today(call.db, desk.account, call.now)
    left = left_today_usdc_e6(placed, desk.caps, call.now)
    if order.reduce_only:
        _require_reducing(desk, order)
    else:
        left = _room(call, desk, largest, placed)
    made = rows.prepare(
        call.db,
        desk.account,
        order,
        kind=command.type,
        largest_usdc_e6=largest,
        by_id=caller.account_id,
        now=call.now,
    )
    sign = desk.venue.to_sign(order, made.cloid, nonce_ms=made.nonce_ms, expires_at=made.expires_at)
    return Answer(
        OrderPrepared(
            **_shown(desk, made).model_dump(),
            mid=e8_text(market.mid_e8),
            left_today_usdc=usdc_text(left),
            nonce=made.nonce_ms,
            sign=ToSignShown(digest=sign.digest, typed_data=dict(sign.typed_data)),
        ),
        201,
    )


def execute(
    call: WriteCall, caller: OperatorCaller, command: ExecuteOrder
) -> Answer[OperatorOrderShown]:
    """Errors: Refusal, OutsideError while nothing was relayed."""
    desk = _desk(call)
    rows.lock_account(call.db, desk.account)
    held = _held(call, desk, command.confirm_id)
    signer = _signer(desk, held, command.signature)
    if held.is_settled:
        return Answer(_shown(desk, held))
    answer = desk.venue.find(desk.account, held.cloid)
    found = found_state(answer, held.state, held.expires_at, call.now)
    if found is None:
        if held.state is OrderState.REJECTED:
            return Answer(_shown(desk, held))  # what was refused once is not sent again
        if call.now >= held.expires_at:
            raise _unsettled(held)
        _require_key(desk, signer)
        held = _checked_again(call, desk, held)
        answer = _relayed(desk, held, command.signature)
        found = state_of(answer)
    return Answer(_shown(desk, rows.settle(call.db, held.id, found, answer, call.now)))


def record(
    call: WriteCall, caller: OperatorCaller, command: RecordOrder
) -> Answer[OperatorOrderShown]:
    """Errors: InvalidParameterError, Refusal, OutsideError."""
    desk = _desk(call)
    rows.lock_account(call.db, desk.account)
    held = _held(call, desk, command.confirm_id)
    if held.reported is not None:
        if (held.reported, held.signal_seq) != (command.outcome, command.signal_id):
            raise _recorded(held)
        return Answer(_shown(desk, held))
    if command.signal_id is not None:
        _require_follows(call, held, command.signal_id)
    held = _settled(call, desk, held)
    try:
        require_borne_out(command.outcome, held.state)
    except OutcomeDisprovedError as error:
        raise _disproved(held, error) from error
    made = rows.report(call.db, held.id, command.outcome, command.signal_id, call.now)
    return Answer(_shown(desk, made))


# What is asked of the venue


def _market(desk: OperatorDesk, coin: str) -> VenueMarket:
    found = desk.venue.markets([coin], DEX).get(coin)
    if found is None:
        raise InvalidParameterError(
            "coin", "write one for which the venue has a market and a price"
        )
    return found


def _settled(call: WriteCall, desk: OperatorDesk, held: PreparedOrder) -> PreparedOrder:
    """Errors: Refusal order_unsettled."""
    if held.is_settled:
        return held
    answer = desk.venue.find(desk.account, held.cloid)
    found = found_state(answer, held.state, held.expires_at, call.now)
    if found is None:
        raise _unsettled(held)
    return rows.settle(call.db, held.id, found, answer, call.now)


def _checked_again(call: WriteCall, desk: OperatorDesk, held: PreparedOrder) -> PreparedOrder:
    """The order as prices and positions are now: a higher mid makes a sale larger."""
    if held.order.reduce_only:
        _require_reducing(desk, held.order)
        return held
    mid_e8 = _market(desk, held.order.coin).mid_e8
    largest = largest_fill_usdc_e6(held.order, mid_e8, desk.allowance_bps)
    if largest <= held.largest_usdc_e6:
        return held
    placed = rows.placed_today(call.db, desk.account, call.now)
    _room(call, desk, largest, [one for one in placed if one.id != held.id])
    return rows.raise_largest(call.db, held.id, largest)


def _relayed(desk: OperatorDesk, held: PreparedOrder, signature: str) -> OrderAnswer:
    """A nonce that was taken before is refused, too: what is rejected may have been filled by an
    earlier message, which the venue knows by then.
    """
    try:
        answer = desk.venue.relay(
            held.order,
            held.cloid,
            nonce_ms=held.nonce_ms,
            expires_at=held.expires_at,
            signature=signature,
        )
        if answer.outcome is OrderOutcome.REJECTED:
            found = desk.venue.find(desk.account, held.cloid)
            return answer if found is None or found.outcome is answer.outcome else found
    except OutsideError:
        return UNKNOWN
    return answer


# What is refused


def _desk(call: Call) -> OperatorDesk:
    found = call.deps.parts.find(OperatorDesk)
    if found is None:
        raise feature_off(
            "The operator's orders are off: the operator of this service must set HL_URL "
            "and HL_OPERATOR_ACCOUNT."
        )
    return found


def _held(call: Call, desk: OperatorDesk, confirm_id: str) -> PreparedOrder:
    found = rows.find_prepared(call.db, desk.account, confirm_id)
    if found is None:
        raise Refusal(
            "not_found",
            f"confirm_id: there is no order {confirm_id}; prepare one.",
            next_calls=("orders.prepare",),
        )
    return found


def _require_follows(call: Call, held: PreparedOrder, signal_id: int) -> None:
    signal = fund.find_signal(call.db, signal_id)
    if signal is None:
        raise Refusal(
            "not_found",
            f"signal_id: there is no signal {signal_id}; list those of a vault, or leave it out.",
            next_calls=("fund.vaults",),
        )
    try:
        require_follows(held.order, signal.market, signal.weight_e4)
    except StrangeSignalError as error:
        rule = f"{error.rule}; name the signal that it follows, or leave it out"
        raise InvalidParameterError("signal_id", rule) from error


def _signer(desk: OperatorDesk, held: PreparedOrder, signature: str) -> str:
    sign = desk.venue.to_sign(
        held.order, held.cloid, nonce_ms=held.nonce_ms, expires_at=held.expires_at
    )
    signer = recovered_address(sign.digest, signature)
    if signer is None:
        raise Refusal(
            "signature_invalid",
            "signature: no key signed this; sign sign.typed_data of the prepared order as it is.",
            next_calls=(),
        )
    return signer


def _require_key(desk: OperatorDesk, signer: str) -> None:
    if signer != desk.account and not desk.venue.takes_key(desk.account, signer):
        raise Refusal(
            "signature_invalid",
            f"signature: {signer} signed it, but the venue does not accept orders of "
            f"{signer} for {desk.account}; sign with the key of that account, or of an API "
            "wallet that it approved.",
            next_calls=(),
        )


def _require_reducing(desk: OperatorDesk, order: VenueOrder) -> None:
    try:
        require_reducing(order, desk.venue.positions(desk.account, DEX))
    except NotReducingError as error:
        held = f"{'-' if error.held_e8 < 0 else ''}{e8_text(abs(error.held_e8))}"
        raise Refusal(
            "position_not_reduced",
            f"reduce_only: the account holds {held} {order.coin}, so to {order.side} "
            f"{e8_text(order.size_e8)} would not only reduce it; write no more than it holds.",
        ) from error


def _room(
    call: Call, desk: OperatorDesk, largest: UsdcE6, others: Sequence[PreparedOrder]
) -> UsdcE6:
    """What the day leaves. Errors: Refusal over_order_cap."""
    try:
        return require_caps(largest, others, desk.caps, call.now)
    except OverOrderCapError as error:
        raise _over(call, error, others) from error


def _over(call: Call, error: OverOrderCapError, others: Sequence[PreparedOrder]) -> Refusal:
    """A day that is used up is a new one at 00:00 UTC; an order that was never sent may be recorded
    as such before.
    """
    largest, left = usdc_text(error.largest_usdc_e6), usdc_text(error.left_usdc_e6)
    if not error.is_day:
        return Refusal(
            "over_order_cap",
            f"size: the order could fill {largest} USDC, and one order may fill {left} "
            "(HL_ORDER_USDC); prepare a smaller one.",
            remaining=left,
        )
    stale = next((one for one in others if not one.is_settled), None)
    body = {} if stale is None else {"confirm_id": stale.cloid, "outcome": _claimed(stale)}
    return Refusal(
        "over_order_cap",
        f"size: the order could fill {largest} USDC, and today leaves {left} "
        "(HL_ORDERS_USDC_PER_DAY); prepare a smaller one, or record orders that you did not send.",
        remaining=left,
        retry_at=next_day(call.now),
        next_calls=(NextCall("orders.record", body=body),) if body else (),
    )


def _claimed(stale: PreparedOrder) -> ClaimedOutcome:
    """What most likely became of an order that nobody has settled."""
    is_rejected = stale.state is OrderState.REJECTED
    return ClaimedOutcome.REJECTED if is_rejected else ClaimedOutcome.NOT_SENT


def _unsettled(held: PreparedOrder) -> Refusal:
    known_at = held.expires_at + timedelta(seconds=SKEW_S)
    return Refusal(
        "order_unsettled",
        f"The venue does not know order {held.cloid} yet and accepts it until "
        f"{instant_text(held.expires_at)}; its outcome is final {SKEW_S} s later.",
        retry_at=known_at,
    )


def _recorded(held: PreparedOrder) -> Refusal:
    signal = "no signal" if held.signal_seq is None else f"signal {held.signal_seq}"
    return Refusal(
        "wrong_status",
        f"outcome: the order was recorded as {held.reported} with {signal}; a record cannot "
        "be changed.",
        next_calls=(),
    )


def _disproved(held: PreparedOrder, error: OutcomeDisprovedError) -> Refusal:
    as_found = {
        OrderState.ACCEPTED: ClaimedOutcome.ACCEPTED,
        OrderState.REJECTED: ClaimedOutcome.REJECTED,
        OrderState.NEVER_ARRIVED: ClaimedOutcome.NOT_SENT,
    }[error.found]
    body = {"confirm_id": held.cloid, "outcome": as_found}
    return Refusal(
        "outcome_disproved",
        f"outcome: the venue says {error.found}, not {error.claimed}; record {as_found}.",
        next_calls=(NextCall("orders.record", body=body),),
    )


# What is shown


def _shown(desk: OperatorDesk, held: PreparedOrder) -> OperatorOrderShown:
    order = held.order
    is_sure = held.state is OrderState.REJECTED and held.is_settled
    return OperatorOrderShown.of(
        held,
        confirm_id=held.cloid,
        status=held.state,
        coin=order.coin,
        side=order.side,
        type=held.kind,
        size=e8_text(order.size_e8),
        limit_px=e8_text(order.limit_px_e8),
        reduce_only=order.reduce_only,
        largest_fill_usdc=usdc_text(held.largest_usdc_e6),
        prepared_at=instant_text(held.placed_at),
        avg_px=None if held.avg_px_e8 is None else e8_text(held.avg_px_e8),
        filled_size=None if held.total_sz_e8 is None else e8_text(held.total_sz_e8),
        signal_id=held.signal_seq,
        source=desk.venue.source,
        note=SURELY_REJECTED if is_sure else NOTES[held.state],
    )
