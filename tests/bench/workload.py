"""The workload of the indexer's bench: USDC transfers to watched wallets, and events of
factory-made vaults.

The first blocks create the vaults (two events each), the others hold one transaction of a contract
that is the agent of all vaults and pays wallets. Then empty blocks follow until the work is final.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from core.chain.abi import call_by_signature
from core.mandate.chain.calldata import VaultCall
from core.mandate.venues import test_venue
from tests.bench.mandates import public_id
from tests.bench.place import CENT
from tests.integration.chain_fixtures import DeployedChain
from tests.personas import DEPLOYER

WALLETS = 500
FINAL_AFTER = 64  # anvil's distance from the newest block to the finalized one
GAS = 25_000_000
WORK = "work(address[],(address,uint256,bytes),address[],uint256)"


@dataclass(frozen=True)
class Size:
    """How much there is to take in. `vault_events`: creation, deposit and actions together."""

    vaults: int
    blocks: int
    transfers: int
    vault_events: int

    @property
    def events(self) -> int:
        return self.transfers + self.vault_events


LARGE = Size(vaults=100, blocks=900, transfers=40_000, vault_events=10_000)
SMALL = Size(vaults=50, blocks=450, transfers=20_000, vault_events=5_000)


@dataclass(frozen=True)
class Workload:
    """What was put on the chain: the vaults in order, the wallets, the block after which no event
    comes.
    """

    vaults: tuple[str, ...]
    wallets: tuple[str, ...]
    last_block: int


def wallet_addresses() -> tuple[str, ...]:
    return tuple(
        to_checksum_address(keccak(text=f"wallet {index}")[-20:]) for index in range(WALLETS)
    )


def send(chain: DeployedChain, sender: str, to: str, data: str) -> None:
    """Errors: AssertionError for one that reverts."""
    transaction = {"from": sender, "to": to, "data": data, "gas": hex(GAS)}
    tx_hash = chain.rpc.call("eth_sendTransaction", [transaction])
    while (receipt := chain.reader.receipt(tx_hash)) is None:
        pass
    assert receipt.status == 1, "a transaction of the workload reverted"


class Generator:
    """Puts the workload on a fresh chain."""

    def __init__(self, chain: DeployedChain, size: Size) -> None:
        self.chain = chain
        self.size = size
        self.swarm = chain.deploy("Swarm", chain.contracts["usdc"])
        chain.mint(self.swarm, size.transfers * CENT)
        self.terms = tuple(
            chain.terms(public_id(number), agent=self.swarm) for number in range(size.vaults)
        )

    def run(self) -> Workload:
        """Create (two blocks a vault), work, wait for finality."""
        vaults = tuple(self.chain.create_vault(terms) for terms in self.terms)
        wallets = wallet_addresses()
        for data in self._works(vaults, wallets, self.size.blocks - 2 * len(vaults)):
            send(self.chain, DEPLOYER.address, self.swarm, data)
        header = self.chain.reader.header()
        assert header is not None
        self.chain.anvil.mine(FINAL_AFTER + 1)
        return Workload(vaults, wallets, header.number)

    def _works(
        self, vaults: tuple[str, ...], wallets: tuple[str, ...], blocks: int
    ) -> Iterator[str]:
        """Call data of each block's transaction; the events are spread evenly."""
        transfers, executes = self.size.transfers, self.size.vault_events - 2 * len(vaults)
        for block in range(blocks):
            first, last = block * transfers // blocks, (block + 1) * transfers // blocks
            payees = [wallets[index % WALLETS] for index in range(first, last)]
            first, last = block * executes // blocks, (block + 1) * executes // blocks
            yield self._data([vaults[index % len(vaults)] for index in range(first, last)], payees)

    def _data(self, vaults: list[str], payees: list[str]) -> str:
        call = VaultCall(self.chain.contracts["test_venue_adapter"], CENT, test_venue.buy(CENT))
        arguments = [
            vaults,
            (call.target, call.max_spend, bytes.fromhex(call.data[2:])),
            payees,
            CENT,
        ]
        return call_by_signature(WORK, arguments)
