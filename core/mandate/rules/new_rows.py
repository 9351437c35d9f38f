"""What becomes a row of the ledger: a chain's log or reverted call, and what an agent sends.

Laws
- A row of the chain depends on its event alone, never on the rows before it: a rescan gives the
  same rows. One row per log, one note per reverted call.
- `cash_delta_usdc_e6` is what the log moved of the vault's own USDC. X402Paid moves none: the
  call's Executed has it.
- Amounts in payloads are text with six decimals; addresses, hashes and selectors are as the event
  has them.
- An agent reports move, buy, sell, fee, resolve and note; the rest comes from the chain, the owner
  or the keeper.
- Its payload is kept as it was sent, with `why`; the flag beside it is the server's. Keys that only
  the server writes are refused, so that no payload can pass for a chain row.
- An agent's amount is a magnitude; only a resolve may be negative.
- `fact` names an agent's report in the ledger (`report:{fact}`, `refusal:{fact}`): a UUID, or
  derived from an idempotency key.
Source: docs/rules.md#rows, docs/rules.md#refused-attempts, docs/rules.md#factory-notes,
docs/rules.md#reports-of-agents, docs/rules.md#stop-requests.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from core.errors import InvalidNumberError, InvalidParameterError
from core.mandate.rules import events as ev
from core.mandate.rules.rows import (
    UNKNOWN,
    NewRow,
    RefusalReport,
    ReportedBy,
    RowKind,
    reason_as_recorded,
)
from core.mandate.rules.terms import ZERO_ADDRESS, camel
from core.mandate.rules.violations import Violation, reserved_keys_in
from core.money import UsdcE6, usdc_text
from core.times import instant_text

# keccak256 of each role's name; the admin role is zero (OpenZeppelin AccessControl).
ROLE_NAMES: Mapping[str, str] = {
    "0x" + "00" * 32: "DEFAULT_ADMIN_ROLE",
    "0x65d7a28e3265b37a6474929f336521b332c1681b933f6cb9f3376673440d862a": "PAUSER_ROLE",
    "0x8ac0b48ec65013251ffdab597d09e2339877ec2bc526181d2b5f1afba2d822c8": "KEEPER_ADMIN_ROLE",
}


@dataclass(frozen=True, slots=True)
class Parties:
    """Who is who for one vault, so that a row can say who acted. Addresses in any case."""

    keeper: str
    owner: str
    agent: str | None
    usdc: str


_parties = lru_cache(maxsize=256)(Parties)  # the same for log after log


def row_from_event(
    event: ev.ChainEvent, ref: ev.LogRef, keeper: str, owner: str, agent: str | None, *, usdc: str
) -> NewRow | None:
    """The row of one log; None when the ledger has no row for it (AdapterListed, AdapterDelisted, a
    first keeper).

    `agent` is the agent that the chain named last before this log, or None; `usdc` is the vault's
    token. A factory event (docs/rules.md#factory-notes) gives the same note for every mandate that
    it concerns; which those are is the caller's to say.
    """
    content = _content(event, _parties(keeper, owner, agent, usdc))
    if content is None:
        return None
    kind, reported_by, amount, delta, payload = content
    if isinstance(event, ev.X402Paid):
        payload = {**payload, "adapter": ref.address}
    tx_hash = ref.tx_hash.lower()
    return NewRow(
        kind=kind,
        reported_by=reported_by,
        occurred_at=datetime.fromtimestamp(ref.at, UTC),
        base_key=f"log:{tx_hash}:{ref.log_index}",
        amount_usdc_e6=None if amount is None else UsdcE6(amount),
        cash_delta_usdc_e6=delta,
        chain_id=ref.chain_id,
        tx_hash=tx_hash,
        log_index=ref.log_index,
        block_number=ref.block_number,
        block_hash=ref.block_hash,
        payload=payload,
    )


def expired_note(ends_at: datetime, *, safe_block: int) -> NewRow:
    """The end of signed terms that never became a vault: the factory makes none of them from
    `ends_at` on.

    `safe_block`: the block by whose time that is past. No log says it, so that the row names no
    block of its own.
    """
    expired = {"ends_at": instant_text(ends_at), "safe_block": safe_block}
    return NewRow(
        kind=RowKind.NOTE,
        reported_by=ReportedBy.CHAIN,
        occurred_at=ends_at,
        base_key="expired",
        payload={"terms_expired": expired, "note": "The signed terms expired without a vault"},
    )


def revert_note(
    *,
    chain_id: int,
    tx_hash: str,
    block_number: int,
    block_hash: str,
    at: int,
    reason: str,
    attempted: Mapping[str, Any] | None = None,
    proves_event_id: int | None = None,
) -> NewRow:
    """The note of a reverted call from the vault's agent (present or past) to the vault.

    `at`: the block's time in unix seconds. `reason`: the Solidity error's name, or `unknown`; one
    outside the contract docs/rules.md#refused-attempts reads as unknown and stays beside it as
    `contract_error`. `attempted`: what the call data asked for, {target, selector, amount_usdc}.
    `proves_event_id`: the seq of the agent's own report of this transaction.
    """
    recorded = reason_as_recorded(reason)
    refusal: dict[str, Any] = {
        "reason": recorded,
        "source": "chain",
        "reason_source": "chain" if recorded != UNKNOWN else UNKNOWN,
        "check": "block_scan",
        "server_check": "confirmed",
    }
    if recorded != reason:
        refusal["contract_error"] = reason
    if attempted is not None:
        refusal["attempted"] = dict(attempted)
    payload: dict[str, Any] = {"refusal": refusal, "reverted": True}
    if proves_event_id is not None:
        payload["proves_event_id"] = proves_event_id
    return NewRow(
        kind=RowKind.NOTE,
        reported_by=ReportedBy.CHAIN,
        occurred_at=datetime.fromtimestamp(at, UTC),
        base_key=f"revert:{tx_hash.lower()}",
        chain_id=chain_id,
        tx_hash=tx_hash.lower(),
        block_number=block_number,
        block_hash=block_hash,
        payload=payload,
    )


def bytes32_word(word: str) -> str:
    """A bytes32 that holds printable ASCII, without spaces that nobody sees, as that text; anything
    else stays as it is.
    """
    try:
        text = bytes.fromhex(word.removeprefix("0x")).rstrip(b"\x00").decode("ascii")
    except ValueError:
        return word
    return text if text and text.isprintable() and text == " ".join(text.split()) else word


_Content = tuple[RowKind, ReportedBy, int | None, int, dict[str, Any]]


def _content(event: Any, parties: Parties) -> _Content | None:
    """Kind, reporter, amount, cash delta and payload of an event."""
    note, chain = RowKind.NOTE, ReportedBy.CHAIN
    match event:
        case ev.Deposited():
            source = {"from": event.from_, "balance": usdc_text(event.balance)}
            return RowKind.DEPOSIT, chain, event.amount, event.amount, source
        case ev.Executed():
            moved = event.received - event.spent
            executed = _as_json(event)
            return RowKind.MOVE, chain, event.spent or event.received, moved, {"executed": executed}
        case ev.Unwound():
            return note, chain, event.received, event.received, {"unwound": _as_json(event)}
        case ev.ProceedsReceived():
            proceeds = {"adapter": event.adapter, "balance": usdc_text(event.balance)}
            return note, chain, event.amount, event.amount, {"proceeds": proceeds}
        case ev.Settled():
            return RowKind.PAYOUT, chain, event.fee, -event.fee, {"settled": _as_json(event)}
        case ev.Withdrawn():
            return _withdrawn(event, parties)
        case ev.X402Paid():
            fee = {"fee_kind": "x402", "resource": event.resource_hash, "pay_to": event.pay_to}
            return RowKind.FEE, chain, event.amount, 0, fee
        case ev.Marked():
            mark = _measured(event, is_known=True)
            return note, ReportedBy.KEEPER, None, 0, {"mark": mark}
        case ev.Stopped():
            measured = _measured(event, is_known=event.worth_known)
            stopped = {"by": event.by, "reason": bytes32_word(event.reason), **measured}
            return RowKind.STOP, _who(event.by, parties), None, 0, {"stopped": stopped}
    payload = _payload(event)
    return None if payload is None else (note, chain, None, 0, payload)


# fields that are USDC base units
_AMOUNTS: Final = frozenset({"spent", "received", "balance", "gain", "fee"})


def _as_json(event: Any) -> dict[str, Any]:
    """Every field under its name."""
    return {
        name: usdc_text(getattr(event, name)) if name in _AMOUNTS else getattr(event, name)
        for name in type(event).__match_args__
    }


def _measured(event: ev.Marked | ev.Stopped, *, is_known: bool) -> dict[str, str | None]:
    return {
        "worth_usdc": usdc_text(event.worth) if is_known else None,
        "unvalued_out_usdc": usdc_text(event.unvalued_out) if is_known else None,
    }


def _withdrawn(event: ev.Withdrawn, parties: Parties) -> _Content:
    """Another token's amount has other units: it stays raw, and moves no cash."""
    withdrawn = {"token": event.token, "to": event.to, "balance": usdc_text(event.balance)}
    if _same(event.token, parties.usdc):
        return (
            RowKind.WITHDRAW,
            ReportedBy.CHAIN,
            event.amount,
            -event.amount,
            {"withdrawn": withdrawn},
        )
    raw = {
        "token": event.token,
        "to": event.to,
        "amount_raw": str(event.amount),
        "balance_raw": str(event.balance),
    }
    return RowKind.WITHDRAW, ReportedBy.CHAIN, None, 0, {"withdrawn": raw}


def _payload(event: Any) -> dict[str, Any] | None:
    """Of an event that moves no money. A keeper that replaces the zero address is the first one, not
    a change (docs/rules.md#factory-notes).
    """
    match event:
        case ev.VaultCreated():
            created = {
                "vault": event.vault,
                "terms_digest": event.terms_digest,
                "owner": event.owner,
                "agent": _or_none(event.agent),
            }
            return {"vault_created": created}
        case ev.AgentSet():
            return {"agent_set": _as_json(event), "note": "Agent set on chain"}
        case ev.AgentRemoved():
            return {"agent_removed": _as_json(event), "note": "Paused: agent removed on chain"}
        case ev.PayeeChanged():
            return {"payee_changed": _as_json(event)}
        case ev.TermsCancelled():
            return {"terms_cancelled": _as_json(event)}
        case ev.AdapterListed() | ev.AdapterDelisted():
            return None
        case ev.KeeperChanged(previous_keeper=before) | ev.GuardChanged(previous_guard=before) if (
            before == ZERO_ADDRESS
        ):
            return None
        case _:
            args = _factory_args(event)
            return {"factory": True, "event": type(event).__name__, "args": args}


def _factory_args(event: Any) -> dict[str, str]:
    """Arguments under their Solidity names; times as text of unix seconds, roles by name where they
    have one.
    """
    args = {camel(field.name): str(getattr(event, field.name)) for field in fields(event)}
    if "role" in args:
        args["role"] = ROLE_NAMES.get(args["role"].lower(), args["role"])
    return args


def _who(by: str, parties: Parties) -> ReportedBy:
    """Whose key stopped it: the keeper's, by its mark; the owner's, the agent's; anyone else's by
    the stop line.
    """
    if _same(by, parties.keeper):
        return ReportedBy.KEEPER
    if _same(by, parties.owner):
        return ReportedBy.OWNER
    if parties.agent is not None and _same(by, parties.agent):
        return ReportedBy.AGENT
    return ReportedBy.CHAIN


def _same(left: str, right: str) -> bool:
    return left.lower() == right.lower()


def _or_none(address: str) -> str | None:
    return None if address == ZERO_ADDRESS else address


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
