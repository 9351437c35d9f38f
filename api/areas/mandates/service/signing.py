"""Terms, their signature, and calling a mandate off before it has a vault (wallet spec 2.9, 5.5; decisions 37, 48)."""

from api.areas.mandates.schemas import MandatePath, SignTerms
from api.areas.mandates.service.access import owned
from api.areas.mandates.service.current import current_of
from api.areas.mandates.service.owner_calls import cancel_terms_call
from api.areas.mandates.service.views import digest_of, mandate_view, rules_of, terms_of
from api.kernel.caller import OwnerCaller
from api.kernel.operation import Answer, Call, Refusal
from core.books import mandate_ledger
from core.chain.signatures import verify_digest
from core.chain.typed_data import terms_typed_data, typed_data_parts
from core.db.repositories.mandate_rows import mandate_facts
from core.domain.mandate.ledger import signed_rows
from core.domain.mandate.lifecycle import MarketMode, Move, MoveFacts, Status, next_status
from core.domain.mandate.paper import cancel_row
from core.domain.mandate.terms import rules_to_json, terms_to_json


def terms(call: Call, caller: OwnerCaller, command: MandatePath) -> Answer:
    """What the owner's wallet signs: typed_data goes to eth_signTypedData_v4 as it stands, typed_data_parts to ethers."""
    mandate = owned(call, caller, command.id)
    document = terms_of(mandate)
    signed = terms_typed_data(document, call.deps.contracts["factory"], mandate.chain_id, mandate.terms_version)
    return Answer(
        {
            "id": mandate.public_id,
            "version": mandate.terms_version,
            "digest": digest_of(mandate),
            "terms": terms_to_json(document),
            "typed_data": signed,
            "typed_data_parts": typed_data_parts(signed),
            "rules": rules_to_json(rules_of(mandate)),
            "guard_targets": mandate.guard_targets,
        }
    )


def sign(call: Call, caller: OwnerCaller, command: SignTerms) -> Answer:
    """Hand in the signature of the frozen terms."""
    mandate = owned(call, caller, command.id, lock=True)
    next_status(Status(mandate.status), Move.SIGN, MoveFacts(market_mode=MarketMode(mandate.market_mode)))
    document = terms_of(mandate)
    if call.now.timestamp() >= document.ends_at:
        raise Refusal("wrong_status", "The draft's end date has passed; update the draft, which sets new dates, and sign that.")
    if not verify_digest(document.owner, digest_of(mandate), command.signature, call.deps.chain):
        raise Refusal(
            "signature_invalid",
            f"This is not {document.owner}'s signature of the draft's current terms on chain {mandate.chain_id}; "
            "read the terms again and sign their typed_data.",
        )
    mandate.signature = bytes.fromhex(command.signature.removeprefix("0x"))
    call.db.flush()
    rows = signed_rows(mandate_facts(mandate), terms_digest=digest_of(mandate), version=mandate.terms_version, now=call.now)
    mandate_ledger.append_many(call.db, mandate.id, rows, call.now)
    return Answer({"mandate": mandate_view(call, mandate)})


def cancel(call: Call, caller: OwnerCaller, command: MandatePath) -> Answer:
    """Drop a draft, or a signed mandate without a vault; for the latter the answer has the call that voids the signature."""
    mandate = owned(call, caller, command.id, lock=True)
    current = current_of(call, mandate).require_known()
    facts = MoveFacts(market_mode=MarketMode(mandate.market_mode), has_vault=current.vault is not None)
    next_status(current.status, Move.CANCEL, facts)
    if mandate.signature is None:
        # A draft has no book yet: nothing was signed that a row could tell of.
        mandate.status, mandate.ended_at, mandate.updated_at = Status.CANCELLED.value, call.now, call.now
        call.db.flush()
    else:
        mandate_ledger.append(call.db, mandate.id, cancel_row(call.now), call.now)
    return Answer({"mandate": mandate_view(call, mandate), "cancel_call": cancel_terms_call(call, mandate, current.vault)})
