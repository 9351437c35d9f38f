"""One write, however often it is sent: the first answer to (scope, key) is kept with the write and
answered again.

    first call       lock (scope, key) -> serve -> keep the answer -> commit
    the same beside  the lock is taken: idempotency_in_flight, at once, never by waiting
    the same later   the kept answer, Idempotent-Replay: true, nothing is written
    another body     idempotency_key_reused

Laws
- The answer is written in the transaction of the write; a refused or failed write keeps nothing, so
  its key is free again, unless the refusal is a row of the record and says `keeps_key`.
- A write holds its slot for its transaction. A call that a payment settles for holds it over the
  settlement too, by a lock that ends with its connection, so that a process that is killed leaves
  no slot taken.
- Of an answer that shows secrets all else is kept, and a salt. The same call makes the secrets
  again, for SHOWN_FOR, out of the salt, the pepper and the idempotency key, of which only a hash is
  stored: a copy of the database has none of them, nor has one with the pepper. So the key must be
  as hard to guess as a secret. Where neither a credential nor the body says who calls, they are
  shown to the network address of the first call alone: who guesses a key, or uses one that others
  guess, gets nobody else's.
- Scope: the caller, the operation and the ids of its path. HTTP and tool calls share it. An agent's
  secrets are part of the caller: an eviction may have voided what was answered before it, so that
  the same key asks again. A read that has a price is the exception: what was paid for it stays
  paid.
- The hash is over the parsed command: "1.0" and 1.000000 are one body. Source:
  docs/rules.md#idempotency.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from api.kernel.caller import AgentCaller, BearerCaller, Caller, Nobody
from api.kernel.operation import Command, Operation, Refusal
from api.kernel.outcome import Outcome
from api.kernel.tokens import TokenKind, derived
from core.db.engine import WriteSession
from core.identity import calls
from core.identity.tables import IdempotencyRecord

REPLAY_HEADER = "Idempotent-Replay"

KEY_PATTERN = "[A-Za-z0-9._:-]{1,128}"
STRONG_KEY_PATTERN = "[A-Za-z0-9._:-]{22,128}"  # 22 random characters have 128 bits
SHOWN_FOR = timedelta(minutes=10)
SECRETS: Mapping[str, TokenKind] = {
    "api_key": TokenKind.AGENT_KEY,
    "recovery_code": TokenKind.RECOVERY_CODE,
    "bearer_token": TokenKind.AGENT_BEARER,
}
_SALT = "secrets_salt"
_SHOWN_TO = "secrets_shown_to"
_SALT_BYTES = 16


@dataclass(frozen=True, slots=True)
class IdempotencySlot:
    """The right to write the first answer to (scope, key), held until the transaction ends, or as
    long as `held` says.
    """

    scope: str
    key: str
    body_hash: bytes

    def keep(self, session: WriteSession, outcome: Outcome, now: datetime) -> None:
        body = self.kept_body(outcome.body)
        calls.keep_idempotency(
            session, self.scope, self.key, self.body_hash, outcome.status, body, now
        )

    def kept_body(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        return body

    def answer_again(self, kept: IdempotencyRecord) -> Outcome:
        return Outcome(kept.status, kept.body, {REPLAY_HEADER: "true"})

    @property
    def digest(self) -> bytes:
        """What a payment that is sent with this key is found by.

        SHA-256; a scope has no line feed, a key neither.
        """
        return hashlib.sha256(f"{self.scope}\n{self.key}".encode()).digest()


@dataclass(frozen=True, slots=True)
class SecretSlot(IdempotencySlot):
    """The slot of a call that shows secrets; `key` is the hash of the one that was sent.

    Each secret's kind is minted once. `shown_to`: the one network address that they are shown to;
    None: whoever sends the call is known otherwise.
    """

    sent_key: str = field(repr=False)
    salt: str
    pepper: bytes = field(repr=False)
    now: datetime
    shown_to: str | None

    def mint(self, kind: TokenKind) -> str:
        return derived(
            self.pepper,
            kind,
            "\n".join((self.scope, self.sent_key, self.salt)).encode() + b"\n" + self.body_hash,
        )

    def kept_body(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        shown = dict.fromkeys(SECRETS.keys() & body.keys())
        return {**body, **shown, _SALT: self.salt, _SHOWN_TO: self.shown_to}

    def answer_again(self, kept: IdempotencyRecord) -> Outcome:
        """Errors: Refusal idempotency_key_reused once its time is over, or for another address."""
        body = dict(kept.body)
        if body.pop(_SHOWN_TO, None) not in (None, self.shown_to):
            detail = (
                "This Idempotency-Key was used from another network address, and its secrets "
                "are shown only there; use a new random key."
            )
            raise Refusal("idempotency_key_reused", detail)
        if self.now >= kept.created_at + SHOWN_FOR:
            detail = (
                "This Idempotency-Key was used more than 10 minutes ago, and its secrets are "
                "not shown again; use a new key."
            )
            raise Refusal("idempotency_key_reused", detail)
        first = replace(self, salt=str(body.pop(_SALT)))
        shown = {name: first.mint(SECRETS[name]) for name in SECRETS.keys() & body.keys()}
        return Outcome(kept.status, body | shown, {REPLAY_HEADER: "true"})


def slot_of(
    operation: Operation, caller: Caller, ids: Mapping[str, str], command: Command, key: str | None
) -> IdempotencySlot | None:
    """None: the call has no key, or its operation takes none.

    Errors: Refusal invalid_parameter for an ill-formed key.
    """
    if (
        key is None
        or not operation.idempotent
        or (isinstance(caller, Nobody) and operation.secrets is None)
    ):
        return None
    if not re.fullmatch(pattern_of(operation), key):
        least = "22 random characters to" if operation.secrets else "1 to"
        raise Refusal(
            "invalid_parameter",
            f"Idempotency-Key: write {least} 128 characters from letters, digits and . _ : -",
        )
    who = _who(caller, outlives_evictions=operation.sold is not None)
    return IdempotencySlot(":".join((who, operation.key, *ids.values())), key, _hash(command))


def pattern_of(operation: Operation) -> str:
    return STRONG_KEY_PATTERN if operation.secrets else KEY_PATTERN


def words_of(operation: Operation) -> str:
    """What a key of this operation must be, as schemas say it beside what it does."""
    if operation.secrets is None:
        return ""
    return (
        ". Make it random, such as a UUID v4, and keep it secret until you have stored the answer: "
        "for 10 minutes, anyone who repeats the call with it is shown the secrets"
    )


def secret_slot(
    slot: IdempotencySlot, pepper: bytes, now: datetime, shown_to: str | None
) -> SecretSlot:
    return SecretSlot(
        scope=slot.scope,
        key=hashlib.sha256(slot.key.encode()).hexdigest(),
        body_hash=slot.body_hash,
        sent_key=slot.key,
        salt=secrets.token_hex(_SALT_BYTES),
        pepper=pepper,
        now=now,
        shown_to=shown_to,
    )


def claim(session: WriteSession, slot: IdempotencySlot) -> Outcome | None:
    """Take the slot, or answer again.

    Errors: Refusal idempotency_in_flight, idempotency_key_reused.
    """
    if not calls.try_lock_idempotency(session, slot.scope, slot.key):
        raise _in_flight()
    return _kept(session, slot)


@contextmanager
def held(session: WriteSession, slot: IdempotencySlot) -> Iterator[Outcome | None]:
    """The same over all transactions of a pinned session: no other call with this key gets further
    than `claim` in the meantime.

    No transaction is open when the block begins. Errors: as claim.
    """
    if not calls.try_hold_idempotency(session, slot.scope, slot.key):
        raise _in_flight()
    try:
        kept = _kept(session, slot)
        session.commit()
        yield kept
    finally:
        session.rollback()
        calls.release_idempotency(session, slot.scope, slot.key)
        session.commit()


def _in_flight() -> Refusal:
    return Refusal(
        "idempotency_in_flight",
        "A call with this Idempotency-Key is in progress; send it again in a moment.",
    )


def _kept(session: WriteSession, slot: IdempotencySlot) -> Outcome | None:
    kept = calls.find_idempotency(session, slot.scope, slot.key)
    if kept is None:
        return None
    if kept.body_hash != slot.body_hash:
        raise Refusal(
            "idempotency_key_reused",
            "This Idempotency-Key was already used with another body; use a new key, or send "
            "the first body again.",
        )
    return slot.answer_again(kept)


def _who(caller: Caller, *, outlives_evictions: bool) -> str:
    match caller:
        case AgentCaller() | BearerCaller():
            generation = 0 if outlives_evictions else caller.generation
            return f"agent:{caller.account_id}.{generation}"
        case Nobody():
            return "nobody"
    return f"account:{caller.account_id}"


def _hash(command: Command) -> bytes:
    """SHA-256 of the command's JSON with sorted names.

    The command has no floats, so equal commands have equal text.
    """
    text = json.dumps(
        command.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return hashlib.sha256(text.encode()).digest()
