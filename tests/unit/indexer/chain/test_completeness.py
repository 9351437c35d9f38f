"""What a range is held against is asked for in pieces, with a sign after each: a range over thousands of vaults is no loop that hangs."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from core.chain.abi import address_word
from core.chain.bloom import bits_of
from core.chain.decode import TRANSFER_TOPIC
from core.chain.reader import VaultPosition
from core.db.repositories.chain import LinkedWallet
from core.domain.blocks import BlockHeader, RawLog
from core.domain.events import Deposited, LogRef
from indexer.chain.completeness import VAULTS_A_REQUEST, RangeProof
from indexer.chain.facts import BlockFacts, Found
from indexer.chain.fetch import BlockContradictionError, FetchedBlock
from indexer.chain.watch import WatchList

USDC, FACTORY, SENDER = (f"0x{digit * 40}" for digit in "123")
HASH, PARENT = "0x" + "aa" * 32, "0x" + "bb" * 32
HEADER = BlockHeader(10, HASH, PARENT, 1_700_000_000, 0, (), 1)


class Reader:
    """A node that has the state of no block, and what it was asked and told in between."""

    contracts = {"usdc": USDC}  # noqa: RUF012 (a fake)

    def __init__(self) -> None:
        self.heard: list[int | str] = []

    def vault_positions(self, vaults: Sequence[str], at: str) -> list[VaultPosition | None]:
        self.heard.append(len(vaults))
        return [None] * len(vaults)


def deposit_of(vault: str, index: int) -> Found:
    log = RawLog(vault, (HASH,), "0x", 10, HASH, HASH, 0, index)
    return Found(LogRef(1, 10, HASH, 1_700_000_000, HASH, index, vault), Deposited(SENDER, 1, 1, 1), log)


def test_each_request_for_vaults_positions__is_followed_by_a_sign() -> None:
    reader = Reader()
    found = tuple(deposit_of(f"0x{number:040x}", number) for number in range(2 * VAULTS_A_REQUEST + 1))
    facts = [BlockFacts(HEADER, tuple(item.log for item in found), found, (), ())]
    proof = RangeProof(reader, PARENT, lambda: reader.heard.append("sign"))  # type: ignore[arg-type]  # as much of a reader as it uses
    proof.left_out([FetchedBlock(HEADER, (), facts[0].logs)], facts, WatchList(FACTORY, USDC, set()))
    assert reader.heard == [VAULTS_A_REQUEST, "sign", VAULTS_A_REQUEST, "sign", 1, "sign"] * 2


@pytest.mark.parametrize("adapters", [set(), {USDC}], ids=["", "with USDC listed as an adapter"])
def test_a_payment_that_only_the_bloom_tells_of__has_its_block_read_by_receipts(adapters: set[str]) -> None:
    bloom = bits_of(USDC) | bits_of(TRANSFER_TOPIC) | bits_of(address_word(SENDER))
    header = replace(HEADER, logs_bloom=bloom)
    watch = WatchList(FACTORY, USDC, adapters, wallets={SENDER: LinkedWallet(1, 0)})
    with pytest.raises(BlockContradictionError, match="a log is missing"):
        RangeProof(Reader(), PARENT).left_out([FetchedBlock(header, (), ())], [BlockFacts(header, (), (), (), ())], watch)  # type: ignore[arg-type]
