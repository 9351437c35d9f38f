"""What blocks say, written: a few at the tip, a range of them in the backfill, each time one transaction.

    blocks, logs  ->  the reserve token's events  ->  vaults, agents, adapters  ->  reverted calls  ->  ledgers  ->  cursor

All or nothing: a crash at any point leaves the cursor where the data ends. Ledgers are written in
one go, unless a block says something of the factory that other ledgers note: then they are
brought up to that block first. What a ledger refuses is held back, and everything else goes on
(quarantine.py).
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
from core.mandate.rules.new_rows import row_from_event
from core.mandate.rules.terms import ZERO_ADDRESS, rules_to_json
from core.quarantine.queries import ACCOUNT, MANDATE
from core.reserve.events import take_events
from core.sponsored import queries as sponsored
from indexer.chain.context import ChainContext
from indexer.chain.factory_notes import is_noted, note_block
from indexer.chain.facts import (
    OF_ONE_FACT,
    BlockFacts,
    Found,
    created_by,
    deposit_of,
)
from indexer.chain.quarantine import UNDECODABLE, HeldReason, LedgerEntry, Parties, Taking, fault_of
from indexer.chain.rules import Published
from indexer.chain.watch import WatchChangedError, WatchList


@dataclass(slots=True)
class BlockWriter:
    """Blocks of one transaction, which is not committed here. `watch` is moved past each of them; after
    an error it is to be read again.
    """

    session: WriteSession
    chain: ChainContext
    watch: WatchList
    now: datetime
    # what waits to be written to ledgers, by their ids, in the order of the chain
    _mandates: dict[int, list[LedgerEntry]] = field(default_factory=dict)
    _accounts: dict[int, list[LedgerEntry]] = field(default_factory=dict)

    def blocks(
        self,
        blocks: Sequence[BlockFacts],
        published: Mapping[str, Published],
        at: Cursor,
        *,
        are_new: bool = False,
    ) -> int:
        """Write all that blocks in a row say, and move the cursor from `at` to the last of them; the
        number of ledger rows. `published` is by block hash.

        A block that was seen before, and thrown out, is taken back unchanged. `are_new`: none of
        them was ever seen.
        Errors: LeadershipLostError, CursorMovedError, WatchChangedError.
        """
        session, chain_id = self.session, self.chain.chain_id
        self.chain.fence(session)
        if self.chain.watch_changed.is_set():
            raise WatchChangedError
        repository.add_blocks(session, chain_id, [facts.header for facts in blocks], self.now)
        add_logs = repository.copy_logs if are_new else repository.add_logs
        add_logs(session, chain_id, [log for facts in blocks for log in facts.logs])
        return self._facts(blocks, published, at)

    def late(self, facts: BlockFacts) -> int:
        """Logs that were added after their block was written; `watch` is as of that block."""
        self.chain.watch_changed.set()
        return self._facts([facts], {}, None)

    def _facts(
        self, blocks: Sequence[BlockFacts], published: Mapping[str, Published], at: Cursor | None
    ) -> int:
        """All that is beside blocks and logs, which are written."""
        session, chain = self.session, self.chain
        events = [one for facts in blocks for one in facts.reserve]
        take_events(session, chain.chain_id, events, self.now)
        uses = [use for facts in blocks for use in facts.uses]
        sponsored.note_uses(session, chain.chain_id, uses)
        created, rows = self._vaults(blocks), 0
        for facts in blocks:
            if facts.logs or facts.reverts:
                rows += self._take(facts, created, published.get(facts.header.hash, {}))
        rows += self._flush()
        if at is not None:
            to = Cursor(blocks[-1].header.number, blocks[-1].header.hash)
            repository.move_cursor(session, TIP, at, to, chain.epoch, self.now)
        return rows

    def _flush(self) -> int:
        """Append or hold what waits; the number of rows that were new.

        Ledgers are taken by rising id, so that writers can't deadlock.
        """
        mandates, self._mandates = self._mandates, {}
        accounts, self._accounts = self._accounts, {}
        rows = Taking(self.session, self.chain, MANDATE, self.now).take(mandates)
        return rows + Taking(self.session, self.chain, ACCOUNT, self.now).take(accounts)

    def _vaults(self, blocks: Sequence[BlockFacts]) -> dict[str, KnownVault]:
        """Write the vaults that the blocks create, and the agents that they name; those vaults, by
        address.
        """
        session, chain = self.session, self.chain
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

    def _take(self, facts: BlockFacts, made: Mapping[str, KnownVault], published: Published) -> int:
        """Write what is not a ledger, hand on what is, and move the watch list; the number of rows
        that had to be written first.
        """
        session, chain_id, header = self.session, self.chain.chain_id, facts.header
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
        entries = self._entries(facts, created)
        if is_noted(facts):
            # who is notified depends on what the ledgers say of earlier blocks
            written = self._flush()
            note_block(session, self.chain, facts, self.now)
        for mandate_id, entry in entries:
            self._mandates.setdefault(mandate_id, []).append(entry)
        for account_id, log in facts.payments:
            row = LedgerEntry(deposit_of(log, chain_id), log)
            self._accounts.setdefault(account_id, []).append(row)
        self._move_on(facts, created, published)
        return written

    def _entries(
        self, facts: BlockFacts, created: Mapping[str, KnownVault]
    ) -> list[tuple[int, LedgerEntry]]:
        """(mandate id, entry) of the vaults' own events, in their order.

        Keeper and agent are those of the moment of the log.
        """
        keeper, agents = self.watch.keeper, dict[str, str]()
        entries = list[tuple[int, LedgerEntry]]()
        for item in facts.found:
            event = item.event
            if isinstance(event, KeeperChanged):
                keeper = event.new_keeper
            mandate_id, vault = self._concerned(item, created)
            if mandate_id is not None:
                owner, agent = ZERO_ADDRESS, None
                if vault is not None:
                    owner, known = vault.owner, vault.agents[-1] if vault.agents else None
                    agent = agents.get(vault.address, known)
                entry = _entry(item, (keeper, owner, agent), self.chain.usdc)
                entries += [] if entry is None else [(mandate_id, entry)]
            elif event is None:
                self.chain.metrics.undecodable_logs.inc()
            if isinstance(event, VaultCreated):
                agents[event.vault] = event.agent
            elif isinstance(event, AgentSet):
                agents[item.log.address] = event.agent
        return entries

    def _concerned(
        self, item: Found, created: Mapping[str, KnownVault]
    ) -> tuple[int | None, KnownVault | None]:
        """The mandate and vault whose ledger the log belongs to; none for the factory's general
        events.
        """
        address, event = item.log.address, item.event
        if isinstance(event, TermsCancelled):
            issued = mandates_with_digests(self.session, [event.terms_digest])
            return next((mandate for _, mandate in issued.values()), None), None
        if isinstance(event, VaultCreated | X402Paid):
            address = event.vault
        elif event is None and address == self.watch.factory and (made := created_by(item.log)):
            address = made.address
        vault = created.get(address) or self.watch.vaults.get(address)
        return (None, None) if vault is None else (vault.mandate_id, vault)

    def _move_on(
        self, facts: BlockFacts, created: Mapping[str, KnownVault], published: Published
    ) -> None:
        watch = self.watch
        watch.vaults |= created
        for vault, agent in facts.agents:
            watch.add_agent(vault, agent)
        watch.adapters |= published.keys()
        for event in facts.events_of(KeeperChanged):
            watch.keeper = event.new_keeper


def _entry(item: Found, parties: Parties, usdc: str) -> LedgerEntry | None:
    """None: the ledger has no row for this event."""
    if item.event is None:
        note = f"The log does not match the contract's ABI ({item.error})."
        return LedgerEntry(None, item.log, parties, HeldReason(UNDECODABLE, note))
    try:
        row = row_from_event(item.event, item.ref, *parties, usdc=usdc)
    except OF_ONE_FACT as error:
        return LedgerEntry(None, item.log, parties, fault_of(error))
    return None if row is None else LedgerEntry(row, item.log, parties)
