"""Terms, their signature, and calling a mandate off before it has a vault
(docs/owners.md#before-there-is-a-vault).
"""

from dataclasses import replace

from api.areas.mandates.schemas.answers import MandateEnd, OneMandate, Terms
from api.areas.mandates.schemas.commands import EndMandate, MandatePath, SignTerms
from api.areas.mandates.service.access import owned, owned_locked
from api.areas.mandates.service.authors import require_next, signed_by_author
from api.areas.mandates.service.current import current_of
from api.areas.mandates.service.owner_calls import cancel_terms_call, stop_call_of
from api.areas.mandates.service.views import (
    agent_notice,
    digest_of,
    mandate_view,
    rules_of,
    terms_of,
)
from api.kernel.caller import OwnerCaller
from api.kernel.operation import Answer, Call, Refusal, WriteCall
from core.chain.signatures import kept_signature, verify_digest
from core.hexes import bytes_of
from core.identity import queries as identity
from core.mandate.chain.typed_data import terms_typed_data, typed_data_parts
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rows import mandate_facts
from core.mandate.rules.cash import cancelled_note, signed_rows
from core.mandate.rules.lifecycle import (
    MandateMove,
    MarketMode,
    MoveFacts,
    Status,
    StoppedBy,
    next_status,
)
from core.mandate.rules.terms import rules_to_json, terms_to_json


def terms(call: Call, caller: OwnerCaller, command: MandatePath) -> Answer[Terms]:
    """What the owner's wallet signs: typed_data goes to eth_signTypedData_v4 as it is,
    typed_data_parts to ethers.

    `notice`: to be read before signing.
    """
    mandate = owned(call, caller, command.id)
    agent = None if mandate.agent_id is None else identity.find_agent(call.db, mandate.agent_id)
    document = terms_of(mandate)
    signed = terms_typed_data(
        document, call.deps.contracts["factory"], mandate.chain_id, mandate.terms_version
    )
    return Answer(
        Terms(
            id=mandate.public_id,
            version=mandate.terms_version,
            digest=digest_of(mandate),
            terms=terms_to_json(document),
            typed_data=signed,
            typed_data_parts=typed_data_parts(signed),
            rules=rules_to_json(rules_of(mandate)),
            guard_targets=mandate.guard_targets,
            notice=agent_notice(mandate, agent) if mandate.signature is None else None,
        )
    )


def sign(call: WriteCall, caller: OwnerCaller, command: SignTerms) -> Answer[OneMandate]:
    """Hand in the signature of the frozen terms."""
    mandate = owned_locked(call, caller, command.id)
    next_status(
        Status(mandate.status),
        MandateMove.SIGN,
        MoveFacts(market_mode=MarketMode(mandate.market_mode)),
    )
    document = terms_of(mandate)
    if call.now.timestamp() >= document.ends_at:
        raise Refusal(
            "wrong_status",
            "The draft's end date has passed; update the draft, which sets new dates, then "
            "sign it.",
        )
    digest = digest_of(mandate)
    signature = kept_signature(document.owner, digest, command.signature)
    if not verify_digest(document.owner, digest, signature, call.deps.chain):
        raise Refusal(
            "signature_invalid",
            f"This is not {document.owner}'s signature of the draft's current terms on chain "
            f"{mandate.chain_id}; read the terms again and sign their typed_data.",
        )
    mandate.signature = bytes_of(signature)  # in the form that the factory recovers
    call.db.flush()
    rows = signed_rows(
        mandate_facts(mandate),
        terms_digest=digest,
        version=mandate.terms_version,
        now=call.now,
    )
    mandate_ledger.append_many(call.db, mandate.id, rows, call.now)
    shown = mandate_view(call, mandate)
    return Answer(OneMandate(mandate=shown))


def cancel(call: WriteCall, caller: OwnerCaller, command: EndMandate) -> Answer[MandateEnd]:
    """Drop a draft at once.

    Of signed terms the answer has the calls that end them on chain, and nothing has ended before
    one is mined.
    """
    note = cancelled_note(call.now)
    # a node is asked without the lock
    author = signed_by_author(call, owned(call, caller, command.id), note, command.author)
    mandate = owned_locked(call, caller, command.id)
    current = current_of(call, mandate)
    facts = MoveFacts(
        market_mode=MarketMode(mandate.market_mode), has_vault=current.vault is not None
    )
    next_status(current.status, MandateMove.CANCEL, facts)
    stop_call = None
    if current.status is Status.DRAFT:
        current.require_known()
        note = require_next(call, mandate, replace(note, author=author))
        mandate_ledger.append(call.db, mandate.id, note, call.now)
    else:
        stop_call = stop_call_of(call, mandate, current, StoppedBy.OWNER)
    cancel_call = cancel_terms_call(call, mandate, current)
    return Answer(
        MandateEnd(
            status=mandate.status,
            mandate=mandate_view(call, mandate),
            call=stop_call,
            cancel_call=cancel_call,
        )
    )
