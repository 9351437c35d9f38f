"""A lost key is replaced by the recovery code, once a code (docs/identity.md#recover).

    before   key A   code A   bearer A   a wallet that waits   scopes, limits, credits, linked wallet, the day's count
    after    key B   code B   bearer B   none                  the same

The owner of the agent is notified, and can undo it (api/areas/agents/service/eviction.py).
Wrong codes are counted by network address over a sliding hour. Which part was wrong is not said.
"""

from datetime import timedelta
from unicodedata import normalize

from api.areas.identity.schemas import Recover, Recovered
from api.kernel.caller import Nobody
from api.kernel.operation import Answer, Refusal, WriteCall
from api.shared.sessions import evict, hash_of
from core.identity import evictions
from core.identity import queries as identity
from core.identity.tables import Account

WINDOW = timedelta(hours=1)


def recover(call: WriteCall, caller: Nobody, command: Recover) -> Answer[Recovered]:
    """Errors: Refusal auth_invalid, counted; rate_limited after too many of them, whatever the
    code.
    """
    _require_attempts_left(call)
    account = identity.lock_recoverable(call.db, hash_of(call, command.recovery_code))
    if account is None or not _is_named(account, command.agent_name):
        identity.add_recovery_failure(call.db, call.client, call.now, call.now - WINDOW)
        detail = (
            "recovery_code: it is not valid, has already been used, or does not belong to "
            "agent_name. Send the newest one; with an agent of /mining/register send "
            "recovery_agent_name as agent_name."
        )
        raise Refusal("auth_invalid", detail, keeps_write=True)
    evicted = evict(call, account)
    evictions.note_recovery(call.db, account, call.now)
    return Answer(Recovered.of(evicted, user_id=account.id))


def _is_named(account: Account, agent_name: str | None) -> bool:
    """An agent with a recovery name must send it; another may leave the name out, or send its
    own.
    """
    if agent_name is None:
        return account.recovery_name is None
    known = account.name if account.recovery_name is None else account.recovery_name
    return normalize("NFC", agent_name) == normalize("NFC", known)


def _require_attempts_left(call: WriteCall) -> None:
    identity.lock_recoveries(call.db, call.client)
    limit = call.deps.limits.recovery_failures_per_hour
    failures = identity.recovery_failures(call.db, call.client, call.now - WINDOW)
    if len(failures) >= limit:
        detail = (
            f"This network address has sent {limit} wrong recovery codes within an hour; send "
            "the right one later."
        )
        raise Refusal("rate_limited", detail, retry_at=failures[-limit] + WINDOW)
