"""An agent reports a transfer of its own wallet; the deposit watcher holds it against the chain
(docs/transfers.md).
"""

from api.areas.transfers.schemas import (
    AgentBalances,
    Balance,
    Balances,
    ReportedTransfer,
    ReportTransfer,
    TransferReported,
)
from api.kernel.caller import AgentCaller, OwnerCaller
from api.kernel.operation import Answer, Call, NextCall, Refusal, WriteCall
from core.errors import InvalidParameterError
from core.hexes import hex_of
from core.identity import policies
from core.identity import queries as identity
from core.money import usdc_text
from core.quarantine.rules import Reading
from core.times import instant_text, whole_second
from core.transfers import queries as repository
from core.transfers import reports as transfer_reports
from core.transfers.readings import balance_now, balances_now, lock_balance
from core.transfers.reports import LOOK_MOST, Claim
from core.transfers.rules import Direction, Failure, FourStates, State
from core.transfers.tables import TransferReport

ALLOW_OVERDRAFT = "allow_overdraft"


def report(
    call: WriteCall, caller: AgentCaller, command: ReportTransfer
) -> Answer[TransferReported]:
    """Take the report and move its amount into transit.

    Errors: Refusal duplicate_transfer, insufficient_idle, record_short, rate_limited.
    """
    if command.chain_id != call.deps.chain_id:
        raise InvalidParameterError("chain_id", f"transfers are read on chain {call.deps.chain_id}")
    claim = Claim(
        chain_id=command.chain_id,
        asset=command.asset,
        direction=Direction(command.direction),
        amount_e6=command.amount,
        tx_hash=command.tx_hash,
    )
    _require_new(call, caller, claim)
    override_reason = _override_reason(call, caller, claim)
    _require_room(call, caller)
    added = transfer_reports.report(call.db, caller.account_id, claim, override_reason, call.now)
    if added is None:
        raise _duplicate(call, caller, claim)
    balance = balance_now(call.db, caller.account_id, claim.chain_id, claim.asset)
    shown = balance_view(claim.chain_id, claim.asset, balance)
    return Answer(TransferReported(recorded=True, transfer=transfer_view(added), balance=shown))


def balances(
    call: Call, caller: AgentCaller | OwnerCaller, command: AgentBalances
) -> Answer[Balances]:
    """Every asset that the agent ever reported or received, each the sum of its ledger.

    Errors: Refusal not_found, not_owner.
    """
    agent = identity.find_agent(call.db, int(command.id))
    if agent is None:
        raise Refusal(
            "not_found", f"No agent has the id {command.id}.", next_calls=("mandates.list",)
        )
    own = agent.id if isinstance(caller, AgentCaller) else agent.owner_id
    if own is None or own != caller.account_id:
        raise Refusal(
            "not_owner",
            f"Agent {agent.id} is not yours; only the agent and its owner can read its balances.",
        )
    found = balances_now(call.db, agent.id)
    shown = [
        balance_view(chain_id, asset, Reading(balance, found.short))
        for (chain_id, asset), balance in found.said.items()
    ]
    return Answer(Balances(balances=shown, **found.data_issue))


def _require_new(call: Call, caller: AgentCaller, claim: Claim) -> None:
    """A report that is written already is named before anything else is; one that another call
    writes meanwhile is met by the insert.
    """
    if repository.find_report(call.db, claim.chain_id, claim.tx_hash) is not None:
        raise _duplicate(call, caller, claim)


def _duplicate(call: Call, caller: AgentCaller, claim: Claim) -> Refusal:
    """The caller's own report is shown as it is now; of another's nothing is said."""
    found = repository.find_report(call.db, claim.chain_id, claim.tx_hash)
    if found is not None and found.account_id == caller.account_id:
        detail = f"You reported this transaction; it is {State(found.state).status}."
        return Refusal(
            "duplicate_transfer",
            detail,
            extra={"transfer": transfer_view(found).model_dump(mode="json")},
        )
    detail = (
        "Another agent reported this transaction. If the transfer is yours, report it again "
        "once the chain has contradicted that report."
    )
    return Refusal("duplicate_transfer", detail)


def _override_reason(call: WriteCall, caller: AgentCaller, claim: Claim) -> str | None:
    """None within idle.

    Errors: insufficient_idle; record_short while facts of the account are held back: what is idle
    is not known.

    Holds the ledger from here on, whatever the direction: two reports can't spend one idle, and two
    of one transaction, each holding what the other waits for, can't meet.
    """
    balance = lock_balance(call.db, caller.account_id, claim.chain_id, claim.asset, call.now)
    idle_e6 = balance.said.idle_e6
    if claim.direction is Direction.IN or (balance.short is None and claim.amount_e6 <= idle_e6):
        return None
    if _allows_overdraft(call, caller):
        return (
            f"{ALLOW_OVERDRAFT}: idle was "
            f"{usdc_text(idle_e6) if balance.short is None else 'not known'}"
        )
    if balance.short is not None:
        detail = (
            f"The idle balance is unknown. {balance.short.reason} Report it again once the "
            "balances carry no data_issue."
        )
        raise Refusal(
            "record_short",
            detail,
            next_calls=(NextCall("transfers.balances", {"id": str(caller.account_id)}),),
        )
    raise Refusal(
        "insufficient_idle",
        f"The report takes out {usdc_text(claim.amount_e6)} but only {usdc_text(idle_e6)} is "
        "idle. Report what came in first and wait until it is confirmed, or ask the owner "
        "for allow_overdraft in the policy's auto_vs_approval.",
        remaining=usdc_text(idle_e6),
        next_calls=(NextCall("mandates.policy", {"id": str(caller.account_id)}),),
    )


def _require_room(call: WriteCall, caller: AgentCaller) -> None:
    """Each open report is looked up on the chain again and again.

    The ledger is held, so that of calls at once exactly the limit is taken.
    """
    limit = call.deps.limits.open_transfer_reports
    first_ends_at = transfer_reports.make_room(call.db, caller.account_id, limit)
    if first_ends_at is None:
        return
    again = whole_second(max(first_ends_at, call.now + LOOK_MOST))
    raise Refusal(
        "rate_limited",
        f"{limit} of your transfer reports are already waiting for the chain, the limit; "
        "send this one once one of them is confirmed or has failed, at the latest from "
        f"{instant_text(again)} on.",
        remaining={"open_transfer_reports": 0},
        retry_at=again,
        next_calls=(NextCall("transfers.balances", {"id": str(caller.account_id)}),),
    )


def _allows_overdraft(call: Call, caller: AgentCaller) -> bool:
    found = policies.find_policy(call.db, caller.account_id)
    return (
        found is not None
        and (found.policy.get("auto_vs_approval") or {}).get(ALLOW_OVERDRAFT) is True
    )


def transfer_view(report: TransferReport) -> ReportedTransfer:
    return ReportedTransfer.of(
        report,
        agent_id=str(report.account_id),
        amount=usdc_text(report.amount_e6),
        tx_hash=hex_of(report.tx_hash),
        direction=Direction(report.direction),
        status=State(report.state).status,
        failure=None if report.failure is None else Failure(report.failure),
    )


def balance_view(chain_id: int, asset: str, balance: Reading[FourStates]) -> Balance:
    """Of a short ledger nobody knows what came in, went out or arrived; what is reserved is not the
    chain's to say.
    """
    known, is_whole = balance.said, balance.short is None
    return Balance(
        chain_id=chain_id,
        asset=asset,
        idle=usdc_text(known.idle_e6) if is_whole else None,
        reserved=usdc_text(known.reserved_e6),
        in_transit=usdc_text(known.in_transit_e6) if is_whole else None,
        delivered=usdc_text(known.delivered_e6) if is_whole else None,
        **balance.data_issue,
    )
