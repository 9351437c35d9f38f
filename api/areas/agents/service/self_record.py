"""What an agent says of itself, and its wallet's word that it was the agent who said it
(docs/identity.md#the-self-record).

Laws
- A record is replaced whole; every version is kept. The owner's persona is a seed: it shows until
  the agent declares one.
- What is signed is the SHA-256 of the four fields as RFC 8785 JSON, those left out null:
  {"next_steps":null,"persona":"A careful buyer of units.","progress":null,"strategy":null}
- A signature counts when the linked wallet made it; without one the record is kept as unsigned.
"""

import hashlib
from typing import Any, Literal

from api.areas.agents.schemas import DeclareSelf, SeedPersona, SelfQuery, SelfRecord
from api.areas.agents.service.access import held
from api.kernel.caller import AgentCaller, OwnerCaller
from api.kernel.operation import Answer, Call, Refusal, WriteCall
from api.kernel.scopes import require_named_scope
from api.shared.siwe import Purpose, TextSubject, personal_digest, verify_wallet
from core.canonical import canonical_json
from core.chain.signatures import kept_signature
from core.errors import InvalidParameterError
from core.hexes import address_or_none, bytes_of
from core.identity import queries as identity
from core.identity import self_records
from core.identity.self_records import SignedText
from core.identity.tables import Account
from core.times import instant_text_or_none

FIELDS = ("persona", "strategy", "progress", "next_steps")
SIGN = "sign"


def read(call: Call, caller: AgentCaller, command: SelfQuery) -> Answer[SelfRecord]:
    """The caller's record, or that of the agent whose wallet is named.

    Errors: Refusal not_found.
    """
    if command.wallet is None:
        return Answer(_view(call, _account(call, caller.account_id)))
    agent = identity.find_account_of_wallet(call.db, command.wallet)
    if agent is None or agent.kind != "agent":
        raise Refusal(
            "not_found",
            f"wallet: no agent has linked {command.wallet}.",
            next_calls=("agents.self_read",),
        )
    return Answer(_view(call, agent))


def declare(call: WriteCall, caller: AgentCaller, command: DeclareSelf) -> Answer[SelfRecord]:
    """Errors: Refusal agent_key_scope (a signature needs the scope sign), wallet_required,
    signature_invalid.
    """
    record = {name: getattr(command, name) for name in FIELDS}
    if not any(record.values()):
        raise InvalidParameterError("persona", f"send at least one of {', '.join(FIELDS)}")
    digest = record_sha256(record)
    signed = (
        None
        if command.signature is None
        else _signed(call, caller, digest, command.signature, command.message)
    )
    self_records.add_version(call.db, caller.account_id, "agent", record, digest, signed, call.now)
    return Answer(_view(call, _account(call, caller.account_id)))


def seed_persona(call: WriteCall, caller: OwnerCaller, command: SeedPersona) -> Answer[SelfRecord]:
    """Errors: Refusal not_found, not_owner."""
    agent = held(call, caller, command.id)
    record = dict.fromkeys(FIELDS) | {"persona": command.persona}
    self_records.add_version(
        call.db, agent.id, "owner", record, record_sha256(record), None, call.now
    )
    return Answer(_view(call, agent))


def record_sha256(record: dict[str, Any]) -> bytes:
    """SHA-256 of the record as RFC 8785 JSON."""
    return hashlib.sha256(canonical_json(record)).digest()


def _signed(
    call: WriteCall, caller: AgentCaller, digest: bytes, signature: str, sent: str | None
) -> SignedText:
    require_named_scope(caller, SIGN)
    if caller.wallet_address is None:
        detail = (
            "signature: the account has no wallet to check it against; link one with "
            "/auth/wallet/link, or leave the signature out."
        )
        raise Refusal("wallet_required", detail)
    wallet = caller.wallet_address
    message = verify_wallet(call, TextSubject(Purpose.SELF, digest.hex()), wallet, signature, sent)
    kept = kept_signature(wallet, personal_digest(message), signature)
    return SignedText(message, kept, bytes_of(wallet))


def _account(call: Call, account_id: int) -> Account:
    account = identity.find_account(call.db, account_id)
    assert account is not None, "a key has an account"
    return account


def _view(call: Call, agent: Account) -> SelfRecord:
    own = self_records.newest_version(call.db, agent.id, "agent")
    seed = self_records.newest_version(call.db, agent.id, "owner")
    record = dict.fromkeys(FIELDS) if own is None else {name: own.record[name] for name in FIELDS}
    persona_by: Literal["agent", "owner"] | None = (
        "agent" if record["persona"] is not None else None
    )
    if persona_by is None and seed is not None:
        record["persona"], persona_by = seed.record["persona"], "owner"
    signature = None if own is None else own.signature
    return SelfRecord(
        user_id=agent.id,
        agent_name=agent.name,
        wallet_address=address_or_none(agent.wallet_address),
        **record,
        persona_by=persona_by,
        is_self_declared=True,
        signed=signature is not None,
        signed_by=None if own is None else address_or_none(own.signed_by),
        record_sha256=None if own is None else own.record_sha256.hex(),
        message=None if own is None else own.message,
        signature=None if signature is None else "0x" + signature.hex(),
        version=self_records.count_versions(call.db, agent.id, "agent"),
        declared_at=instant_text_or_none(None if own is None else own.created_at),
    )
