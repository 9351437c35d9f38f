"""What one verified block says of the product, as values. Pure: the watch list in, facts out, nothing written.

Laws
- The block's own new vaults are found first, so that a vault's logs in the block that made it are not lost.
- An event is believed only from the kind of contract that emits it: a listed adapter can't say Deposited.
- A log of a watched contract is kept as it is even when it can't be decoded; it then makes no event.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar, get_args

from core.chain.abi import AbiDecodeError
from core.chain.decode import decode_log
from core.db.repositories.reverts import NewRevert
from core.domain.blocks import BlockHeader, RawLog, Receipt
from core.domain.events import AgentSet, ChainEvent, FactoryEvent, LogRef, VaultCreated, VaultEvent, X402Paid
from core.domain.mandate.terms import ZERO_ADDRESS
from indexer.chain.fetch import FetchedBlock
from indexer.chain.watch import WatchList

Event = TypeVar("Event")
FACTORY_EVENTS = get_args(FactoryEvent)
VAULT_EVENTS = get_args(VaultEvent)


@dataclass(frozen=True, slots=True)
class Found:
    """An event and where it stands."""

    ref: LogRef
    event: ChainEvent


@dataclass(frozen=True, slots=True)
class BlockFacts:
    """`undecodable` are references of kept logs whose body did not fit the ABI: worth a warning, no reason to halt."""

    header: BlockHeader
    logs: tuple[RawLog, ...]
    found: tuple[Found, ...]
    reverts: tuple[NewRevert, ...]
    undecodable: tuple[str, ...]

    def events_of(self, kind: type[Event]) -> tuple[Event, ...]:
        return tuple(item.event for item in self.found if isinstance(item.event, kind))

    @property
    def agents(self) -> tuple[tuple[str, str], ...]:
        """(vault, agent) pairs in the order that the block named them."""
        named = [_named_agent(item) for item in self.found]
        return tuple(pair for pair in named if pair is not None and pair[1] != ZERO_ADDRESS)


def _named_agent(item: Found) -> tuple[str, str] | None:
    if isinstance(item.event, VaultCreated):
        return item.event.vault, item.event.agent
    return (item.ref.address, item.event.agent) if isinstance(item.event, AgentSet) else None


def facts_of(block: FetchedBlock, watch: WatchList, chain_id: int) -> BlockFacts:
    """Everything that the block says of us."""
    vaults = watch.vaults.keys() | _created_vaults(block, watch.factory)
    kept = tuple(log for log in block.logs if log.address in vaults or log.address == watch.factory or log.address in watch.adapters)
    found, undecodable = [], []
    for log in kept:
        try:
            event = decode_log(log)
        except AbiDecodeError as error:
            undecodable.append(f"{log.tx_hash}:{log.log_index} {error}")
            continue
        if event is not None and _is_believed(event, log, watch, vaults):
            found.append(Found(_ref(log, block.header, chain_id), event))
    facts = BlockFacts(block.header, kept, tuple(found), (), tuple(undecodable))
    return BlockFacts(block.header, kept, tuple(found), _reverts(block.receipts, watch, facts.agents), tuple(undecodable))


def _created_vaults(block: FetchedBlock, factory: str) -> set[str]:
    created = set()
    for log in block.logs:
        if log.address == factory:
            try:
                event = decode_log(log)
            except AbiDecodeError:
                continue  # The main pass reports it.
            if isinstance(event, VaultCreated):
                created.add(event.vault)
    return created


def _is_believed(event: ChainEvent, log: RawLog, watch: WatchList, vaults: Iterable[str]) -> bool:
    if isinstance(event, FACTORY_EVENTS):
        return log.address == watch.factory
    if isinstance(event, VAULT_EVENTS):
        return log.address in vaults
    return isinstance(event, X402Paid) and log.address in watch.adapters


def _ref(log: RawLog, header: BlockHeader, chain_id: int) -> LogRef:
    return LogRef(chain_id, header.number, header.hash, header.timestamp, log.tx_hash, log.log_index, log.address)


def _reverts(receipts: Iterable[Receipt], watch: WatchList, named: Iterable[tuple[str, str]]) -> tuple[NewRevert, ...]:
    """Plain failed transactions from an agent, present or past, to its vault. Calls through other contracts are not seen."""
    fresh = set(named)
    return tuple(
        NewRevert(tx_hash=item.tx_hash, tx_index=item.tx_index, sender=item.sender, vault=item.to, gas_used=item.gas_used)
        for item in receipts
        if item.status == 0 and item.to is not None and (_is_agent(item.sender, item.to, watch) or (item.to, item.sender) in fresh)
    )


def _is_agent(sender: str, vault: str, watch: WatchList) -> bool:
    known = watch.vaults.get(vault)
    return known is not None and sender in known.agents
