"""The rows that the chain itself gives: every log of the vault, what the factory says of all
vaults, and the vault's payments.

The mapping from log to row is the indexer's own (core.mandate.rules.new_rows), which is public;
who was agent or keeper at a log is followed here from the logs alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Final

from api.client.verify.findings import UncheckedError
from api.client.verify.node import Block, Node
from api.client.verify.terms_check import RecordSubject
from core.canonical import canonical_json, canonical_plain
from core.chain.abi import AbiDecodeError, topic_of
from core.chain.blocks import RawLog
from core.mandate.chain.decode import decode_log
from core.mandate.rules import events as ev
from core.mandate.rules.new_rows import row_from_event
from core.mandate.rules.rows import LedgerRow, NewRow
from core.mandate.rules.terms import ZERO_ADDRESS

# What the factory says of every vault at once: who is keeper, guard, admin or pauser.
NOTED: Final = (
    ev.KeeperProposed, ev.KeeperChanged, ev.KeeperProposalCancelled, ev.GuardProposed,
    ev.GuardChanged, ev.GuardProposalCancelled,
    ev.RoleGranted, ev.RoleRevoked,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChainLogs:
    """What the chain has of a vault between two heights.

    `keeper`: the factory's before the first of them.
    """

    vault: str
    logs: tuple[RawLog, ...]
    keeper: str
    usdc: str


@dataclass(slots=True)
class Expected:
    """`rows` by base key, in the chain's order.

    `agents`: (height, agent), as the vault named them.
    """

    rows: dict[str, NewRow] = field(default_factory=dict)
    logs: dict[str, RawLog] = field(default_factory=dict)
    agents: list[tuple[int, str]] = field(default_factory=list)
    created: ev.VaultCreated | None = None
    created_block: int = 0
    settled_block: int | None = None

    def log_of(self, tx_hash: str, log_index: int) -> RawLog | None:
        return self.logs.get(_key(tx_hash, log_index))

    @property
    def last_agent(self) -> str | None:
        return self.agents[-1][1] if self.agents else None


def key_of(log: RawLog) -> str:
    return _key(log.tx_hash, log.log_index)


def _key(tx_hash: str, log_index: int) -> str:
    return f"log:{tx_hash}:{log_index}"


def chain_logs(
    subject: RecordSubject,
    vault: str,
    x402_adapter: str | None,
    node: Node,
    first: int,
    last: Block,
) -> ChainLogs:
    """Every log that concerns the vault, from `first` to the record's last block; payments of the
    x402 adapter alone.

    Errors: UncheckedError.
    """
    topic = "0x" + "00" * 12 + vault[2:].lower()
    noted = [topic_of(kind.__name__) for kind in NOTED]
    found = list(node.logs("logs of the vault", {"address": vault}, first, last.number))
    found += node.logs("creation", of_terms(subject, vault), first, last.number)
    found += node.logs(
        "logs of the factory", {"address": subject.factory, "topics": [noted]}, first, last.number
    )
    if x402_adapter is not None:
        paid = {"address": x402_adapter, "topics": [topic_of("X402Paid"), topic]}
        found += node.logs("payments", paid, first, last.number)
    found.sort(key=lambda log: (log.block_number, log.log_index))
    usdc = node.ask("the token", node.reader.usdc_of_factory)
    return ChainLogs(vault, tuple(found), _keeper_before(subject, found, node, last.number), usdc)


def of_terms(subject: RecordSubject, vault: str) -> dict[str, Any]:
    """The filter of what the factory logs of these terms: that their vault was made, or that the
    owner cancelled them.
    """
    kinds = [topic_of("VaultCreated"), topic_of("TermsCancelled")]
    topic = "0x" + "00" * 12 + vault[2:].lower()
    return {"address": subject.factory, "topics": [kinds, [topic, subject.digest]]}


def expected_rows(
    subject: RecordSubject,
    found: ChainLogs,
    blocks: Mapping[int, Block],
    recorded: Sequence[LedgerRow] = (),
) -> Expected:
    """The rows of these logs. `recorded`: the record's, as they were read; each that says just what
    its log gives is used as the log's row.

    Errors: UncheckedError when a log cannot be read or is in a block that the node has
    otherwise.
    """
    expected, keeper = Expected(), found.keeper
    by_key = {row.base_key: row for row in recorded if row.reverses_id is None}
    for log, event in _events(found.logs):
        block = blocks.get(log.block_number)
        if block is None or block.hash != log.block_hash:
            raise UncheckedError(
                "logs of the vault",
                f"the node changed its mind about block {log.block_number}; try again",
            )
        keeper = event.new_keeper if isinstance(event, ev.KeeperChanged) else keeper
        if isinstance(event, NOTED) and not _is_noted(expected, log.block_number):
            continue
        ref = ev.LogRef(
            subject.chain_id,
            block.number,
            block.hash,
            block.at,
            log.tx_hash,
            log.log_index,
            log.address,
        )
        row = row_from_event(
            event, ref, keeper, subject.terms.owner, expected.last_agent, usdc=found.usdc
        )
        if row is not None:
            row = _sharing(row, by_key.pop(row.base_key, None))
            expected.rows[row.base_key], expected.logs[row.base_key] = row, log
        _note(expected, event, log.block_number)
    return expected


def _sharing(row: NewRow, line: LedgerRow | None) -> NewRow:
    """The record's own row where it says all of this one; else this one, with the record's objects
    where they say the same.
    """
    if line is None or not has_payload(line, row.payload):
        return row
    if says(line) == says(row):
        return line
    return replace(
        row,
        base_key=line.base_key,
        tx_hash=line.tx_hash if line.tx_hash == row.tx_hash else row.tx_hash,
        occurred_at=line.occurred_at if line.occurred_at == row.occurred_at else row.occurred_at,
        payload=line.payload,
    )


def has_payload(line: NewRow, given: Mapping[str, Any]) -> bool:
    """`line`: of a record, so that every value in it was looked at, and so in what equals it. The
    bytes decide in the end, since `==` calls 0 and false the same.
    """
    if line.payload == given:
        return canonical_plain(line.payload) == canonical_plain(given)
    return canonical_json(line.payload) == canonical_json(given)


says = attrgetter(*(name for name in NewRow.__dataclass_fields__ if name != "payload"))


def is_same_row(line: LedgerRow, wanted: NewRow) -> bool:
    """Whether a row of the record says what its writer had to write."""
    return says(line) == says(wanted) and has_payload(line, wanted.payload)


def shown_row(row: NewRow) -> str:
    return f"{', '.join(map(str, says(row)))}, {dict(row.payload)}"


def _events(logs: Iterable[RawLog]) -> Iterable[tuple[RawLog, ev.ChainEvent]]:
    for log in logs:
        try:
            event = decode_log(log)
        except AbiDecodeError as error:
            raise UncheckedError(
                "logs of the vault", f"{log.tx_hash} log {log.log_index}: {error}"
            ) from error
        if event is not None:
            yield log, event


def _note(expected: Expected, event: ev.ChainEvent, number: int) -> None:
    match event:
        case ev.VaultCreated():
            expected.created, expected.created_block = event, number
            expected.agents += [] if event.agent == ZERO_ADDRESS else [(number, event.agent)]
        case ev.AgentSet():
            expected.agents.append((number, event.agent))
        case ev.Settled():
            expected.settled_block = expected.settled_block or number


def _is_noted(expected: Expected, number: int) -> bool:
    """The factory's events stand in the ledgers of vaults made in earlier blocks and not settled
    before.
    """
    if expected.created is None or number <= expected.created_block:
        return False
    return expected.settled_block is None or number <= expected.settled_block


def _keeper_before(subject: RecordSubject, found: Iterable[RawLog], node: Node, last: int) -> str:
    """The keeper before the first of the logs: the next change names the one that it replaced.

    No past state is asked for.
    """
    newest = node.newest()
    wanted = {"address": subject.factory, "topics": [topic_of("KeeperChanged")]}
    for logs in (found, node.logs("changes of the keeper", wanted, last + 1, newest)):
        own = (log for log in logs if log.address == subject.factory)
        changes = (event for _, event in _events(own) if isinstance(event, ev.KeeperChanged))
        if change := next(changes, None):
            return change.previous_keeper
    return node.ask("the keeper", node.reader.keeper)
