"""One block, one transaction: the block, its logs and reverted calls, its vaults, agents and adapters, the books, the
cursor. All or nothing: a crash at any point leaves the cursor where the data ends.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from core.books import mandate_ledger
from core.db.engine import WriteSession
from core.db.repositories import chain as repository
from core.db.repositories import reverts
from core.db.repositories.chain import Cursor, KnownVault, NewVault
from core.domain.events import AdapterDelisted, AgentSet, KeeperChanged, TermsCancelled, VaultCreated, X402Paid
from core.domain.mandate.ledger import NewRow, row_from_event
from core.domain.mandate.terms import ZERO_ADDRESS, Rule
from indexer.chain.context import TIP, ChainContext
from indexer.chain.factory_notes import alert_owners, factory_notes
from indexer.chain.facts import BlockFacts, Found
from indexer.chain.watch import WatchList

Published = Mapping[str, Sequence[Rule]]  # adapter -> the rules it published in the block that listed it


@dataclass(frozen=True, slots=True)
class Written:
    """What a block left behind: the watch list's additions and the number of ledger rows."""

    vaults: tuple[KnownVault, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class _Entry:
    mandate_id: int
    log_index: int
    row: NewRow


def write_block(
    session: WriteSession, chain: ChainContext, facts: BlockFacts, watch: WatchList, published: Published, at: Cursor, now: datetime
) -> Written:
    """Write all that the block says and move the cursor from `at` to it. Does not commit.

    Errors: LeadershipLostError, CursorMovedError.
    """
    chain.fence(session)
    repository.add_block(session, chain.chain_id, facts.header, now)
    repository.add_logs(session, chain.chain_id, facts.logs)
    vaults = _write_vaults(session, chain, facts)
    for adapter, rules in published.items():
        repository.add_adapter(session, chain.chain_id, facts.header, adapter, rules)
    for event in facts.events_of(AdapterDelisted):
        repository.delist_adapter(session, chain.chain_id, facts.header, event.adapter)
    reverts.add_reverts(session, chain.chain_id, facts.header, facts.reverts)
    rows = _write_books(session, chain, facts, watch, vaults, now)
    repository.move_cursor(session, TIP, at, Cursor(facts.header.number, facts.header.hash), chain.epoch, now)
    return Written(vaults, rows)


def _write_vaults(session: WriteSession, chain: ChainContext, facts: BlockFacts) -> tuple[KnownVault, ...]:
    created = facts.events_of(VaultCreated)
    issued = repository.mandates_with_digests(session, [event.terms_digest for event in created])
    known = [(event, _mandate_id(event, issued)) for event in created]
    repository.add_vaults(session, chain.chain_id, facts.header, [_new_vault(event, chain.factory, mandate) for event, mandate in known])
    repository.add_agents(session, chain.chain_id, facts.header, facts.agents)
    return tuple(KnownVault(event.vault, event.owner, mandate, ()) for event, mandate in known)


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


def _write_books(
    session: WriteSession, chain: ChainContext, facts: BlockFacts, watch: WatchList, vaults: Sequence[KnownVault], now: datetime
) -> int:
    """Append every row, each book in log order. Books are taken by rising mandate id, so that two writers can't deadlock."""
    entries = _entries(session, chain, facts, watch, {vault.address: vault for vault in vaults})
    notes = factory_notes(session, chain.chain_id, facts, chain.usdc)
    alert_owners(session, notes, now)
    entries += [_Entry(mandate, item.ref.log_index, row) for mandate, item, row in notes]
    books: dict[int, list[NewRow]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.mandate_id, entry.log_index)):
        books.setdefault(entry.mandate_id, []).append(entry.row)
    return sum(appended.is_new for mandate, rows in books.items() for appended in mandate_ledger.append_many(session, mandate, rows, now))


def _entries(
    session: WriteSession, chain: ChainContext, facts: BlockFacts, watch: WatchList, fresh: Mapping[str, KnownVault]
) -> list[_Entry]:
    """Rows of the vaults' own events. Keeper and agent are those of the moment of the log."""
    keeper, agents, entries = watch.keeper, dict[str, str](), list[_Entry]()
    for item in facts.found:
        if isinstance(item.event, KeeperChanged):
            keeper = item.event.new_keeper
        mandate_id, vault = _concerned(session, item, fresh, watch)
        if mandate_id is not None:
            agent = agents.get(vault.address) or (vault.agents[-1] if vault.agents else None) if vault else None
            owner = vault.owner if vault else ZERO_ADDRESS
            row = row_from_event(item.event, item.ref, keeper, owner, agent, usdc=chain.usdc)
            entries += [] if row is None else [_Entry(mandate_id, item.ref.log_index, row)]
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


def move_on(watch: WatchList, facts: BlockFacts, written: Written, published: Published) -> None:
    """Bring the watch list to the block that was committed."""
    watch.vaults |= {vault.address: vault for vault in written.vaults}
    for vault, agent in facts.agents:
        watch.add_agent(vault, agent)
    watch.adapters |= published.keys()
    for event in facts.events_of(KeeperChanged):
        watch.keeper = event.new_keeper
