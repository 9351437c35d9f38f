"""One block held against the record, both ways: what the chain has and we lack, what we have and
the chain lacks.

Pure but for `read_kept`. The block comes whole, with its receipts, from another node than the one
that the record came from; a log is ours by the same rule as at the tip (facts.py), with what was
known at that height.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.orm import Session

from core.audit.rules import Fault, FindingKind
from core.blocks import reverts
from core.blocks.queries import logs_of_block
from core.blocks.registry import KeptVault, vaults_of_block
from core.blocks.reverts import NewRevert
from core.chain.blocks import BlockHeader, RawLog
from core.identity.queries import LinkedWallet, linked_wallets
from core.quarantine.views.unregistered import unregistered_vaults
from indexer.chain.facts import BlockFacts, by_then, facts_of, is_foreign, usdc_payees
from indexer.chain.fetch import FetchedBlock
from indexer.chain.watch import WatchList

# a wallet that was linked this shortly before a block may not have been known yet when it was
# written
LINK_MARGIN_S = 10


@dataclass(frozen=True, slots=True)
class RecordedBlock:
    """What the record holds of one block."""

    header: BlockHeader
    logs: tuple[RawLog, ...]
    reverts: tuple[NewRevert, ...]
    vaults: frozenset[KeptVault]
    unregistered: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Known:
    """What the record knows of whom it watches. `adapters` and `agents` say since which height.

    Reverted calls at or below `no_reverts_up_to`, and those in (owed[0], owed[1]], are not looked
    up (yet).
    """

    watch: WatchList
    adapters: Mapping[str, int]
    agents: Mapping[tuple[str, str], int]
    no_reverts_up_to: int = -1
    owed: tuple[int, int] | None = None

    def has_reverts_of(self, number: int) -> bool:
        is_owed = self.owed is not None and self.owed[0] < number <= self.owed[1]
        return number > self.no_reverts_up_to and not is_owed

    def watch_at(self, number: int, wallets: Mapping[str, LinkedWallet]) -> WatchList:
        """An adapter counts from the block after the one that listed it; the x402 adapter always
        did.
        """
        later = {adapter for adapter, since in self.adapters.items() if since >= number}
        return replace(self.watch, adapters=self.watch.adapters - later, wallets=dict(wallets))


def read_kept(session: Session, chain_id: int, header: BlockHeader) -> RecordedBlock:
    """What the record holds under the hash of `header`."""
    return RecordedBlock(
        header,
        tuple(logs_of_block(session, chain_id, header.hash)),
        tuple(reverts.reverts_of_block(session, chain_id, header.hash)),
        frozenset(vaults_of_block(session, chain_id, header.hash)),
        frozenset(one.address for one in unregistered_vaults(session, chain_id)),
    )


def wallets_paid_in(session: Session, block: FetchedBlock, usdc: str) -> dict[str, LinkedWallet]:
    """The linked wallets that the block pays, without those that were linked only just before."""
    payees = usdc_payees(block, usdc)
    found = linked_wallets(session, payees) if payees else {}
    return {
        address: wallet
        for address, wallet in found.items()
        if wallet.since + LINK_MARGIN_S <= block.header.timestamp
    }


def no_such_block(chain_id: int, number: int, ours: str | None, theirs: str) -> Fault:
    """The record has no block at that final height, or another one."""
    what = (
        f"the record has no block {number}"
        if ours is None
        else f"block {number} is {ours} in the record and {theirs} on the chain"
    )
    return _finding(
        FindingKind.BLOCK, f"{chain_id}:{number}", what, block_number=number, block_hash=theirs
    )


def block_findings(
    block: FetchedBlock,
    kept: RecordedBlock,
    known: Known,
    wallets: Mapping[str, LinkedWallet],
    chain_id: int,
) -> list[Fault]:
    """Every difference between the block and what is kept of it; empty means the record is
    right.
    """
    facts = facts_of(block, known.watch_at(block.header.number, wallets), chain_id)
    found = [
        *_header(block.header, kept.header, chain_id),
        *_logs(block, facts, kept.logs),
        *_vaults(facts, kept),
    ]
    return (
        found + list(_reverts(facts, kept, known))
        if known.has_reverts_of(block.header.number)
        else found
    )


def _header(theirs: BlockHeader, ours: BlockHeader, chain_id: int) -> Iterator[Fault]:
    if (theirs.parent_hash, theirs.timestamp) != (ours.parent_hash, ours.timestamp):
        what = f"block {theirs.number}: parent or time is not the chain's"
        yield _finding(
            FindingKind.BLOCK,
            f"{chain_id}:{theirs.number}:header",
            what,
            block_number=theirs.number,
            block_hash=theirs.hash,
        )


def _logs(block: FetchedBlock, facts: BlockFacts, kept: Iterable[RawLog]) -> Iterator[Fault]:
    ours, theirs = {log.log_index: log for log in kept}, {log.log_index: log for log in block.logs}
    for log in facts.logs:
        if log.log_index not in ours:
            yield _of_log(
                log,
                "lacks",
                f"the record lacks log {log.log_index} of {log.address} in block "
                f"{log.block_number}",
            )
    for log in ours.values():
        if log.log_index not in theirs:
            yield _of_log(
                log,
                "invented",
                f"block {log.block_number} has no log {log.log_index}, the record has one of "
                f"{log.address}",
            )
        elif theirs[log.log_index] != log:
            parts = _differing(log, theirs[log.log_index])
            yield _of_log(
                log,
                "altered",
                f"log {log.log_index} of block {log.block_number} is not the chain's: {parts}",
            )


def _of_log(log: RawLog, fault: str, what: str) -> Fault:
    place = {
        "block_number": log.block_number,
        "block_hash": log.block_hash,
        "log_index": log.log_index,
        "tx_hash": log.tx_hash,
    }
    return _finding(FindingKind.LOG, f"{log.block_hash}:{log.log_index}:{fault}", what, **place)


def _reverts(facts: BlockFacts, kept: RecordedBlock, known: Known) -> Iterator[Fault]:
    header = facts.header
    theirs = {one.tx_hash: one for one in by_then(facts.reverts, known.agents, header.number)}
    # foreign ones were kept once
    ours = {one.tx_hash: one for one in kept.reverts if not is_foreign(one.vault, known.watch)}
    for tx_hash in theirs.keys() | ours.keys():
        if tx_hash not in ours:
            fault, what = (
                "lacks",
                f"the record lacks the reverted call {tx_hash} in block {header.number}",
            )
        elif tx_hash not in theirs:
            fault, what = (
                "invented",
                (
                    f"the record has a reverted call {tx_hash} that block {header.number} does not "
                    "show"
                ),
            )
        elif theirs[tx_hash] != ours[tx_hash]:
            parts = _differing(ours[tx_hash], theirs[tx_hash])
            fault, what = (
                "altered",
                (
                    f"the reverted call {tx_hash} of block {header.number} is not the chain's: "
                    f"{parts}"
                ),
            )
        else:
            continue
        place = {"block_number": header.number, "block_hash": header.hash, "tx_hash": tx_hash}
        yield _finding(FindingKind.REVERT, f"{header.hash}:{tx_hash}:{fault}", what, **place)


def _vaults(facts: BlockFacts, kept: RecordedBlock) -> Iterator[Fault]:
    theirs = {
        KeptVault(made.address, made.owner, made.public_id, made.terms_digest)
        for made in facts.created
    }
    for vault in theirs ^ kept.vaults:
        if vault.address in kept.unregistered:
            continue  # its ledger says so itself
        number, fault = facts.header.number, "lacks" if vault in theirs else "invented"
        what = (
            f"the record {fault} vault {vault.address}"
            if vault in theirs
            else f"the record's vault {vault.address} is not as the chain says"
        )
        key = f"{facts.header.hash}:{vault.address}:{fault}"
        yield _finding(
            FindingKind.VAULT,
            key,
            f"{what} (block {number})",
            block_number=number,
            block_hash=facts.header.hash,
        )


def _differing(ours: Any, theirs: Any) -> str:
    """The names of the fields in which two values of one dataclass differ."""
    return ", ".join(
        name
        for name in type(ours).__dataclass_fields__
        if getattr(ours, name) != getattr(theirs, name)
    )


def _finding(kind: FindingKind, key: str, what: str, **place: Any) -> Fault:
    return Fault(kind, f"{kind.value}:{key}", what, place)
