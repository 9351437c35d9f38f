"""What blocks say, written: one block at the tip, a range of them in the backfill, each time one
transaction.

    blocks, logs  ->  the reserve token's events  ->  vaults, agents, adapters  ->  reverted calls  ->  ledgers  ->  cursor

All or nothing: a crash at any point leaves the cursor where the data ends. A range is written by
COPY, and its ledgers in one go, unless one of its blocks says something of the factory that other
ledgers are told of: then they are brought up to that block first. What a ledger refuses is held
back, and everything else goes on (quarantine.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from core.blocks import queries as repository
from core.blocks import reverts
from core.blocks.queries import TIP, Cursor
from core.blocks.registry import (
    KnownVault,
    NewVault,
    add_adapter,
    add_agents,
    add_vaults,
    delist_adapter,
)
from core.db.engine import WriteSession
from core.mandate.queries import mandates_with_digests, replaced_among
from core.mandate.rules.events import (
    AdapterDelisted,
    AdapterListed,
    AgentSet,
    KeeperChanged,
    TermsCancelled,
    VaultCreated,
    X402Paid,
)
from core.mandate.rules.ledger import row_from_event
from core.mandate.rules.terms import ZERO_ADDRESS, Rule, rules_to_json
from core.quarantine.queries import ACCOUNT, MANDATE
from core.sponsored import queries as sponsored
from indexer.chain.context import ChainContext
from indexer.chain.factory_notes import is_noted, note_block
from indexer.chain.facts import (
    OF_ONE_FACT,
    BlockFacts,
    Found,
    Undecodable,
    created_by,
    deposit_of,
)
from indexer.chain.quarantine import UNDECODABLE, HeldReason, LedgerEntry, Parties, fault_of, take
from indexer.chain.reserve import write_reserve
from indexer.chain.watch import WatchList

# adapter -> the rules it published in the block that listed it
Published = Mapping[str, Sequence[Rule]]


@dataclass(slots=True)
class PendingRows:
    """What waits to be written to ledgers, by their ids, in the order of the chain."""

    mandates: dict[int, list[LedgerEntry]] = field(default_factory=dict)
    accounts: dict[int, list[LedgerEntry]] = field(default_factory=dict)

    def flush(self, session: WriteSession, chain: ChainContext, now: datetime) -> int:
        """Append or hold everything; the number of rows that were new.

        Ledgers are taken by rising id, so that writers can't deadlock.
        """
        rows = take(session, chain, MANDATE, self.mandates, now) + take(
            session, chain, ACCOUNT, self.accounts, now
        )
        self.mandates, self.accounts = {}, {}
        return rows


def write_block(
    session: WriteSession,
    chain: ChainContext,
    facts: BlockFacts,
    watch: WatchList,
    published: Published,
    at: Cursor,
    now: datetime,
) -> int:
    """Write all that one block says, move the cursor from `at` to it and `watch` past it; the
    number of ledger rows. Does not commit.

    A block that was seen before, and thrown out, is taken back as it stands.
    Errors: LeadershipLostError, CursorMovedError. After an error `watch` is to be read again.
    """
    chain.fence(session)
    repository.add_block(session, chain.chain_id, facts.header, now)
    repository.add_logs(session, chain.chain_id, facts.logs)
    rows = _write_facts(session, chain, [facts], watch, {facts.header.hash: published}, now)
    to = Cursor(facts.header.number, facts.header.hash)
    repository.move_cursor(session, TIP, at, to, chain.epoch, now)
    return rows


def write_range(
    session: WriteSession,
    chain: ChainContext,
    blocks: Sequence[BlockFacts],
    watch: WatchList,
    published: Mapping[str, Published],
    at: Cursor,
    now: datetime,
) -> int:
    """As `write_block`, for blocks in a row that were never seen. `published` is by block hash."""
    chain.fence(session)
    repository.copy_blocks(session, chain.chain_id, [facts.header for facts in blocks], now)
    repository.copy_logs(session, chain.chain_id, [log for facts in blocks for log in facts.logs])
    rows = _write_facts(session, chain, blocks, watch, published, now)
    last = blocks[-1].header
    repository.move_cursor(session, TIP, at, Cursor(last.number, last.hash), chain.epoch, now)
    return rows


def write_late(
    session: WriteSession,
    chain: ChainContext,
    facts: BlockFacts,
    watch: WatchList,
    now: datetime,
) -> int:
    """Logs that came after their block was written; `watch` is as of that block. The number of
    ledger rows. Does not commit.
    """
    repository.add_logs(session, chain.chain_id, facts.logs)
    return _write_facts(session, chain, [facts], watch, {}, now)


def _write_facts(
    session: WriteSession,
    chain: ChainContext,
    blocks: Sequence[BlockFacts],
    watch: WatchList,
    published: Mapping[str, Published],
    now: datetime,
) -> int:
    """All that stands beside blocks and logs, which are written."""
    write_reserve(session, chain, blocks, now)
    sponsored.note_uses(session, chain.chain_id, [use for facts in blocks for use in facts.uses])
    pending, rows = PendingRows(), 0
    created = _write_vaults(session, chain, blocks)
    for facts in blocks:
        if facts.logs or facts.reverts:
            listed = published.get(facts.header.hash, {})
            rows += _take(session, chain, facts, created, watch, listed, pending, now)
    return rows + pending.flush(session, chain, now)


def _write_vaults(
    session: WriteSession, chain: ChainContext, blocks: Sequence[BlockFacts]
) -> dict[str, KnownVault]:
    """Write the vaults that the blocks create, and the agents that they name; those vaults, by
    address.
    """
    created = [(facts.header, made) for facts in blocks for made in facts.created]
    issued = mandates_with_digests(session, [made.terms_digest for _, made in created])
    mandate_ids = {digest: mandate_id for digest, (_, mandate_id) in issued.items()}
    vaults = [
        (
            header,
            NewVault(
                address=made.address,
                factory=chain.factory,
                terms_digest=made.terms_digest,
                public_id=made.public_id,
                owner=made.owner,
                mandate_id=mandate_ids.get(made.terms_digest),
            ),
        )
        for header, made in created
    ]
    strange = [vault.terms_digest for _, vault in vaults if vault.mandate_id is None]
    add_vaults(session, chain.chain_id, vaults, replaced_among(session, strange))
    agents = [(facts.header, agent) for facts in blocks for agent in facts.agents]
    add_agents(session, chain.chain_id, agents)
    return {
        vault.address: KnownVault(vault.address, vault.owner, vault.mandate_id, ())
        for _, vault in vaults
    }


def _take(
    session: WriteSession,
    chain: ChainContext,
    facts: BlockFacts,
    made: Mapping[str, KnownVault],
    watch: WatchList,
    published: Published,
    pending: PendingRows,
    now: datetime,
) -> int:
    """Write what is not a ledger, hand on what is, and move the watch list; the number of rows that
    had to be written first.
    """
    chain_id, header = chain.chain_id, facts.header
    created = {one.address: made[one.address] for one in facts.created}
    for item in facts.found:  # in their order: a block may delist an adapter and list it again
        if isinstance(item.event, AdapterListed) and item.event.adapter in published:
            rules = rules_to_json(published[item.event.adapter])
            add_adapter(session, chain_id, header, item.event.adapter, rules)
        elif isinstance(item.event, AdapterDelisted):
            delist_adapter(session, chain_id, header, item.event.adapter)
    foreign = {one.address for one in created.values() if one.mandate_id is None}
    wanted = [one for one in facts.reverts if one.vault not in foreign]
    reverts.add_reverts(session, chain_id, header, wanted)

    written = 0
    entries = _entries(session, chain, facts, created, watch)
    if is_noted(facts):
        # who is told depends on what the ledgers say of earlier blocks
        written = pending.flush(session, chain, now)
        note_block(session, chain, facts, now)
    for mandate_id, entry in entries:
        pending.mandates.setdefault(mandate_id, []).append(entry)
    for payment in facts.payments:
        row = LedgerEntry(deposit_of(payment.log, chain_id), payment.log)
        pending.accounts.setdefault(payment.account_id, []).append(row)
    _move_on(watch, facts, created, published)
    return written


def _entries(
    session: WriteSession,
    chain: ChainContext,
    facts: BlockFacts,
    created: Mapping[str, KnownVault],
    watch: WatchList,
) -> list[tuple[int, LedgerEntry]]:
    """(mandate id, entry) of the vaults' own events, in their order.

    Keeper and agent are those of the moment of the log.
    """
    keeper, agents = watch.keeper, dict[str, str]()
    entries = list[tuple[int, LedgerEntry]]()
    items: list[Found | Undecodable] = [*facts.found, *facts.undecodable]
    for item in sorted(items, key=lambda item: item.log.log_index):
        event = item.event if isinstance(item, Found) else None
        if isinstance(event, KeeperChanged):
            keeper = event.new_keeper
        mandate_id, vault = _concerned(session, item, created, watch)
        if mandate_id is not None:
            owner, agent = ZERO_ADDRESS, None
            if vault is not None:
                owner, known = vault.owner, vault.agents[-1] if vault.agents else None
                agent = agents.get(vault.address, known)
            entry = _entry(item, (keeper, owner, agent), chain.usdc)
            entries += [] if entry is None else [(mandate_id, entry)]
        elif event is None:
            chain.metrics.undecodable_logs.inc()
        if isinstance(event, VaultCreated):
            agents[event.vault] = event.agent
        elif isinstance(event, AgentSet):
            agents[item.log.address] = event.agent
    return entries


def _entry(item: Found | Undecodable, parties: Parties, usdc: str) -> LedgerEntry | None:
    """None: the ledger has no row for this event."""
    if isinstance(item, Undecodable):
        note = f"The log is not what the contract's ABI says ({item.error})."
        return LedgerEntry(None, item.log, parties, HeldReason(UNDECODABLE, note))
    keeper, owner, agent = parties
    try:
        row = row_from_event(item.event, item.ref, keeper, owner, agent, usdc=usdc)
    except OF_ONE_FACT as error:
        return LedgerEntry(None, item.log, parties, fault_of(error))
    return None if row is None else LedgerEntry(row, item.log, parties)


def _concerned(
    session: WriteSession,
    item: Found | Undecodable,
    created: Mapping[str, KnownVault],
    watch: WatchList,
) -> tuple[int | None, KnownVault | None]:
    """The mandate and vault whose ledger the log belongs to; none for the factory's general
    events.
    """
    address, event = item.log.address, item.event if isinstance(item, Found) else None
    if isinstance(event, TermsCancelled):
        issued = mandates_with_digests(session, [event.terms_digest])
        return next((mandate for _, mandate in issued.values()), None), None
    if isinstance(event, VaultCreated | X402Paid):
        address = event.vault
    elif event is None and address == watch.factory and (made := created_by(item.log)):
        address = made.address
    vault = created.get(address) or watch.vaults.get(address)
    return (None, None) if vault is None else (vault.mandate_id, vault)


def _move_on(
    watch: WatchList, facts: BlockFacts, created: Mapping[str, KnownVault], published: Published
) -> None:
    watch.vaults |= created
    for vault, agent in facts.agents:
        watch.add_agent(vault, agent)
    watch.adapters |= published.keys()
    for event in facts.events_of(KeeperChanged):
        watch.keeper = event.new_keeper
