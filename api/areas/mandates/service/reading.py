"""Reads: one mandate whole, lists, the record in steps and as the raw ledger
(docs/rules.md#the-record-of-a-mandate).
"""

from collections.abc import Collection
from typing import Any

from api.areas.mandates.rules.agent_status import HeldMandate, agent_status
from api.areas.mandates.rules.card import card_footer, card_header
from api.areas.mandates.schemas.answers import (
    Approvals,
    CardedMandate,
    LedgerEvents,
    MandateList,
    Offers,
    OpenBoard,
    OwnStatus,
    RecordSteps,
    WholeMandate,
)
from api.areas.mandates.schemas.commands import (
    BoardQuery,
    ListQuery,
    MandatePath,
    OffersQuery,
    PageQuery,
)
from api.areas.mandates.schemas.record import Approval
from api.areas.mandates.service.access import readable_by
from api.areas.mandates.service.current import Current, current_by
from api.areas.mandates.service.limits_now import Standing, limits_view, standing_of
from api.areas.mandates.service.owner_calls import lock_now
from api.areas.mandates.service.reports import event_view
from api.areas.mandates.service.steps_now import above_asking_line, pending_consents, steps_of
from api.areas.mandates.service.venues import spread_bps
from api.areas.mandates.service.views import (
    digest_of,
    fee_payee,
    is_paper,
    mandate_view,
    reading_of,
    readings_of,
    signature_of,
    targets_of,
    terms_of,
    vault_agent,
)
from api.areas.mandates.views import record as mandate_record
from api.kernel.built import BuiltBody
from api.kernel.caller import AgentCaller, Nobody, OwnerCaller
from api.kernel.operation import Answer, Call, Lines, NoInput, Refusal
from api.kernel.pagination import page_of
from core.chain.signatures import recovered_address
from core.hexes import address_or_none
from core.identity import policies
from core.identity import queries as identity
from core.mandate import queries as mandates
from core.mandate import rows as mandate_rows
from core.mandate.chain.typed_data import terms_digest
from core.mandate.rows import mandate_facts
from core.mandate.rules.clauses import clauses
from core.mandate.rules.lifecycle import (
    UNKNOWN_CHAIN_STATE,
    UNKNOWN_HOW_TO_ACT,
    MarketMode,
    Status,
    chain_state,
    how_to_act,
    lock_to_json,
    settle_note,
)
from core.mandate.rules.progress import ProgressFacts, progress_block
from core.mandate.rules.state import MandateState
from core.mandate.rules.steps import consent_status
from core.mandate.tables import Mandate
from core.money import usdc_text_or_none
from core.quarantine.rules import Reading
from core.targets.known_signatures import signatures_by_selector
from core.times import instant_text

ACTIVE_SHOWN = 200
ENDED_SHOWN = 10
APPROVALS_SHOWN = 200


# One mandate


def read(
    call: Call, caller: AgentCaller | OwnerCaller | Nobody, command: MandatePath
) -> Answer[WholeMandate]:
    mandate = readable_by(call, caller, command.id)
    standing = standing_of(call, mandate)
    current = current_by(call, mandate, standing.reading, standing.now)
    steps, next_cursor = _steps(call, mandate, PageQuery(id=command.id))
    progress = _progress(call, standing, current)
    body = {
        "mandate": mandate_view(call, mandate, standing.reading, current.seen),
        **_card(call, mandate, current.state, is_known=current.unseen is None),
        "terms_status": _terms_status(call, mandate),
        "limits": limits_view(standing),
        "progress": progress,
        "fees": progress["fees"],
        "steps": steps,
        "next_cursor": next_cursor,
        **_locks(standing, current),
        **_marked(mandate),
    }
    return Answer(BuiltBody[WholeMandate](body))


def _marked(mandate: Mandate) -> dict[str, Any]:
    """That nothing of the sample is on a chain."""
    return {"simulated": True} if mandates.is_sample(mandate) else {}


def _card(call: Call, mandate: Mandate, state: MandateState, *, is_known: bool) -> dict[str, Any]:
    """Clauses and footer, which are what the owner saw, and a header that names who acts now."""
    terms = terms_of(mandate)
    agent = None if mandate.agent_id is None else identity.find_agent(call.db, mandate.agent_id)
    header = card_header(
        public_id=mandate.public_id,
        chain_id=mandate.chain_id,
        agent_id=None if agent is None else str(agent.id),
        agent_name=None if agent is None else agent.name,
        terms_agent=terms.agent,
        wallet_on_file=None if agent is None else address_or_none(agent.wallet_address),
        of_vault=vault_agent(mandate, state, is_known=is_known),
        strategy=mandate.strategy,
    )
    shown = clauses(
        terms,
        targets_of(mandate),
        known=signatures_by_selector(),
        payee=fee_payee(mandate, state, is_known=is_known),
        version=mandate.terms_version,
    )
    return {"clauses": shown, "card_header": header, "card_footer": card_footer()}


def _terms_status(call: Call, mandate: Mandate) -> dict[str, Any] | None:
    """Whether the stored terms still give the signed digest, and the signature its owner; None for
    drafts.

    A contract wallet's signature was asked of the chain when it came in; no key explains it, so it
    reads null here.
    """
    if mandate.status == Status.DRAFT.value:
        return None
    terms, digest = terms_of(mandate), digest_of(mandate)
    computed = terms_digest(
        terms, call.deps.contracts["factory"], mandate.chain_id, mandate.terms_version
    )
    signer = None if mandate.signature is None else recovered_address(digest, signature_of(mandate))
    return {
        "signed": mandate.signed_at is not None,
        "version": mandate.terms_version,
        "digest": digest,
        "digest_matches": computed == digest,
        "signer_matches": True if signer == terms.owner else None,
    }


def _progress(call: Call, standing: Standing, current: Current) -> dict[str, Any]:
    about = ProgressFacts(
        facts=mandate_facts(standing.mandate),
        terms=standing.terms,
        spread_bps=spread_bps(call, standing.mandate),
        now=current.now,
        short=standing.short,
        seen=current.seen,
    )
    return progress_block(standing.state, about)


def _locks(standing: Standing, current: Current) -> dict[str, Any]:
    mandate, state, has_vault = standing.mandate, current.state, current.vault is not None
    block = {"lock": lock_to_json(lock_now(mandate, current))}
    if current.unseen is not None:
        return block | {"chain_state": UNKNOWN_CHAIN_STATE, "how_to_act": UNKNOWN_HOW_TO_ACT}
    note = settle_note(
        current.status, agent_fee_bps=standing.terms.agent_fee_bps, has_vault=has_vault
    )
    is_past_end = current.now >= standing.terms.ends_at
    return {
        **block,
        "chain_state": chain_state(
            has_vault=has_vault,
            stopped=state.stopped_at is not None,
            settled=current.status is Status.SETTLED
            if current.seen
            else state.settled_at is not None,
            agent=state.agent_on_chain,
            agent_known=state.agent_known,
        ),
        "how_to_act": how_to_act(
            current.status,
            paused=state.is_paused,
            is_past_end=is_past_end,
            is_paper=is_paper(mandate),
            was_set=state.last_agent_set is not None,
        ),
    } | ({} if note is None else {"settle_note": note})


# The record


def steps(
    call: Call, caller: AgentCaller | OwnerCaller | Nobody, command: PageQuery
) -> Answer[RecordSteps]:
    mandate = readable_by(call, caller, command.id)
    page, next_cursor = _steps(call, mandate, command)
    issue = {**reading_of(call, mandate).data_issue, **_marked(mandate)}
    return Answer(BuiltBody[RecordSteps]({"steps": page, "next_cursor": next_cursor, **issue}))


def _steps(
    call: Call, mandate: Mandate, command: PageQuery
) -> tuple[list[dict[str, Any]], str | None]:
    """A page of steps; the cursor that a whole read gives goes on with the steps alone."""
    page = page_of(call, "mandates.steps", command)
    steps, place = steps_of(call, mandate, page.before, page.limit)
    pinned = pending_consents(call, mandate) if page.before is None else []
    return [*pinned, *steps], None if place is None else page.cursor(place)


def ledger(
    call: Call, caller: AgentCaller | OwnerCaller | Nobody, command: PageQuery
) -> Answer[LedgerEvents]:
    """The raw ledger, newest first, reversed rows and reversals included."""
    mandate = readable_by(call, caller, command.id)
    page = page_of(call, "mandates.ledger", command)
    rows = mandate_rows.ledger_rows_before(call.db, mandate.id, page.before, page.limit + 1)
    shown, next_cursor = page.cut(rows, lambda row: row.seq)
    events = [event_view(row) for row in shown]
    issue = {**reading_of(call, mandate).data_issue, **_marked(mandate)}
    return Answer(BuiltBody[LedgerEvents]({"events": events, "next_cursor": next_cursor, **issue}))


def record(call: Call, caller: AgentCaller | OwnerCaller, command: MandatePath) -> Answer[Lines]:
    """The whole ledger to be verified by anyone, as a stream of canonical JSON lines: the terms,
    each row, the head (docs/verify.md).
    """
    mandate = readable_by(call, caller, command.id)
    found = mandate_record.opening(call.db, mandate, call.deps.contracts["factory"])
    return Answer(Lines(), lines=mandate_record.chunks(call.deps.database, found))


def approvals(
    call: Call, caller: AgentCaller | OwnerCaller | Nobody, command: MandatePath
) -> Answer[Approvals]:
    """The newest reported actions above the approval threshold.

    Nothing waits for an approval yet (docs/rules.md#approvals).
    """
    mandate = readable_by(call, caller, command.id)
    rows = above_asking_line(call, mandate, APPROVALS_SHOWN)
    status = consent_status(Status(mandate.status))
    items = [
        Approval(
            id=row.seq,
            status=status,
            amount_usdc=usdc_text_or_none(row.amount_usdc_e6),
            tx_hash=row.tx_hash,
            at=instant_text(row.occurred_at),
        )
        for row in rows
    ]
    issue = {**reading_of(call, mandate).data_issue, **_marked(mandate)}
    return Answer(Approvals(items=items, **issue))


# Lists


def list_own(
    call: Call, caller: AgentCaller | OwnerCaller, command: ListQuery
) -> Answer[MandateList]:
    statuses = None if command.status is None else (command.status,)
    of_caller = (
        mandates.mandates_of_owner
        if isinstance(caller, OwnerCaller)
        else mandates.mandates_of_agent
    )
    page = page_of(call, "mandates.list", command)
    found = of_caller(call.db, caller.account_id, statuses, page.before, page.limit + 1)
    shown, next_cursor = page.cut(found, lambda one: one.id)
    readings = readings_of(call, shown)
    return Answer(
        MandateList(
            mandates=[mandate_view(call, one, readings[one.id]) for one in shown],
            next_cursor=next_cursor,
        )
    )


def offers(call: Call, caller: AgentCaller, command: OffersQuery) -> Answer[Offers]:
    """Mandates that wait for the agent, with their clauses.

    Errors: Refusal not_owner for another agent's offers.
    """
    if command.id != str(caller.account_id):
        raise Refusal("not_owner", f"These are the offers of agent {command.id}; read your own.")
    page = page_of(call, "mandates.offers", command)
    found = mandates.offers_of_agent(
        call.db, caller.account_id, call.now, page.before, page.limit + 1
    )
    shown, next_cursor = page.cut(found, lambda one: one.id)
    return Answer(Offers(offers=_carded(call, shown), next_cursor=next_cursor))


def board(call: Call, caller: Nobody, command: BoardQuery) -> Answer[OpenBoard]:
    """Mandates that any agent may accept."""
    page = page_of(call, "mandates.board", command)
    found = mandates.open_board(call.db, call.now, page.before, page.limit + 1)
    shown, next_cursor = page.cut(found, lambda one: one.id)
    return Answer(OpenBoard(mandates=_carded(call, shown), next_cursor=next_cursor))


def _carded(call: Call, shown: Collection[Mandate]) -> list[CardedMandate]:
    readings = readings_of(call, shown)
    return [
        CardedMandate(
            **mandate_view(call, one, readings[one.id]), **_card_by(call, one, readings[one.id])
        )
        for one in shown
    ]


def _card_by(call: Call, mandate: Mandate, reading: Reading[MandateState]) -> dict[str, Any]:
    """The card by the ledger alone: one that is short does not know whom the vault obeys."""
    return _card(call, mandate, reading.said, is_known=reading.short is None)


def me(call: Call, caller: AgentCaller, command: NoInput) -> Answer[OwnStatus]:
    """The agent's own id and data, and what it holds (agent_status)."""
    held = mandates.held_by_agent(call.db, caller.account_id, ACTIVE_SHOWN, ENDED_SHOWN)
    readings = readings_of(call, held)
    status = agent_status(
        [
            HeldMandate(
                public_id=one.public_id,
                market_mode=MarketMode(one.market_mode),
                state=readings[one.id].said,
                short=readings[one.id].short,
            )
            for one in held
        ]
    )
    return Answer(
        OwnStatus(
            agent_id=str(caller.account_id),
            name=caller.name,
            wallet_address=caller.wallet_address,
            is_owned=caller.owner_id is not None,
            scopes=None if caller.scopes is None else list(caller.scopes),
            accepts_mandates=policies.accepts_mandates(call.db, caller.account_id),
            agent_status=status,
        )
    )
