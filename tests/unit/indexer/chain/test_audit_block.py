"""One block against what is kept of it: each kind of fault is named once, and nothing else is."""

from dataclasses import replace
from typing import Any

from core.audit.rules import FindingKind
from core.blocks.registry import KeptVault
from core.blocks.reverts import NewRevert
from core.identity.queries import LinkedWallet
from indexer.chain.audit_block import Known, RecordedBlock, block_findings, no_such_block
from indexer.chain.fetch import FetchedBlock
from tests.each import each
from tests.personas import AGENT, OWNER, STRANGER
from tests.unit.core.mandate.chain.test_decode import HASH
from tests.unit.core.mandate.chain.test_typed_data import TERMS
from tests.unit.indexer.chain.test_facts import (
    ADAPTER,
    HEADER,
    USDC,
    VAULT,
    at,
    created,
    failed,
    watch,
)

OTHER = "0x" + "cd" * 32
DEPOSITED = replace(at(VAULT, "Deposited", OWNER.address, 5, 5, 5), log_index=0)
BLOCK = FetchedBlock(HEADER, (failed(AGENT.address),), (DEPOSITED,))
REVERT = NewRevert(tx_hash=HASH, tx_index=0, sender=AGENT.address, vault=VAULT, gas_used=60_000)
KEPT = RecordedBlock(HEADER, (DEPOSITED,), (REVERT,), frozenset())
KNOWN = Known(watch(AGENT.address), {ADAPTER: 4}, {(VAULT, AGENT.address): 4})
VAULT_ROW = KeptVault(VAULT, OWNER.address, TERMS.public_id, HASH)


def found(
    block: FetchedBlock = BLOCK,
    kept: RecordedBlock = KEPT,
    known: Known = KNOWN,
    wallets: dict[str, LinkedWallet] | None = None,
) -> list[tuple[str, str]]:
    findings = block_findings(block, kept, known, wallets or {}, 84532)
    assert len({finding.key for finding in findings}) == len(findings)
    return [(finding.kind.value, finding.what) for finding in findings]


def test_a_block_that_is_kept_as_it_is__has_no_findings() -> None:
    assert found() == []


@each(
    ("changes", "says"),
    [
        ({"logs": ()}, ("log", f"the record lacks log 0 of {VAULT} in block 5")),
        (
            {"logs": (DEPOSITED, replace(DEPOSITED, log_index=1))},
            ("log", f"block 5 has no log 1, the record has one of {VAULT}"),
        ),
        (
            {"logs": (replace(DEPOSITED, data="0x01"),)},
            ("log", "log 0 of block 5 is not the chain's: data"),
        ),
        ({"reverts": ()}, ("revert", f"the record lacks the reverted call {HASH} in block 5")),
        (
            {"reverts": (replace(REVERT, gas_used=1),)},
            ("revert", f"the reverted call {HASH} of block 5 is not the chain's: gas_used"),
        ),
        (
            {"reverts": (REVERT, replace(REVERT, tx_hash=OTHER))},
            ("revert", f"the record has a reverted call {OTHER} that block 5 does not show"),
        ),
        (
            {"vaults": frozenset({VAULT_ROW})},
            ("vault", f"the record's vault {VAULT} is not as the chain says (block 5)"),
        ),
        (
            {"header": replace(HEADER, timestamp=HEADER.timestamp + 1)},
            ("block", "block 5: parent or time is not the chain's"),
        ),
    ],
)
def test_one_fault__is_one_finding(changes: dict[str, Any], says: tuple[str, str]) -> None:
    assert found(kept=replace(KEPT, **changes)) == [says]


def test_a_vault_that_is_not_kept__is_found() -> None:
    block = FetchedBlock(HEADER, (), (replace(created(), log_index=0),))
    assert found(block, replace(KEPT, logs=block.logs, reverts=())) == [
        ("vault", f"the record lacks vault {VAULT} (block 5)")
    ]


@each(("since", "expected"), [(4, 1), (5, 0)])
def test_an_adapters_log__is_owed_from_the_block_after_its_listing(
    since: int, expected: int
) -> None:
    block = FetchedBlock(HEADER, (), (replace(DEPOSITED, address=ADAPTER),))
    assert (
        len(
            found(
                block, replace(KEPT, logs=(), reverts=()), replace(KNOWN, adapters={ADAPTER: since})
            )
        )
        == expected
    )


@each(("since", "expected"), [(5, 0), (6, 1)])
def test_a_reverted_call__is_owed_from_the_block_that_named_the_agent(
    since: int, expected: int
) -> None:
    """Kept although nobody was its agent yet: that is one too many."""
    assert len(found(known=replace(KNOWN, agents={(VAULT, AGENT.address): since}))) == expected


@each(("up_to", "expected"), [(4, 1), (5, 0)])
def test_reverted_calls_that_first_sight_left_out__are_not_missed(
    up_to: int, expected: int
) -> None:
    assert (
        len(found(kept=replace(KEPT, reverts=()), known=replace(KNOWN, no_reverts_up_to=up_to)))
        == expected
    )


@each(("owed", "expected"), [((3, 4), 1), ((4, 5), 0), ((5, 6), 1)])
def test_reverted_calls_that_are_still_owed__are_not_missed(
    owed: tuple[int, int], expected: int
) -> None:
    assert len(found(kept=replace(KEPT, reverts=()), known=replace(KNOWN, owed=owed))) == expected


def test_usdc_to_a_linked_wallet__is_owed_and_to_a_stranger_is_not() -> None:
    paid = replace(at(USDC, "Transfer", OWNER.address, AGENT.address, 5), log_index=0)
    block, kept = FetchedBlock(HEADER, (), (paid,)), replace(KEPT, logs=(), reverts=())
    assert found(block, kept) == []
    linked = {AGENT.address: LinkedWallet(1, HEADER.timestamp)}
    assert found(block, kept, wallets=linked) == [
        ("log", f"the record lacks log 0 of {USDC} in block 5")
    ]


def test_a_kept_log_of_somebody_who_is_no_longer_watched__is_right_as_long_as_the_chain_has_it() -> (
    None
):
    stranger = replace(DEPOSITED, address=STRANGER.address)
    assert (
        found(
            FetchedBlock(HEADER, (failed(AGENT.address),), (stranger,)),
            replace(KEPT, logs=(stranger,)),
        )
        == []
    )


def test_another_block_or_none__is_named_by_its_height() -> None:
    assert no_such_block(84532, 5, None, HASH).what == "the record has no block 5"
    other = no_such_block(84532, 5, OTHER, HASH)
    assert (other.kind, other.what) == (
        FindingKind.BLOCK,
        f"block 5 is {OTHER} in the record and {HASH} on the chain",
    )
