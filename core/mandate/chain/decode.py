"""Log -> domain event, by the ABI alone.

A foreign or unknown event is None; one of ours with a broken body is an error.

Who emitted the log is not looked at here: the reader decides which addresses it believes.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any

from core.chain.abi import events_by_topic, topic_of
from core.chain.blocks import RawLog
from core.mandate.chain.reader import rule_of
from core.mandate.rules import events as ev
from core.mandate.rules.events import ChainEvent, VaultCreated
from core.mandate.rules.reports import CallSeen, TxFacts
from core.mandate.rules.terms import MandateTerms

TRANSFER_TOPIC = topic_of("Transfer")  # of every ERC-20 token
EVENT_TYPES: dict[str, Any] = {kind.__name__: kind for kind in ChainEvent.__args__}


@cache
def _wanted(kind: Any, names: tuple[str, ...]) -> tuple[str, ...]:
    """What the event says of each field of the dataclass, in its order."""
    by_field = {_field(name): name for name in names}
    return tuple(by_field[field.name] for field in fields(kind))


@cache
def _snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


@cache
def _field(name: str) -> str:
    """`from` is a Python keyword; the dataclass says `from_`."""
    return "from_" if name == "from" else _snake(name)


def _vault_created(values: Mapping[str, Any]) -> VaultCreated:
    plain = {name: value for name, value in values.items() if name not in ("terms", "rules")}
    return VaultCreated(
        **plain, terms=MandateTerms(*values["terms"]), rules=tuple(map(rule_of, values["rules"]))
    )


def decode_log(log: RawLog) -> ChainEvent | None:
    """The event of a log; None when its topic is none of ours, or one that the record has no use
    for.

    Errors: AbiDecodeError when the topic is ours and the body is not.
    """
    found = events_by_topic().get(log.topics[0]) if log.topics else None
    kind = EVENT_TYPES.get(found.name) if found is not None else None
    if found is None or kind is None:
        return None
    values = found.decode(log.topics, log.data)
    if kind is VaultCreated:
        return _vault_created({_field(name): value for name, value in values.items()})
    event: ChainEvent = kind(*map(values.__getitem__, _wanted(kind, tuple(values))))
    return event


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
