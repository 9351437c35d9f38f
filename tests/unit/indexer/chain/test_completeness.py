"""What a range is held against is asked for in pieces, with a sign after each: a range over
thousands of vaults is no loop that hangs.
"""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from core.blocks.registry import KnownVault
from core.chain.abi import address_word, topic_of
from core.chain.blocks import BlockHeader, RawLog
from core.chain.bloom import bits_of, bloom_of
from core.identity.queries import LinkedWallet
from core.mandate.chain.decode import TRANSFER_TOPIC
from core.mandate.chain.reader import VaultPosition
from core.mandate.rules.events import Deposited, LogRef
from indexer.chain.completeness import MOST_MEMBERS, VAULTS_A_REQUEST, RangeProof
from indexer.chain.facts import BlockFacts, Found
from indexer.chain.fetch import BlockContradictionError, FetchedBlock
from indexer.chain.watch import WatchList
from tests.each import each

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
    return Found(
        LogRef(1, 10, HASH, 1_700_000_000, HASH, index, vault), Deposited(SENDER, 1, 1, 1), log
    )


def test_each_request_for_vaults_positions__is_followed_by_a_sign() -> None:
    reader = Reader()
    found = tuple(
        deposit_of(f"0x{number:040x}", number) for number in range(2 * VAULTS_A_REQUEST + 1)
    )
    facts = [BlockFacts(HEADER, tuple(item.log for item in found), found, (), ())]
    proof = RangeProof(reader, PARENT, lambda: reader.heard.append("sign"))  # type: ignore[arg-type]  # as much of a reader as it uses
    proof.left_out(
        [FetchedBlock(HEADER, (), facts[0].logs)], facts, WatchList(FACTORY, USDC, set())
    )
    assert reader.heard == [VAULTS_A_REQUEST, "sign", VAULTS_A_REQUEST, "sign", 1, "sign"] * 2


@pytest.mark.parametrize("adapters", [set(), {USDC}], ids=["", "with USDC listed as an adapter"])
def test_a_payment_that_only_the_bloom_tells_of__has_its_block_read_by_receipts(
    adapters: set[str],
) -> None:
    bloom = bits_of(USDC) | bits_of(TRANSFER_TOPIC) | bits_of(address_word(SENDER))
    header = replace(HEADER, logs_bloom=bloom)
    watch = WatchList(FACTORY, USDC, adapters, wallets={SENDER: LinkedWallet(1, 0)})
    with pytest.raises(BlockContradictionError, match="a log is missing"):
        RangeProof(Reader(), PARENT).left_out(
            [FetchedBlock(header, (), ())], [BlockFacts(header, (), (), (), ())], watch
        )  # type: ignore[arg-type]


def test_whatever_an_adapter_logs__has_its_block_read_by_receipts_where_only_the_bloom_tells_of_it() -> (
    None
):
    adapter = f"0x{'9' * 40}"
    noise = RawLog(adapter, ("0x" + "a4" * 32,), "0x", 10, HASH, HASH, 0, 0)
    header = replace(HEADER, logs_bloom=bloom_of((noise, *payments(20))))
    watch, facts = WatchList(FACTORY, USDC, {adapter}), [BlockFacts(header, (), (), (), ())]
    with pytest.raises(BlockContradictionError, match="a log is missing"):
        RangeProof(Reader(), PARENT).left_out([FetchedBlock(header, (), ())], facts, watch)  # type: ignore[arg-type]
    whole = FetchedBlock(header, (), (noise,))
    assert RangeProof(Reader(), PARENT).left_out([whole], facts, watch) == {}  # type: ignore[arg-type]


def purchase_of(vault: str, index: int) -> tuple[RawLog, ...]:
    """The four logs of a vault's purchase at a venue: 36 bits of a bloom, more or fewer."""
    venue, adapter = f"0x{'8' * 40}", f"0x{'9' * 40}"
    told = [
        (USDC, ("0x" + "a1" * 32, address_word(vault), address_word(adapter))),  # its approval
        (USDC, (TRANSFER_TOPIC, address_word(vault), address_word(venue))),
        (venue, ("0x" + "a2" * 32, address_word(vault))),
        (
            vault,
            (
                topic_of("Executed"),
                address_word(f"0x{index:040x}"),
                address_word(adapter),
                "0x" + "a3" * 32,
            ),
        ),
    ]
    return tuple(
        RawLog(address, topics, "0x", 10, HASH, HASH, 0, place)
        for place, (address, topics) in enumerate(told)
    )


def payments(count: int) -> tuple[RawLog, ...]:
    """Of strangers to strangers."""
    pairs = [
        (address_word(f"0x{number:040x}"), address_word(f"0x{number + 500:040x}"))
        for number in range(count)
    ]
    return tuple(
        RawLog(USDC, (TRANSFER_TOPIC, *pair), "0x", 10, HASH, HASH, 0, place)
        for place, pair in enumerate(pairs)
    )


def is_looked_at(vaults: int, *, logs: tuple[RawLog, ...], came: tuple[RawLog, ...]) -> bool:
    """Whether a block of these logs, of which `came` were given, has its receipts read where so
    many vaults are watched.
    """
    header = replace(HEADER, logs_bloom=bloom_of(logs))
    watched = {vault: KnownVault(vault, SENDER, None, ()) for vault in map(vault_of, range(vaults))}
    proof = RangeProof(Reader(), PARENT)  # type: ignore[arg-type]  # as much of a reader as it uses
    try:
        proof.left_out(
            [FetchedBlock(header, (), came)],
            [BlockFacts(header, (), (), (), ())],
            WatchList(FACTORY, USDC, set(), vaults=watched),
        )
    except BlockContradictionError:  # the receipts of a node that has none are not the header's
        return True
    return False


def vault_of(number: int) -> str:
    return f"0x{number + 1_000_000:040x}"


@each(("vaults", "beside"), [(1, 60), (100, 20), (2_000, 8), (MOST_MEMBERS, 0)])
def test_an_execution_that_only_the_bloom_tells_of__has_its_block_read_by_receipts__of_many_vaults_too(
    vaults: int, beside: int
) -> None:
    assert is_looked_at(vaults, logs=purchase_of(vault_of(0), 1) + payments(beside), came=())


@each("purchases", [5, 14, 16, 60])
def test_a_busy_block_of_which_all_came__is_not_looked_at_because_of_what_its_own_logs_say(
    purchases: int,
) -> None:
    logs = tuple(
        log for number in range(purchases) for log in purchase_of(vault_of(number), number)
    )
    assert not is_looked_at(2_000, logs=logs, came=logs)
