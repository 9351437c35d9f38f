"""What an agent reports: events and refused attempts.

A broken rule is stored and flagged (docs/rules.md#reports-of-agents).
"""

import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from api.areas.mandates.schemas.answers import EventStored, RefusalStored
from api.areas.mandates.schemas.commands import ReportEvent, ReportRefusal
from api.areas.mandates.service.access import named_to, named_to_locked
from api.areas.mandates.service.authors import require_next, signed_by_author
from api.areas.mandates.service.limits_now import (
    Standing,
    allowed_addresses,
    refusals_left,
    standing_of,
)
from api.areas.mandates.service.views import is_paper, vault_of
from api.kernel.caller import AgentCaller
from api.kernel.operation import Answer, Call, Refusal, WriteCall
from core.chain.abi import AbiDecodeError
from core.chain.errors import RpcError
from core.mandate import rows as mandate_rows
from core.mandate.chain.decode import facts_of_logs
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.fold import effective
from core.mandate.rules.new_rows import (
    after_stop_note,
    agent_kind,
    event_row,
    refusal_note,
    refuse_reserved_keys,
)
from core.mandate.rules.positions import position_of, require_checksums
from core.mandate.rules.reports import NO_FACTS, ChainWord, TxFacts, chain_word, moves_worth
from core.mandate.rules.rows import (
    REFUSAL_REPORTS_PER_DAY,
    TRADES,
    LedgerRow,
    NewRow,
    RefusalReport,
    RowKind,
    refusal_report,
)
from core.mandate.rules.violations import Judgement, ReportedAction, Violation, judge
from core.mandate.tables import Mandate
from core.money import usdc_text_or_none
from core.times import instant_text, next_day

UNSEEN_NOTICE = (
    "The chain has no such transaction of the vault, or cannot be read right now. The "
    "report is in the record but does not change the worth. Report the transaction "
    "again once it is mined."
)
CONTRADICTED: Mapping[ChainWord, str] = {
    ChainWord.REVERTED: "the transaction was reverted, and the record shows why beside it",
    ChainWord.OTHER_TARGET: "the transaction called another target",
    ChainWord.OTHER_AMOUNT: "the transaction moved another amount",
}


def event_view(row: LedgerRow) -> dict[str, Any]:
    """A row of the ledger as the API shows it (schemas.LedgerEvent). `id` is its number in the mandate's ledger."""
    return {
        "id": row.seq,
        "kind": row.kind,
        "amount_usdc": usdc_text_or_none(row.amount_usdc_e6),
        "tx_hash": row.tx_hash,
        "chain_id": row.chain_id,
        "block_number": row.block_number,
        "log_index": row.log_index,
        "payload": row.payload,
        "reported_by": row.reported_by,
        "occurred_at": instant_text(row.occurred_at),
        "created_at": instant_text(row.created_at),
        "row_hash": row.row_hash,
        "signed_by": None if row.author is None else row.author.signer,
    }


# Events


def event(call: WriteCall, caller: AgentCaller, command: ReportEvent) -> Answer[EventStored]:
    """Store a report: 200, or 202 with `violation` true and its codes when it breaks a rule."""
    kind, payload = agent_kind(command.kind), _payload(command)
    refuse_reserved_keys(payload)
    require_checksums(payload)
    # a node is asked without the lock
    unlocked = named_to(call, caller, command.id)
    reported = _event_row(call, unlocked, command, payload)
    is_unseen = _is_unseen(call, unlocked, reported)
    author = signed_by_author(call, unlocked, reported, command.author)
    mandate = named_to_locked(call, caller, command.id)
    _require_signed(mandate)
    standing = standing_of(call, mandate)
    if is_paper(mandate) and standing.state.is_ended and kind in TRADES:
        raise _refused_after_stop(call, mandate, command, kind)
    report = ReportedAction(
        kind=kind, amount_usdc_e6=command.amount_usdc, tx_hash=command.tx_hash, payload=payload
    )
    word = chain_word(reported, _facts_of(call, mandate, command.tx_hash), vault_of(mandate))
    violation = judge(report, _judgement(standing, word))
    row = _event_row(call, mandate, command, payload, violation, is_unseen=is_unseen)
    appended = mandate_ledger.append(
        call.db, mandate.id, require_next(call, mandate, replace(row, author=author)), call.now
    )
    notice = _notice(word, is_unseen=is_unseen)
    return _stored(call, standing, appended.row, violation, notice)


def _notice(word: ChainWord, *, is_unseen: bool) -> str | None:
    if word in CONTRADICTED:
        return (
            f"The chain contradicts the report: {CONTRADICTED[word]}. It is in the record, "
            "but it is not confirmed and does not change the worth."
        )
    return UNSEEN_NOTICE if is_unseen else None


def _event_row(
    call: Call,
    mandate: Mandate,
    command: ReportEvent,
    payload: dict[str, Any],
    violation: Violation | None = None,
    *,
    is_unseen: bool = False,
) -> NewRow:
    """The row of a report; without the service's flags it is what its author says."""
    return event_row(
        kind=command.kind,
        amount_usdc_e6=command.amount_usdc,
        tx_hash=command.tx_hash,
        why=command.why,
        payload=payload,
        violation=violation,
        fact=uuid.uuid4().hex,
        now=call.now,
        chain_id=mandate.chain_id,
        is_unseen=is_unseen,
    )


def _is_unseen(call: Call, mandate: Mandate, report: NewRow) -> bool:
    """Whether a report of a position on testnet is borne out neither by the record nor by a node."""
    if is_paper(mandate) or position_of(report.payload) is None:
        return False
    if report.kind not in (*TRADES, RowKind.RESOLVE):
        return False
    if report.tx_hash is None:
        return report.kind in TRADES  # what lapses is resolved without a transaction
    facts, vault = _facts_of(call, mandate, report.tx_hash), vault_of(mandate)
    if not facts.is_known and vault is not None:
        facts = _facts_of_node(call, vault, report.tx_hash)
    return not moves_worth(report, facts, vault)


def _facts_of(call: Call, mandate: Mandate, tx_hash: str | None) -> TxFacts:
    """What the record has of a transaction."""
    if tx_hash is None:
        return NO_FACTS
    return TxFacts.of(effective(mandate_rows.ledger_rows_of_tx(call.db, mandate.id, tx_hash)))


def _facts_of_node(call: Call, vault: str, tx_hash: str) -> TxFacts:
    """The same of what the record does not have yet; nothing while no node can be asked."""
    try:
        receipt = call.deps.chain.receipt(tx_hash)
        logs = () if receipt is None else receipt.logs
        return facts_of_logs(log for log in logs if log.address == vault)
    except (RpcError, AbiDecodeError):
        return NO_FACTS


def _require_signed(mandate: Mandate) -> None:
    if mandate.signature is None and mandate.vault_address is None:
        raise Refusal(
            "wrong_status",
            f"The mandate is {mandate.status}; its record begins with the owner's signature.",
        )


def _payload(command: ReportEvent) -> dict[str, Any]:
    """The payload as sent; the tool form's `detail` is in it, where its target is read too."""
    return dict(command.payload or {}) | (
        {} if command.detail is None else {"detail": command.detail}
    )


def _judgement(standing: Standing, word: ChainWord) -> Judgement:
    return Judgement(
        status=standing.status,
        was_stopped=standing.state.stopped_at is not None,
        terms=standing.terms,
        chain_id=standing.mandate.chain_id,
        allowed=allowed_addresses(standing.mandate),
        cash_usdc_e6=standing.state.cash_usdc_e6,
        outflows=standing.outflows,
        now=standing.now,
        word=word,
        is_short=standing.short is not None,
    )


def _stored(
    call: Call,
    standing: Standing,
    row: LedgerRow,
    violation: Violation | None,
    notice: str | None,
) -> Answer[EventStored]:
    codes = [] if violation is None else list(violation.codes)
    stored = EventStored(
        mandate_id=standing.mandate.public_id,
        recorded=True,
        violation=bool(codes),
        codes=codes,
        **({} if violation is None else {"violation_detail": violation.as_json()}),
        **({} if notice is None else {"notice": notice}),
        event=event_view(row),
        **standing.reading.data_issue,
    )
    return Answer(stored, status=202 if codes else 200)


def _refused_after_stop(
    call: WriteCall, mandate: Mandate, command: ReportEvent, kind: RowKind
) -> Refusal:
    """A paper trade after the end: refused, and the refusal itself is in the record
    (docs/rules.md#reports-of-agents).
    """
    note = after_stop_note(
        kind=kind,
        amount_usdc_e6=command.amount_usdc,
        tx_hash=command.tx_hash,
        why=command.why,
        fact=command.tx_hash or uuid.uuid4().hex,
        now=call.now,
    )
    mandate_ledger.append(call.db, mandate.id, note, call.now)
    return Refusal(
        "wrong_status",
        f"The mandate is {mandate.status}; the agent cannot act. The attempt is in the record.",
        extra={"recorded": True, "codes": ["mandate_stopped"]},
        keeps_write=True,
        keeps_key=True,
    )


# Refusals


def refusal(call: WriteCall, caller: AgentCaller, command: ReportRefusal) -> Answer[RefusalStored]:
    """Store a refused attempt: one row for each transaction; one that the record has already is
    answered, not written again.
    """
    report = refusal_report(command.reason, command.tx_hash, command.amount_usdc)
    note = refusal_note(report, fact=uuid.uuid4().hex, now=call.now)
    # a node is asked without the lock
    author = signed_by_author(call, named_to(call, caller, command.id), note, command.author)
    mandate = named_to_locked(call, caller, command.id)
    _require_signed(mandate)
    known = _known_refusal(call, mandate, report)
    if known is None:
        _require_reports_left(call, mandate)
        note = require_next(call, mandate, replace(note, author=author))
        known = mandate_ledger.append(call.db, mandate.id, note, call.now).row
        return _refusal_answer(call, mandate, known, is_new=True)
    return _refusal_answer(call, mandate, known, is_new=False)


def _known_refusal(call: Call, mandate: Mandate, report: RefusalReport) -> LedgerRow | None:
    """The refusal of this transaction that the record has, the chain's before the agent's."""
    if report.tx_hash is None:
        return None
    rows = effective(mandate_rows.ledger_rows_of_tx(call.db, mandate.id, report.tx_hash))
    found = [row for row in rows if "refusal" in row.payload]
    return next(
        (row for row in found if row.payload.get("reverted") is True), found[0] if found else None
    )


def _require_reports_left(call: Call, mandate: Mandate) -> None:
    if refusals_left(call, mandate) <= 0:
        raise Refusal(
            "rate_limited",
            f"A mandate accepts {REFUSAL_REPORTS_PER_DAY} refusal reports per UTC day; the "
            "block scan finds reverted calls by itself.",
            remaining={"refusal_reports_today": 0},
            retry_at=next_day(call.now),
        )


def _refusal_answer(
    call: Call, mandate: Mandate, row: LedgerRow, *, is_new: bool
) -> Answer[RefusalStored]:
    shown = row.payload["refusal"]
    return Answer(
        RefusalStored(
            mandate_id=mandate.public_id,
            recorded=True,
            is_new=is_new,
            refusal=shown,
            event=event_view(row),
        )
    )
