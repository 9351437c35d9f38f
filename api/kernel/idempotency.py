"""One write, however often it is sent: the first answer to (scope, key) is kept with the write and answered again.

    first call       lock (scope, key) -> serve -> keep the answer -> commit
    the same beside  the lock is taken: idempotency_in_flight, at once, never by waiting
    the same later   the kept answer, Idempotent-Replay: true, nothing is written
    another body     idempotency_key_reused

Laws
- The answer is written in the transaction of the write; a refused or failed write keeps nothing, so its key is free again.
- Scope: the caller, the operation and the ids of its path. HTTP and tool calls share it. An agent's secrets are part of the caller: an
  eviction may have voided what was answered before it, so that the same key asks anew.
- The hash is over the parsed command: "1.0" and 1.000000 are one body. Source: docs/rules.md#idempotency.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from api.kernel.caller import AgentCaller, BearerCaller, Caller, Nobody
from api.kernel.operation import Command, Operation, Outcome, Refusal
from core.db.engine import WriteSession
from core.identity import calls

REPLAY_HEADER = "Idempotent-Replay"

KEY_PATTERN = "[A-Za-z0-9._:-]{1,128}"
_KEY = re.compile(KEY_PATTERN)


@dataclass(frozen=True, slots=True)
class Slot:
    """The right to write the first answer to (scope, key), held until the transaction ends."""

    scope: str
    key: str
    body_hash: bytes

    def keep(self, session: WriteSession, outcome: Outcome, now: datetime) -> None:
        calls.keep_idempotency(session, self.scope, self.key, self.body_hash, outcome.status, outcome.body, now)


def slot_of(operation: Operation, caller: Caller, ids: Mapping[str, str], command: Command, key: str | None) -> Slot | None:
    """None: the call has no key, or its operation takes none. Errors: Refusal invalid_parameter for an ill-formed key."""
    if key is None or not operation.idempotent or isinstance(caller, Nobody):
        return None
    if not _KEY.fullmatch(key):
        raise Refusal("invalid_parameter", "Idempotency-Key: write 1 to 128 characters from letters, digits and . _ : -")
    return Slot(":".join((_who(caller), operation.key, *ids.values())), key, _hash(command))


def claim(session: WriteSession, slot: Slot) -> Outcome | None:
    """Take the slot, or answer again. Errors: Refusal idempotency_in_flight, idempotency_key_reused."""
    if not calls.try_lock_idempotency(session, slot.scope, slot.key):
        raise Refusal("idempotency_in_flight", "A call with this Idempotency-Key is being served; send it again in a moment.")
    kept = calls.find_idempotency(session, slot.scope, slot.key)
    if kept is None:
        return None
    if kept.body_hash != slot.body_hash:
        raise Refusal(
            "idempotency_key_reused", "This Idempotency-Key was used with another body; take a new key, or send the first body again."
        )
    return Outcome(kept.status, kept.body, {REPLAY_HEADER: "true"})


def _who(caller: Caller) -> str:
    match caller:
        case AgentCaller() | BearerCaller():
            return f"agent:{caller.account_id}.{caller.generation}"
        case Nobody():
            return "nobody"
    return f"account:{caller.account_id}"


def _hash(command: Command) -> bytes:
    """SHA-256 of the command's JSON with sorted names. The command has no floats, so equal commands have equal text."""
    text = json.dumps(command.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).digest()
