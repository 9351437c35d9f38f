"""What the logs of a vault say of one transaction, before the ledger has its rows."""

from collections.abc import Iterable

from core.chain.blocks import RawLog
from core.mandate.chain.decode import decode_log
from core.mandate.rules import events as ev
from core.mandate.rules.tx_facts import CallSeen, TxFacts


def facts_of_logs(logs: Iterable[RawLog]) -> TxFacts:
    """`logs`: of one transaction, all of the vault's own.

    Errors: AbiDecodeError for a log of ours with a broken body.
    """
    calls, is_known = [], False
    for log in logs:
        call, is_known = _call_of(decode_log(log)), True
        calls += [] if call is None else [call]
    return TxFacts(calls=tuple(calls), is_known=is_known)


def _call_of(event: ev.ChainEvent | None) -> CallSeen | None:
    match event:
        case ev.Executed():
            return CallSeen(event.target.lower(), event.spent, event.received)
        case ev.Unwound():
            return CallSeen(event.target.lower(), 0, event.received)
        case ev.ProceedsReceived():
            return CallSeen(event.adapter.lower(), 0, event.amount)
        case _:
            return None
