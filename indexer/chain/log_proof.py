"""Whether the record has every log of every vault, by the vaults' own word for it.

    each node's lens, of some vaults at one block of ours --> our logs up to that block make the same word: proven
          '- they do not --> each node is asked for the vault's logs since it was proven last
                |- those of one make a word that a node reads --> they replace ours, and the ledger follows
                '- those of none do, twice in a row --> the ledger is held, and a finding says so, until they do

Laws
- The word is cumulative (MandateVault.sol, LOGS): one reading near the tip proves all of a vault's
  logs before it, without old state.
- Nodes are asked at the hash of the block that was ours a round ago: those a moment behind have it by
  then, and one that lacks it says nothing.
- What is folded again next time grows with the logs since. A word is kept as proven only where two
  nodes read it, where there are two: one that leaves a log out may leave it out of the word as well.
- A few vaults a round are looked into, those first that were looked into longest ago: a node that reads
  false words of all of them uses up no more of the others' plans than one that does of some.
- Where nodes tell different stories, the one that more readings bear out is believed, and of two
  alike none. The node of another one rests.
- The factory's count of its vaults is to VaultCreated what the word is to a vault's logs.
- What no vault logs is not proven here: ranges of it are asked of a second node (backfill.py).
Source: docs/decisions/0026.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby, takewhile
from operator import attrgetter

import structlog
from sqlalchemy.orm import Session

from core.audit import queries as audit
from core.audit.rules import Fault, FindingKind
from core.blocks import log_heads
from core.blocks import queries as repository
from core.blocks.log_heads import LogHead, ProvenVault
from core.blocks.queries import FINALIZED, TIP, VAULTS_COUNTED, Cursor
from core.blocks.registry import KnownVault, agent_history
from core.chain.blocks import BlockHeader
from core.db.engine import WriteSession
from core.hexes import hex_of
from core.mandate.chain.lens import MOST_VAULTS, LensOutcome
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.rows import LedgerRow
from core.quarantine import queries as quarantine
from core.quarantine.queries import MANDATE
from indexer.chain.context import ChainContext
from indexer.chain.facts import VAULT_CREATED_TOPIC, facts_of
from indexer.chain.fetch import FetchedBlock
from indexer.chain.node_logs import WITHIN_S, Stories, Story, stories_of
from indexer.chain.quarantine import hold, incomplete_fact, incomplete_key, notify_whole
from indexer.chain.watch import WatchList, keeper_at
from indexer.chain.write import BlockWriter

COUNT_EVERY = 1_000  # blocks, after which the count of vaults is kept
# blocks, after which a quiet vault's word is kept anew: all that is asked of nodes about a false one
KEPT_FOR = 40_000
LOOKS_A_ROUND = 8  # vaults whose logs nodes are asked for

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What a node says of some vaults: the word of each that it could read, None for none."""

    node: str
    vault_count: int
    answered: Collection[str]
    words: Mapping[str, str | None]


class LogProof:
    """Proves some vaults a round. Not thread-safe."""

    def __init__(
        self,
        chain: ChainContext,
        clock: Callable[[], datetime],
        *,
        at: Cursor | None = None,
        is_repairing: bool = True,
    ) -> None:
        """`at`: the block that is read, None: one near the tip. `is_repairing` False: what is wrong is `doubted`, and stays."""
        self._chain = chain
        self._clock = clock
        self._at = at
        self._is_repairing = is_repairing
        self.passes = 0  # over all vaults
        self.after = "0x"  # the vault that was read last
        self._tip: Cursor | None = None  # at the last round
        # vaults, and the factory, that a round found wrong: last, which were looked into last
        self.doubted = dict[str, None]()
        # a final height at which the factory's vaults were counted, and how many there were
        self._counted: tuple[int, int] | None = None

    def round(self) -> bool:
        """Whether something of the record was changed, so that it is to be read again.

        Errors: LeadershipLostError, those of the database and of nodes.
        """
        chain = self._chain
        with chain.database.read() as session:
            at = self._at or self._settled(session)
            doubted = [one for one in self.doubted if one != chain.factory][: MOST_VAULTS // 2]
            room = MOST_VAULTS - len(doubted)
            some = log_heads.proven_vaults(session, chain.chain_id, after=self.after, limit=room)
        if at is None:
            return False
        next_ = [one.address for one in some]
        asked = [*doubted, *(one for one in next_ if one not in doubted)]
        readings = self._read(asked, at)
        return bool(readings) and self._judge(at.number, readings, next_, is_last=len(some) < room)

    def _settled(self, session: Session) -> Cursor | None:
        """Where the record was at the last round, or is now."""
        before, self._tip = self._tip, repository.cursor(session, TIP)
        if before is not None:
            ours = repository.canonical_hash(session, self._chain.chain_id, before.number)
            if ours == before.hash:
                return before
        return self._tip

    def _read(self, asked: Sequence[str], at: Cursor) -> list[_Reading]:
        """By each node that has the block. The count of vaults comes with any question."""
        chain = self._chain
        with chain.database.read() as session:
            parent = repository.canonical_hash(session, chain.chain_id, at.number - 1)
        answers = chain.reader.lens_of_each(asked or [chain.factory], WITHIN_S, at.hash)
        readings = list[_Reading]()
        for node, rows in answers.items():
            if not rows:
                continue
            block = next(iter(rows.values())).block
            if (block.number, block.parent_hash) == (at.number, parent):
                words = {
                    vault: None if row.reading is None else row.reading.log_head
                    for vault, row in rows.items()
                    if row.outcome is not LensOutcome.UNREAD
                }
                readings.append(_Reading(node, block.vault_count, rows.keys(), words))
        return readings

    def _judge(
        self, number: int, readings: Sequence[_Reading], asked: Sequence[str], *, is_last: bool
    ) -> bool:
        chain = self._chain
        named = {vault for one in readings for vault in one.words}
        with chain.database.read() as session:
            vaults = log_heads.proven_vaults(session, chain.chain_id, among=named)
            vaults = [one for one in vaults if one.created_number <= number]
            heads = log_heads.heads_at(session, chain.chain_id, vaults, number)
        self._move_on(readings, asked, is_last=is_last)
        is_enough = len(readings) >= min(2, len(chain.reader.rpc.names))
        proven, whole = dict[str, LogHead](), list[ProvenVault]()
        wrong = list[tuple[ProvenVault, set[str]]]()
        for vault in vaults:
            made = heads[vault.address]
            words = {
                one.node: one.words[vault.address] for one in readings if vault.address in one.words
            }
            agree = {node for node, word in words.items() if word == hex_of(made.word)}
            if len(agree) < len(words):
                wrong.append((vault, agree))
                continue
            whole.append(vault)
            kept = number - KEPT_FOR
            if is_enough and (
                made.number > vault.head.number or kept - vault.head.number >= KEPT_FOR
            ):
                proven[vault.address] = replace(made, number=max(made.number, kept))
        is_changed = self._settle(whole, proven)
        place = {vault: at for at, vault in enumerate(self.doubted)}
        wrong.sort(key=lambda one: place.get(one[0].address, len(place)))
        looks = LOOKS_A_ROUND if self._is_repairing else len(wrong)
        for vault, agree in wrong[:looks]:
            is_changed = self._look_into(vault, number, readings, agree) or is_changed
        self.doubted |= {vault.address: None for vault, _ in wrong[looks:]}
        return self._count(number, readings) or is_changed

    def _move_on(
        self, readings: Sequence[_Reading], asked: Sequence[str], *, is_last: bool
    ) -> None:
        """To the first vault that a node did not answer for."""
        answered = set(asked).intersection(*(one.answered for one in readings))
        done = list(takewhile(answered.__contains__, asked))
        if len(done) < len(asked) or not is_last:
            self.after = done[-1] if done else self.after
        else:
            self.after, self.passes = "0x", self.passes + 1

    # Vaults whose logs are whole

    def _settle(self, whole: Sequence[ProvenVault], proven: Mapping[str, LogHead]) -> bool:
        """Keep what is proven, and let go of ledgers that were held until they were whole."""
        chain, now, is_released = self._chain, self._clock(), False
        with chain.database.read() as session:
            held = quarantine.held_among(
                session, MANDATE, {one.mandate_id for one in whole if one.mandate_id is not None}
            )
        again = [one for one in whole if one.address in self.doubted or one.mandate_id in held]
        if not proven and not again:
            return False
        with chain.database.write() as session:
            chain.fence(session)
            log_heads.keep_heads(session, chain.chain_id, proven)
            for vault in again:
                is_released = self._release(session, vault, (), now) or is_released
        for vault in again:
            self.doubted.pop(vault.address, None)
        return is_released

    def _release(
        self, session: WriteSession, vault: ProvenVault, base_keys: Sequence[str], now: datetime
    ) -> bool:
        """Let go of the ledger, and of what is held of it under these names; close the finding.
        Whether anything was held.
        """
        audit.resolve_named(session, self._chain.chain_id, _finding_key(vault), now)
        if vault.mandate_id is None:
            return False
        keys = [incomplete_key(vault.address), *base_keys]
        count = quarantine.withdraw_keys(session, MANDATE, vault.mandate_id, keys, now)
        if count:
            notify_whole(session, [(MANDATE, vault.mandate_id)], now)
        return count > 0

    # Vaults whose logs are not

    def _look_into(
        self,
        vault: ProvenVault,
        number: int,
        readings: Sequence[_Reading],
        agree: Collection[str],
    ) -> bool:
        """`agree`: nodes that read the word of our logs, which are not asked for theirs."""
        is_again = vault.address in self.doubted
        self.doubted.pop(vault.address, None)
        self.doubted[vault.address] = None
        if not self._is_repairing:
            return False
        rpc = self._chain.reader.rpc
        read = [one for one in readings if vault.address in one.words]
        nodes = [one for one in rpc.names if one not in agree]
        stories = stories_of(self._chain, nodes, vault.address, vault.head.number, number)

        def support(story: Story) -> int:
            word = stories.word_after(vault.head.word, story)
            return sum(one.words[vault.address] == word for one in read)

        best = stories.best(support)
        self._rest_others(stories, best)
        if best is not None and best != stories.ours:
            self._mend(vault, stories, best)
            self.doubted.pop(vault.address)
            return True
        if is_again and best is None:  # at first a node may have been busy with a reorg
            self._report(vault, number)
        if is_again and best is not None:
            word = stories.word_after(vault.head.word, best)
            for one in read:
                if one.words[vault.address] != word:
                    log.warning("node has a wrong log hash", node=one.node, vault=vault.address)
                    rpc.distrust("contradicts", name=one.node)
        return False

    def _rest_others(self, stories: Stories, best: Story | None) -> None:
        for node, story in stories.by_node.items():
            if best is not None and story != best:
                self._chain.reader.rpc.distrust("omits", name=node)

    def _mend(self, vault: ProvenVault, stories: Stories, best: Story) -> None:
        """Replace our logs by the story's, and write the ledger again from the first that differs."""
        chain, now = self._chain, self._clock()
        removed, late = set(stories.ours) - set(best), set(best) - set(stories.ours)
        first = min(one.place for one in removed | late)
        with chain.database.write() as session:
            chain.fence(session)
            log_heads.remove_logs(session, chain.chain_id, removed)
            repository.add_logs(session, chain.chain_id, list(late))
            since = log_heads.logs_since(session, chain.chain_id, vault.address, first[0] - 1)
            again = [one for one in since if one.place >= first]
            keys = [f"log:{one.tx_hash}:{one.log_index}" for one in (*removed, *again)]
            self._release(session, vault, keys, now)
            if vault.mandate_id is not None:
                rows = mandate_ledger.reverse_logs(session, vault.mandate_id, first, now)
                again += _logs_of_others(session, chain, vault, rows)
            write_late(session, chain, vault, again, now)
        log.warning(
            "corrected the logs of a vault",
            vault=vault.address,
            missing=len(late),
            invented=len(removed),
            since_block=first[0],
        )

    def _report(self, vault: ProvenVault, last: int) -> None:
        """A word that nobody's logs make, or two of them: the ledger is held."""
        chain, now = self._chain, self._clock()
        what = (
            f"the logs of vault {vault.address} after block {vault.head.number} do not produce "
            f"the log hash that it has at block {last}; its ledger is held"
        )
        with chain.database.write() as session:
            chain.fence(session)
            self._find(session, FindingKind.LOG, _finding_key(vault), what, vault.head.number)
            if vault.mandate_id is not None:
                at = max(vault.head.number, vault.created_number)
                block_hash = repository.canonical_hash(session, chain.chain_id, at)
                if block_hash is not None:
                    facts = [incomplete_fact(vault.address, at, block_hash)]
                    hold(session, chain.chain_id, MANDATE, vault.mandate_id, facts, now)

    def _find(
        self, session: WriteSession, kind: FindingKind, key: str, what: str, number: int
    ) -> None:
        fault = Fault(kind, key, what, {"block_number": number})
        if audit.add_finding(session, self._chain.chain_id, fault, self._clock()) is not None:
            log.error("the record's logs are not the chain's", what=what)

    # Vaults that are missing themselves

    def _count(self, number: int, readings: Sequence[_Reading]) -> bool:
        """Whether vaults were missing, and are written now."""
        chain = self._chain
        with chain.database.read() as session:
            if self._counted is None:
                at, first = repository.cursor(session, VAULTS_COUNTED), chain.start_block - 1
                base = first if at is None else at.number
                self._counted = base, self._created(session, first, base)
            base, count = self._counted
            ours = count + self._created(session, base, number)
            final = repository.cursor(session, FINALIZED)
        if all(one.vault_count == ours for one in readings):
            self.doubted.pop(chain.factory, None)
            kept = min(number, number - KEPT_FOR if final is None else final.number)
            if kept >= base + COUNT_EVERY:
                self._keep_count(kept)
            return False
        if not self._is_repairing:
            self.doubted[chain.factory] = None
            return False
        nodes = chain.reader.rpc.names
        stories = stories_of(chain, nodes, chain.factory, base, number, [VAULT_CREATED_TOPIC])
        best = stories.best(
            lambda made: sum(one.vault_count == count + len(made) for one in readings)
        )
        self._rest_others(stories, best)
        if best is not None and set(stories.ours) < set(best):
            missing = [one for one in best if one not in set(stories.ours)]
            with chain.database.write() as writing:
                chain.fence(writing)
                repository.add_logs(writing, chain.chain_id, missing)
                write_late(writing, chain, None, missing, self._clock())
            log.warning("vaults that were left out", vaults=len(missing))
            return True
        if chain.factory in self.doubted:
            most = max(one.vault_count for one in readings)
            what = f"the factory made {most} vaults up to block {number}, the record has {ours}"
            with chain.database.write() as writing:
                chain.fence(writing)
                key = f"vault:count:{chain.chain_id}:{base}"
                self._find(writing, FindingKind.VAULT, key, what, number)
        self.doubted[chain.factory] = None
        return False

    def _keep_count(self, number: int) -> None:
        """All vaults up to that height, which is final, are known."""
        chain = self._chain
        with chain.database.write() as session:
            chain.fence(session)
            block_hash = repository.canonical_hash(session, chain.chain_id, number)
            if block_hash is not None:
                at, now = Cursor(number, block_hash), self._clock()
                repository.save_mark(session, VAULTS_COUNTED, chain.chain_id, at, chain.epoch, now)
        self._counted = None

    def _created(self, session: Session, above: int, up_to: int) -> int:
        chain = self._chain
        return log_heads.count_of(
            session, chain.chain_id, chain.factory, VAULT_CREATED_TOPIC, above, up_to
        )


def _finding_key(vault: ProvenVault) -> str:
    return f"log:head:{vault.address}:{vault.head.number}"


def _logs_of_others(
    session: Session, chain: ChainContext, vault: ProvenVault, rows: Sequence[LedgerRow]
) -> Story:
    """The logs of these rows that the vault did not write, as those of an adapter."""
    places = {(row.block_hash, row.log_index) for row in rows}
    return [
        one
        for block_hash in dict.fromkeys(row.block_hash for row in rows if row.block_hash)
        for one in repository.logs_of_block(session, chain.chain_id, block_hash)
        if one.address != vault.address and (block_hash, one.log_index) in places
    ]


def write_late(
    session: WriteSession,
    chain: ChainContext,
    vault: ProvenVault | None,
    logs: Story,
    now: datetime,
) -> None:
    """What logs of the record say beside their own rows, block by block, each by what was known then.
    Nothing of a block that is orphaned by now.
    """
    times = repository.canonical_times(session, chain.chain_id, {one.block_hash for one in logs})
    logs = [one for one in logs if one.block_hash in times]
    history = [] if vault is None else agent_history(session, chain.chain_id, vault.address)
    in_order = sorted(logs, key=attrgetter("place"))
    for number, some in groupby(in_order, key=attrgetter("block_number")):
        of_block = tuple(some)
        watch = WatchList(
            chain.factory,
            chain.usdc,
            set() if chain.x402_adapter is None else {chain.x402_adapter},
            keeper_at(session, chain, number),
            x402_adapter=chain.x402_adapter,
        )
        if vault is not None:
            agents = tuple(agent for since, agent in history if since < number)
            known = KnownVault(vault.address, vault.owner, vault.mandate_id, agents)
            watch.vaults[vault.address] = known
        block_hash = of_block[0].block_hash
        header = BlockHeader(number, block_hash, "", times[block_hash], 0, ())
        facts = facts_of(FetchedBlock(header, (), of_block), watch, chain.chain_id)
        BlockWriter(session, chain, watch, now).late(facts)
        chain.sign()
