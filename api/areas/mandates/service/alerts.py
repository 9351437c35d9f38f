"""What an owner should know of besides the record of one mandate (docs/record.md#alerts)."""

from collections.abc import Mapping

from api.areas.mandates.schemas.answers import Alerts, AlertView
from api.areas.mandates.schemas.commands import AlertsQuery
from api.kernel.caller import OwnerCaller
from api.kernel.operation import Answer, Call
from api.kernel.pagination import page_of
from core.alerts.queries import (
    AGENT_RECOVERED,
    AGENT_WALLET_LINKED,
    HL_KEY_LOST,
    KEEPER_CHANGE,
    MONEY_AT_COST,
    RECORD_HELD,
    alerts_of_owner,
)
from core.alerts.tables import OwnerAlert

# By kind: what it means for the owner, and what to do. The facts are in `event` and `args`.
SAID = {
    RECORD_HELD: {
        "message": "From this block on the record of this mandate lacks facts of the chain; they are "
        "held back and not lost. Its numbers are unknown until they are recorded. Your "
        "money is in the vault, whose limits and stop line hold as before.",
        "next_step": "You do not need to do anything: the service records the facts and then withdraws "
        "this alert. To get out before that, use stop-call, unwind-call, close-all-plan and "
        "withdraw-call as usual: they follow the chain.",
    },
    MONEY_AT_COST: {
        "message": (
            "Money went to a target that no adapter values. It counts at cost there: a loss "
            "cannot stop the mandate until the money comes back."
        ),
        "next_step": (
            "Read progress.public_stop for how much is out. If that is not what you want, use "
            "stop-call."
        ),
    },
    KEEPER_CHANGE: {
        "message": (
            "The account that may mark and stop your vaults has changed, or is about to. "
            "Only you can withdraw."
        ),
        "next_step": "If you do not expect this change, stop your mandates with stop-call and withdraw.",
    },
    HL_KEY_LOST: {
        "message": "The perpetuals venue no longer accepts the key of this mandate's leg: only you can "
        "change or close its positions.",
        "next_step": "Approve args.agent_address again at the venue, from args.owner_address; the alert "
        "is then withdrawn. Or close the positions yourself, and unbind the leg (DELETE hl-leg of "
        "this mandate).",
    },
}
# The same of an agent's account, with its `args` filled in.
SAID_OF_AGENT = {
    AGENT_WALLET_LINKED: {
        "message": "Agent {user_id} has linked the wallet {wallet_address} with the bearer token of "
        "connect. Its starter wallet pays that wallet from {wallet_payable_at} on.",
        "next_step": "If the wallet is the agent's, you do not need to do anything; POST "
        "/agents/{user_id}/wallet/confirm ends the wait. If not, POST "
        "/agents/{user_id}/keys/rotate before then: it replaces the agent's secrets and "
        "unlinks the wallet. After that, POST /agents/{user_id}/wallet/unlink does the same.",
    },
    AGENT_RECOVERED: {
        "message": (
            "Somebody with the recovery code of agent {user_id} has replaced its key, recovery "
            "code and token of connect."
        ),
        "next_step": "If it was not you or your agent, POST /agents/{user_id}/recovery/undo: it replaces "
        "the secrets again, for you, and unlinks the wallet that was linked since. If it "
        "was, you do not need to do anything.",
    },
}
UNSAID = {"message": None, "next_step": None}


def alerts(call: Call, caller: OwnerCaller, command: AlertsQuery) -> Answer[Alerts]:
    """The newest first. One that no longer holds stays, with `withdrawn_at`."""
    page = page_of(call, "mandates.alerts", command)
    found = alerts_of_owner(call.db, caller.account_id, page.before, page.limit + 1)
    shown, next_cursor = page.cut(found, lambda alert: alert.id)
    return Answer(Alerts(alerts=[_view(alert) for alert in shown], next_cursor=next_cursor))


def _view(alert: OwnerAlert) -> AlertView:
    return AlertView.of(
        alert,
        **_said(alert),
        mandate_id=alert.payload.get("mandate_id"),
        event=alert.payload.get("event"),
        args=alert.payload.get("args"),
        tx_hash=_hex(alert.tx_hash),
        at=alert.occurred_at,
    )


def _said(alert: OwnerAlert) -> Mapping[str, str | None]:
    if alert.kind in SAID_OF_AGENT:
        return {
            name: words.format(**alert.payload["args"])
            for name, words in SAID_OF_AGENT[alert.kind].items()
        }
    return SAID.get(alert.kind, UNSAID)


def _hex(raw: bytes | None) -> str | None:
    return None if raw is None else "0x" + raw.hex()
