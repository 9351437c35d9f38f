"""What blocks say, written: one block at the tip, a range of them in the backfill, each time one transaction.

    blocks, logs  ->  vaults, agents, adapters  ->  reverted calls  ->  books  ->  cursor

All or nothing: a crash at any point leaves the cursor where the data ends. A range is written by COPY, and its books in
one go, unless one of its blocks says something of the factory that other books are told of: then they are brought up to that block first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from core.books.transfer_ledger import NewTransfer
from core.db.engine import WriteSession
from core.db.repositories import chain as repository
from core.db.repositories import reverts
from core.db.repositories.chain import TIP, Cursor, KnownVault, NewVault
from core.domain.events import AdapterDelisted, AgentSet, KeeperChanged, TermsCancelled, VaultCreated, X402Paid
from core.domain.mandate.ledger import NewRow, row_from_event
from core.domain.mandate.terms import ZERO_ADDRESS, Rule
from indexer.chain.books import Books
from indexer.chain.context import ChainContext
from indexer.chain.factory_notes import alert_owners, factory_notes, is_noted
from indexer.chain.facts import BlockFacts, Found
from indexer.chain.payments import deposit_of
from indexer.chain.watch import WatchList

Published = Mapping[str, Sequence[Rule]]  # adapter -> the rules it published in the block that listed it


@dataclass(slots=True)
class Pending:
    """Book rows that wait to be written, in the order of the chain."""

    mandates: dict[int, list[NewRow]] = field(default_factory=dict)
    accounts: dict[int, list[NewTransfer]] = field(default_factory=dict)

    def flush(self, session: WriteSession, books: Books, now: datetime) -> int:
        """Append everything; the number of rows that were new. Books are taken by rising id, so that writers can't deadlock."""
        rows = books.append(session, self.mandates, now) if self.mandates else 0
        rows += books.post_deposits(session, self.accounts, now) if self.accounts else 0
        self.mandates, self.accounts = {}, {}
        return rows


def write_block(
    session: WriteSession, chain: ChainContext, facts: BlockFacts, watch: WatchList, published: Published, at: Cursor, now: datetime
) -> int:
    """Write all that one block says, move the cursor from `at` to it and `watch` past it; the number of book rows. Does not commit.

    A block that was seen before, and thrown out, is taken back as it stands.
    Errors: LeadershipLostError, CursorMovedError. After an error `watch` is to be read again.
    """
    chain.fence(session)
    repository.add_block(session, chain.chain_id, facts.header, now)
    repository.add_logs(session, chain.chain_id, facts.logs)
    pending, vaults = Pending(), _write_vaults(session, chain, [facts])
    rows = _take(session, chain, facts, vaults, watch, published, pending, now) + pending.flush(session, chain.books, now)
    repository.move_cursor(session, TIP, at, Cursor(facts.header.number, facts.header.hash), chain.epoch, now)
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
    pending, vaults, rows = Pending(), _write_vaults(session, chain, blocks), 0
    for facts in blocks:
        if facts.logs:
            rows += _take(session, chain, facts, vaults, watch, published.get(facts.header.hash, {}), pending, now)
    rows += pending.flush(session, chain.books, now)
    last = blocks[-1].header
    repository.move_cursor(session, TIP, at, Cursor(last.number, last.hash), chain.epoch, now)
    return rows


def _take(
    session: WriteSession,
    chain: ChainContext,
    facts: BlockFacts,
    vaults: Mapping[str, KnownVault],
    watch: WatchList,
    published: Published,
    pending: Pending,
    now: datetime,
) -> int:
    """Write what is not a book, hand on what is, and move the watch list; the number of rows that had to be written first."""
    created = {event.vault: vaults[event.vault] for event in facts.events_of(VaultCreated)}
    for adapter, rules in published.items():
        repository.add_adapter(session, chain.chain_id, facts.header, adapter, rules)
    for event in facts.events_of(AdapterDelisted):
        repository.delist_adapter(session, chain.chain_id, facts.header, event.adapter)
    wanted = [one for one in facts.reverts if one.vault not in created or created[one.vault].mandate_id is not None]
    reverts.add_reverts(session, chain.chain_id, facts.header, wanted)

    written = 0
    entries = _entries(session, chain, facts, watch, created)
    if is_noted(facts):
        written = pending.flush(session, chain.books, now)  # who is told depends on what the books say of earlier blocks
        notes = factory_notes(session, chain.chain_id, facts, chain.usdc)
        if chain.books.tells_owners:
            alert_owners(session, notes, now)
        entries += notes
    for mandate, _, row in sorted(entries, key=lambda entry: entry[1].ref.log_index):
        pending.mandates.setdefault(mandate, []).append(row)
    for payment in facts.payments:
        pending.accounts.setdefault(payment.account_id, []).append(
            deposit_of(payment, facts.header.number, facts.header.hash, chain.chain_id)
        )
    _move_on(watch, facts, created, published)
    return written


def _write_vaults(session: WriteSession, chain: ChainContext, blocks: Sequence[BlockFacts]) -> dict[str, KnownVault]:
    """The vaults that the blocks create, and the agents that they name."""
    created = [(facts.header, event) for facts in blocks for event in facts.events_of(VaultCreated)]
    issued = repository.mandates_with_digests(session, [event.terms_digest for _, event in created])
    known = {event.vault: KnownVault(event.vault, event.owner, _mandate_id(event, issued), ()) for _, event in created}
    vaults = [(header, _new_vault(event, chain.factory, known[event.vault].mandate_id)) for header, event in created]
    repository.add_vaults(session, chain.chain_id, vaults)
    repository.add_agents(session, chain.chain_id, [(facts.header, agent) for facts in blocks for agent in facts.agents])
    return known


def _mandate_id(event: VaultCreated, issued: Mapping[str, tuple[str, int]]) -> int | None:
    """The mandate whose frozen terms these are; None for terms that this service did not issue, or not as they stand now."""
    public_id, mandate_id = issued.get(event.terms_digest, ("", None))
    return mandate_id if public_id == event.public_id else None


def _new_vault(event: VaultCreated, factory: str, mandate_id: int | None) -> NewVault:
    return NewVault(
        address=event.vault,
        factory=factory,
        terms_digest=event.terms_digest,
        public_id=event.public_id,
        owner=event.owner,
        mandate_id=mandate_id,
    )


def _entries(
    session: WriteSession, chain: ChainContext, facts: BlockFacts, watch: WatchList, fresh: Mapping[str, KnownVault]
) -> list[tuple[int, Found, NewRow]]:
    """(mandate id, event, row) of the vaults' own events. Keeper and agent are those of the moment of the log."""
    keeper, agents, entries = watch.keeper, dict[str, str](), list[tuple[int, Found, NewRow]]()
    for item in facts.found:
        if isinstance(item.event, KeeperChanged):
            keeper = item.event.new_keeper
        mandate_id, vault = _concerned(session, item, fresh, watch)
        if mandate_id is not None:
            agent = agents.get(vault.address) or (vault.agents[-1] if vault.agents else None) if vault else None
            owner = vault.owner if vault else ZERO_ADDRESS
            row = row_from_event(item.event, item.ref, keeper, owner, agent, usdc=chain.usdc)
            entries += [] if row is None else [(mandate_id, item, row)]
        if isinstance(item.event, VaultCreated):
            agents[item.event.vault] = item.event.agent
        elif isinstance(item.event, AgentSet):
            agents[item.ref.address] = item.event.agent
    return entries


def _concerned(
    session: WriteSession, item: Found, fresh: Mapping[str, KnownVault], watch: WatchList
) -> tuple[int | None, KnownVault | None]:
    """The mandate and vault whose book the event belongs to; none for the factory's general events."""
    if isinstance(item.event, TermsCancelled):
        issued = repository.mandates_with_digests(session, [item.event.terms_digest])
        return next((mandate for _, mandate in issued.values()), None), None
    address = item.event.vault if isinstance(item.event, VaultCreated | X402Paid) else item.ref.address
    vault = fresh.get(address) or watch.vaults.get(address)
    return (None, None) if vault is None else (vault.mandate_id, vault)


def _move_on(watch: WatchList, facts: BlockFacts, created: Mapping[str, KnownVault], published: Published) -> None:
    watch.vaults |= created
    for vault, agent in facts.agents:
        watch.add_agent(vault, agent)
    watch.adapters |= published.keys()
    for event in facts.events_of(KeeperChanged):
        watch.keeper = event.new_keeper
