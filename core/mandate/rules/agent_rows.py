"""What an agent sends, as rows of the ledger.

Laws
- An agent reports move, buy, sell, fee, resolve and note; the rest comes from the chain, the owner
  or the keeper.
- Its payload is kept as it was sent, with `why`; the flag beside it is the server's. Keys that only
  the server writes are refused, so that no payload can pass for a chain row.
- An amount is a magnitude; only a resolve may be negative.
- `fact` names the report in the ledger (`report:{fact}`, `refusal:{fact}`): a UUID, or derived from
  an idempotency key.
Source: docs/rules.md#reports-of-agents, docs/rules.md#refused-attempts,
docs/rules.md#stop-requests.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from core.errors import InvalidNumberError, InvalidParameterError
from core.mandate.rules.rows import NewRow, RefusalReport, ReportedBy, RowKind
from core.mandate.rules.violations import Violation, reserved_keys_in
from core.money import UsdcE6, usdc_text

AGENT_KINDS = (RowKind.MOVE, RowKind.BUY, RowKind.SELL, RowKind.FEE, RowKind.RESOLVE, RowKind.NOTE)


def event_row(
    *,
    kind: str,
    amount_usdc_e6: UsdcE6 | None,
    tx_hash: str | None,
    why: str | None,
    payload: Mapping[str, Any],
    violation: Violation | None,
    fact: str,
    now: datetime,
    chain_id: int | None = None,
    is_unseen: bool = False,
) -> NewRow:
    """The row of a reported event.

    `tx_hash` lower case; `fact` a UUID; `chain_id` the mandate's, which a target without one means.
    `is_unseen`: the chain has no such transaction, so that what it says of positions counts for
    nothing.

    Errors: InvalidParameterError for a kind that agents may not report or a key that only the
    server writes; InvalidNumberError for a negative amount that is no resolve.
    """
    reported = agent_kind(kind)
    if amount_usdc_e6 is not None and amount_usdc_e6 < 0 and reported is not RowKind.RESOLVE:
        raise InvalidNumberError(
            "amount_usdc",
            usdc_text(amount_usdc_e6),
            "write 0 or more; only a resolve may be negative",
        )
    refuse_reserved_keys(payload)
    sent = {**payload, **({"why": why} if why is not None else {})}
    return NewRow(
        kind=reported,
        reported_by=ReportedBy.AGENT,
        occurred_at=now,
        base_key=f"report:{fact}",
        amount_usdc_e6=amount_usdc_e6,
        chain_id=chain_id,
        tx_hash=tx_hash,
        payload={
            **sent,
            **({"violation": violation.as_json()} if violation else {}),
            **({"unseen": True} if is_unseen else {}),
        },
    )


def agent_kind(kind: str) -> RowKind:
    """The kind of a report.

    Errors: InvalidParameterError for one that comes from the chain, the owner or the keeper.
    """
    for allowed in AGENT_KINDS:
        if allowed.value == kind:
            return allowed
    raise InvalidParameterError("kind", f"an agent reports one of {', '.join(AGENT_KINDS)}")


def refuse_reserved_keys(payload: Mapping[str, Any]) -> None:
    """Errors: InvalidParameterError naming the first key that only the server writes."""
    for key in reserved_keys_in(payload):
        raise InvalidParameterError(f"payload.{key}", "leave it out: the service writes it")


def refusal_note(report: RefusalReport, *, fact: str, now: datetime) -> NewRow:
    """The note of a reported refusal: source agent, until the block scan proves it.

    `fact`: its tx_hash, else a UUID.
    """
    refusal: dict[str, Any] = {
        "reason": report.reason.value,
        "source": "agent",
        "reason_source": "agent",
        "check": "reported",
        "server_check": "unconfirmed",
    }
    if report.amount_usdc_e6 is not None:
        refusal["attempted"] = {"amount_usdc": usdc_text(report.amount_usdc_e6)}
    return _note(f"refusal:{report.tx_hash or fact}", report.tx_hash, {"refusal": refusal}, now)


def after_stop_note(
    *,
    kind: RowKind,
    amount_usdc_e6: UsdcE6 | None,
    tx_hash: str | None,
    why: str | None,
    fact: str,
    now: datetime,
) -> NewRow:
    """The note of a paper report after a stop: refused by the service itself, so it is
    confirmed.
    """
    attempted: dict[str, Any] = {"kind": kind.value}
    if amount_usdc_e6 is not None:
        attempted["amount_usdc"] = usdc_text(amount_usdc_e6)
    refusal = {
        "reason": "MandateStopped",
        "code": "mandate_stopped",
        "source": "agent",
        "reason_source": "server",
        "check": "server",
        "server_check": "confirmed",
        "attempted": attempted,
    }
    payload: dict[str, Any] = {"refusal": refusal} | ({"why": why} if why is not None else {})
    return _note(f"refusal:{fact}", tx_hash, payload, now)


def guard_refusal_note(*, detail: str, fact: str, now: datetime) -> NewRow:
    """The note of the relay guard's no, before any chain call: reason server_guard, confirmed by
    the service.
    """
    refusal = {
        "reason": "server_guard",
        "source": "agent",
        "reason_source": "server",
        "check": "server",
        "server_check": "confirmed",
        "detail": detail,
    }
    return _note(f"refusal:{fact}", None, {"refusal": refusal}, now)


def stop_request_note(*, why: str | None, fact: str, now: datetime) -> NewRow:
    """The agent asks for a stop on testnet; the stop row itself comes when the chain confirms."""
    payload: dict[str, Any] = {"stop_requested": True} | ({"why": why} if why is not None else {})
    return _note(f"stop_request:{fact}", None, payload, now)


def _note(base_key: str, tx_hash: str | None, payload: Mapping[str, Any], now: datetime) -> NewRow:
    return NewRow(
        kind=RowKind.NOTE,
        reported_by=ReportedBy.AGENT,
        occurred_at=now,
        base_key=base_key,
        tx_hash=tx_hash,
        payload=payload,
    )
