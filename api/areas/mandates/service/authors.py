"""Signatures of rows by who writes them: who may sign, whether it is their signature, and whether
the row is the next one of theirs (docs/record.md#signed-rows).

    signed_by_author   before the lock: a contract wallet is asked through a node
    require_next       under the mandate's lock: two rows at once never take the same place
"""

from dataclasses import replace
from typing import Any

from api.areas.mandates.schemas.answers import NextRow
from api.areas.mandates.schemas.commands import AuthorFields, MandatePath
from api.areas.mandates.service.access import party_of
from api.areas.mandates.service.views import reading_of, terms_of
from api.kernel.caller import AgentCaller, OwnerCaller
from api.kernel.operation import Answer, Call, Refusal, WriteCall
from core.chain.signatures import kept_signature, verify_digest
from core.hexes import address_or_none
from core.identity import queries as identity
from core.mandate import rows as mandate_rows
from core.mandate.chain.typed_data import record_row, row_domain
from core.mandate.rules.progress import data_issue
from core.mandate.rules.record import NextSignature, next_signature
from core.mandate.rules.rows import NewRow, ReportedBy, RowAuthor
from core.mandate.rules.terms import ZERO_ADDRESS
from core.mandate.tables import Mandate


def next_row(
    call: Call, caller: AgentCaller | OwnerCaller, command: MandatePath
) -> Answer[NextRow]:
    """What the caller signs its next row of this mandate with."""
    mandate = party_of(call, caller, command.id)
    by = ReportedBy.OWNER if isinstance(caller, OwnerCaller) else ReportedBy.AGENT
    place, reading = _next(call, mandate, by), reading_of(call, mandate)
    return Answer(
        NextRow(
            mandate_id=mandate.public_id,
            reported_by=by,
            sequence=place.sequence,
            prev=place.prev,
            signers=signers_of(call, mandate, by),
            domain=row_domain(call.deps.contracts["factory"], mandate.chain_id),
            market_mode=mandate.market_mode,
            **data_issue(reading.said, reading.short),
        )
    )


def signers_of(call: Call, mandate: Mandate, by: ReportedBy) -> list[str]:
    """The keys whose signature the record itself can justify: of an agent the newest that the vault
    was given, else the one of the terms. Where the record names none, the wallet that is linked to
    the agent's account.
    """
    terms = terms_of(mandate)
    if by is ReportedBy.OWNER:
        return [terms.owner]
    state = reading_of(call, mandate).said
    named = state.last_agent_set or terms.agent
    return [named] if named != ZERO_ADDRESS else _linked(call, mandate)


def _linked(call: Call, mandate: Mandate) -> list[str]:
    agent = None if mandate.agent_id is None else identity.find_agent(call.db, mandate.agent_id)
    wallet = None if agent is None else address_or_none(agent.wallet_address)
    return [] if wallet is None else [wallet]


def signed_by_author(
    call: Call, mandate: Mandate, row: NewRow, author: AuthorFields | None
) -> RowAuthor | None:
    """The signature that came with a row, once it is known to be one of who may sign.

    Errors: Refusal author_signature_invalid; RpcUnreachableError when a contract wallet cannot be
    asked.
    """
    if author is None:
        return None
    signers = signers_of(call, mandate, row.reported_by)
    if author.signer not in signers:
        raise _invalid(
            "author.signer",
            f"{author.signer} may not sign for the {row.reported_by.value}; sign with "
            f"{' or '.join(signers) or 'a wallet that is linked to your account'}.",
        )
    found = RowAuthor(
        signer=author.signer,
        sequence=author.sequence,
        prev=author.prev.lower(),
        signature=author.signature.lower(),
    )
    factory = call.deps.contracts["factory"]
    digest = record_row(mandate.public_id, row, found, factory, mandate.chain_id).digest
    found = replace(found, signature=kept_signature(found.signer, digest, found.signature))
    if not verify_digest(found.signer, digest, found.signature, call.deps.chain):
        raise _invalid(
            "author.signature",
            f"It is not {found.signer}'s signature of this row, whose digest is {digest}; sign the "
            "RecordRow that docs/record.md describes.",
        )
    return found


def require_next(call: WriteCall, mandate: Mandate, row: NewRow) -> NewRow:
    """The row itself, when it is the next one of its author. The mandate is locked.

    Errors: Refusal author_signature_missing, author_out_of_order, which say the next place.
    """
    place, author = _next(call, mandate, row.reported_by), row.author
    if author is None:
        if place.sequence > 1:
            raise Refusal(
                "author_signature_missing",
                f"author: the {row.reported_by.value} of this mandate signs its rows; sign this one "
                f"as number {place.sequence}, after {place.prev}.",
                extra=_expected("author", place),
            )
        return row
    for name, stated, expected in (
        ("sequence", author.sequence, place.sequence),
        ("prev", author.prev, place.prev),
    ):
        if stated != expected:
            raise Refusal(
                "author_out_of_order",
                f"author.{name}: you signed {stated}, but the next row of the "
                f"{row.reported_by.value} has {expected}; sign it again.",
                extra=_expected(f"author.{name}", place),
            )
    return row


def _next(call: Call, mandate: Mandate, by: ReportedBy) -> NextSignature:
    return next_signature(mandate_rows.newest_signed_row(call.db, mandate.id, by))


def _invalid(field: str, detail: str) -> Refusal:
    return Refusal("author_signature_invalid", f"{field}: {detail}", extra={"field": field})


def _expected(field: str, place: NextSignature) -> dict[str, Any]:
    expected = {"sequence": place.sequence, "prev": place.prev}
    return {"field": field, "expected": expected}
