"""A real chain for tests: an anvil of the worker's own, taken back after each, the contracts on it,
and people who send transactions.

anvil mines a block for each transaction (`automine`), so a test says exactly what stands in which
block. The contracts come from forge's build, which is made first when it is missing.
"""

import json
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from eth_utils.abi import get_abi_input_types
from eth_utils.address import to_checksum_address

from core.chain.abi import call_by_signature, encode_values
from core.chain.blocks import TransactionReceipt
from core.chain.errors import RpcError, RpcUnreachableError
from core.chain.nodes import Nodes
from core.hexes import hex_of
from core.mandate.chain import calldata, typed_data
from core.mandate.chain.calldata import Funding, VaultCall
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.terms import MandateTerms, Rule
from core.mandate.venues import test_venue
from scripts._ports import free_port
from scripts._processes import ENDS_WITH_PARENT
from tests.personas import AGENT, DEPLOYER, GUARD, KEEPER, OPERATOR, OWNER, Persona

__all__ = ["deployed", "ground"]

ROOT = Path(__file__).parents[2]
ARTIFACTS = ROOT / ".build" / "forge"
ANVIL = ROOT / "node_modules" / ".bin" / "anvil-native"
FORGE = ROOT / "node_modules" / ".bin" / "forge-native"
CHAIN_ID = 84532
START_S = 10.0
GAS = 12_000_000
MOST_BLOCKS = 450  # that one anvil mines; it holds the states of 500 in memory
USDC = 1_000_000
BUDGET = 1_000 * USDC
HORIZON_S = 30 * 24 * 3600


@dataclass(slots=True)
class Anvil:
    """A running anvil. `mine` and the like go through `rpc`."""

    url: str
    process: subprocess.Popen[bytes]
    rpc: Nodes

    def mine(self, blocks: int = 1) -> None:
        self.rpc.call("anvil_mine", [hex(blocks)])

    def reorg(self, depth: int, transactions: Sequence[tuple[str, int]] = ()) -> None:
        """Replace the newest `depth` blocks by as many new ones; (raw transaction, offset from the
        ancestor) go into them.
        """
        self.rpc.call("anvil_reorg", [depth, [list(item) for item in transactions]])

    def snapshot(self) -> str:
        return str(self.rpc.call("evm_snapshot"))

    def revert(self, snapshot: str) -> None:
        assert self.rpc.call("evm_revert", [snapshot])

    def stop(self) -> None:
        self.rpc.close()
        self.process.kill()
        self.process.wait(timeout=START_S)


def start_anvil(*arguments: str) -> Anvil:
    """Start one on a free port and wait until it answers; again when another took the port first."""
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        port = free_port()
        command = [
            *ENDS_WITH_PARENT,
            *map(str, (ANVIL, "--port", port, "--chain-id", CHAIN_ID)),
            "--silent",
            *arguments,
        ]
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        anvil = Anvil(f"http://127.0.0.1:{port}", process, Nodes([f"http://127.0.0.1:{port}"]))
        if _is_up(anvil, until):
            return anvil
        anvil.stop()
    raise TimeoutError("anvil did not answer")


def _is_up(anvil: Anvil, until: float) -> bool:
    """False: it has ended, whoever answers at its port."""
    while anvil.process.poll() is None and time.monotonic() < until:
        try:
            anvil.rpc.call("eth_chainId")
        except RpcUnreachableError:
            time.sleep(0.02)
        else:
            return anvil.process.poll() is None
    return False


def _artifact(contract: str) -> Mapping[str, Any]:
    path = ARTIFACTS / f"{contract}.sol" / f"{contract}.json"
    if not path.exists():
        subprocess.run(
            [str(FORGE), "build", "--quiet"],
            cwd=ROOT,
            check=True,
            capture_output=True,
            timeout=300,
        )
    loaded: Mapping[str, Any] = json.loads(path.read_text())
    return loaded


def creation_code(contract: str, *arguments: Any) -> str:
    artifact = _artifact(contract)
    constructor: Any = next(
        (entry for entry in artifact["abi"] if entry["type"] == "constructor"),
        {"type": "constructor", "inputs": []},
    )
    encoded = encode_values(get_abi_input_types(constructor), arguments)
    return str(artifact["bytecode"]["object"]) + encoded.hex()


@dataclass(slots=True)
class DeployedChain:
    """The contracts on a chain of the test's own.

    Prices start at 1 USDC a unit; the venue holds a million USDC.
    """

    anvil: Anvil
    contracts: dict[str, str] = field(default_factory=dict)
    start_block: int = 1
    chain_id: int = CHAIN_ID

    @property
    def rpc(self) -> Nodes:
        return self.anvil.rpc

    @property
    def reader(self) -> VaultReader:
        return VaultReader(self.rpc, self.contracts)

    def write_record(self, folder: Path) -> None:
        """deployment.json of the folder, for DEPLOYMENT_FILE."""
        named = [{"name": name, "address": address} for name, address in self.contracts.items()]
        record = {"chain_id": CHAIN_ID, "block": self.start_block, "commit": "0" * 40}
        (folder / "deployment.json").write_text(json.dumps({**record, "contracts": named}))

    # Transactions

    def sign(self, sender: Persona, to: str | None, data: str, nonce: int | None = None) -> str:
        """A raw transaction; gas is fixed, so that one that will revert can be sent too."""
        transaction = {
            "chainId": CHAIN_ID,
            "nonce": self.reader.transaction_count(sender.address) if nonce is None else nonce,
            "data": data,
            "value": 0,
            "gas": GAS,
            "maxFeePerGas": 200_000_000_000,  # above what any test makes gas cost
            "maxPriorityFeePerGas": 1_000_000_000,
        }
        return hex_of(
            sender.signer.sign_transaction(transaction | ({} if to is None else {"to": to}))
        )

    def send(self, sender: Persona, to: str | None, data: str) -> TransactionReceipt:
        """Send and mine. A reverted transaction is a receipt with status 0."""
        tx_hash = self.rpc.call("eth_sendRawTransaction", [self.sign(sender, to, data)])
        self._mined(tx_hash)
        receipt = self.reader.receipt(tx_hash)
        assert receipt is not None
        return receipt

    def _mined(self, tx_hash: str) -> Mapping[str, Any]:
        """anvil answers before it mines; the receipt follows within milliseconds."""
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            raw: Mapping[str, Any] | None = self.rpc.call("eth_getTransactionReceipt", [tx_hash])
            if raw is not None:
                return raw
            time.sleep(0.002)
        raise TimeoutError(f"{tx_hash} was not mined")

    def succeed(self, sender: Persona, to: str | None, data: str) -> TransactionReceipt:
        receipt = self.send(sender, to, data)
        assert receipt.status == 1, f"{sender.name} -> {to}: reverted"
        return receipt

    def deploy(self, contract: str, *arguments: Any) -> str:
        tx_hash = self.rpc.call(
            "eth_sendRawTransaction",
            [self.sign(DEPLOYER, None, creation_code(contract, *arguments))],
        )
        raw = self._mined(tx_hash)
        assert raw["status"] == "0x1", f"{contract} was not deployed"
        return to_checksum_address(raw["contractAddress"])

    # What the tests' people do

    @property
    def now(self) -> int:
        header = self.reader.header()
        assert header is not None
        return header.timestamp

    def mint(self, to: str, amount: int) -> None:
        self.succeed(
            DEPLOYER,
            self.contracts["usdc"],
            call_by_signature("mint(address,uint256)", [to, amount]),
        )

    def rules(self) -> tuple[Rule, ...]:
        """The test venue adapter's rules, as a default target list expands to."""
        return self.reader.adapter_rules(self.contracts["test_venue_adapter"])

    def terms(self, public_id: str, **changes: Any) -> MandateTerms:
        """Budget 1000, 100 a call, 300 a day, floor at 5 % loss, 30 days, no fee."""
        terms = MandateTerms(
            public_id=public_id,
            owner=OWNER.address,
            agent=AGENT.address,
            budget_usdc=BUDGET,
            per_tx_cap=100 * USDC,
            daily_cap=300 * USDC,
            stop_floor=950 * USDC,
            stop_floor_bps=500,
            horizon_days=30,
            ends_at=self.now + HORIZON_S,
            agent_fee_bps=0,
            approval_above=0,
            on_floor=0,
            allowed_targets_hash=typed_data.rules_hash(self.rules()),
            guard_targets_hash=typed_data.guard_targets_hash([]),
            issued_at=self.now,
            nonce=1,
        )
        return replace(terms, **changes)

    def digest(self, terms: MandateTerms) -> str:
        return typed_data.terms_digest(terms, self.contracts["factory"], CHAIN_ID)

    def create_vault(
        self, terms: MandateTerms, *, fund: bool = True, rules: Sequence[Rule] | None = None
    ) -> str:
        """The owner signs terms and funding; the deployer submits both.

        Answers the vault. `rules`: those of the terms' hash, when they are not the test venue
        adapter's.
        """
        digest = self.digest(terms)
        vault = self.reader.predict_vault(digest)
        funding = self._funding(terms, vault, digest) if fund else Funding()
        data = calldata.create_vault(
            terms, rules or self.rules(), OWNER.signer.sign_digest(digest), funding
        )
        self.succeed(DEPLOYER, self.contracts["factory"], data)
        return vault

    def _funding(self, terms: MandateTerms, vault: str, digest: str) -> Funding:
        self.mint(OWNER.address, terms.budget_usdc)
        usdc, before = self.contracts["usdc"], terms.ends_at
        signed = typed_data.receive_authorization(
            usdc, CHAIN_ID, OWNER.address, vault, terms.budget_usdc, 0, before, digest
        ).digest
        return Funding(terms.budget_usdc, 0, before, OWNER.signer.sign_digest(signed))

    def buy(self, vault: str, amount: int, sender: Persona = AGENT) -> TransactionReceipt:
        return self.send(sender, vault, self.buy_data(amount))

    def buy_data(self, amount: int) -> str:
        return calldata.execute(
            VaultCall(self.contracts["test_venue_adapter"], amount, test_venue.buy(amount))
        )

    def sell(self, vault: str, units: int) -> TransactionReceipt:
        return self.send(
            AGENT,
            vault,
            calldata.execute(
                VaultCall(self.contracts["test_venue_adapter"], 0, test_venue.sell(units))
            ),
        )


def deploy_contracts(anvil: Anvil) -> DeployedChain:
    """USDC, factory, venue, adapters; both adapters listed."""
    chain = DeployedChain(anvil)
    chain.contracts["usdc"] = usdc = chain.deploy("MockUSDC")
    header = chain.reader.header()
    assert header is not None
    chain.start_block = header.number
    offices = (DEPLOYER.address, DEPLOYER.address, DEPLOYER.address, KEEPER.address, GUARD.address)
    chain.contracts["factory"] = chain.deploy("MandateVaultFactory", usdc, 3 * 24 * 3600, offices)
    chain.contracts["vault_lens"] = chain.deploy("VaultLens", chain.contracts["factory"])
    chain.contracts["test_venue"] = venue = chain.deploy("TestVenue", usdc, OPERATOR.address, USDC)
    chain.contracts["test_venue_adapter"] = adapter = chain.deploy("TestVenueAdapter", usdc, venue)
    chain.contracts["x402_adapter"] = x402 = chain.deploy("X402Adapter", chain.contracts["factory"])
    chain.succeed(OPERATOR, venue, call_by_signature("setAdapter(address)", [adapter]))
    for listed in (adapter, x402):
        chain.succeed(DEPLOYER, chain.contracts["factory"], calldata.list_adapter(listed))
    chain.mint(venue, 1_000_000 * USDC)
    return chain


@dataclass(slots=True)
class Ground:
    """The chain that a worker's tests stand on one after the other: each finds the contracts as
    they were deployed, and a new block.

    `slots`: of an epoch; what is that many blocks below the head is safe, and what is twice as many
    below it final.
    """

    slots: int = 32
    anvil: Anvil | None = None
    contracts: dict[str, str] = field(default_factory=dict)
    start_block: int = 0
    deployed_at: str = ""  # the hash of the last block of the deployment
    base_fee: str = ""
    snapshot: str = ""
    mined: int = 0

    def fresh(self) -> DeployedChain:
        """For one test, which may do with its node what it likes: what cannot be taken back is left
        behind, and all is deployed again.
        """
        if self.anvil is None or not (self._took_back() and self._began()):
            self.stop()
            self._deploy()
            assert self._began()
        assert self.anvil is not None
        of_the_test = Anvil(self.anvil.url, self.anvil.process, Nodes([self.anvil.url]))
        return DeployedChain(of_the_test, dict(self.contracts), self.start_block)

    def stop(self) -> None:
        if self.anvil is not None:
            self.anvil.stop()
            self.anvil = None

    def _deploy(self) -> None:
        self.anvil = start_anvil("--slots-in-an-epoch", str(self.slots))
        made = deploy_contracts(self.anvil)
        self.contracts, self.start_block = dict(made.contracts), made.start_block
        head = self._head()
        self.deployed_at, self.base_fee, self.mined = head["hash"], head["baseFeePerGas"], 0

    def _began(self) -> bool:
        """A new block, so that nobody takes it for a chain that stands still. False: a transaction
        of the test before, which the miner had already, was mined with it.
        """
        assert self.anvil is not None
        self.snapshot = self.anvil.snapshot()
        self.anvil.rpc.call("anvil_setNextBlockBaseFeePerGas", [self.base_fee])
        self.anvil.rpc.call("evm_setTime", [int(time.time())])
        self.anvil.mine()
        head = self._head()
        return (head["parentHash"], head["transactions"]) == (self.deployed_at, [])

    def _took_back(self) -> bool:
        """False: it cannot, or anvil would soon write the states of its oldest blocks to the disk,
        and later forget them.
        """
        assert self.anvil is not None
        try:
            self.mined += int(self._head()["number"], 16)
            if self.mined > MOST_BLOCKS:
                return False
            self.anvil.rpc.call("evm_setAutomine", [False])
            self.anvil.rpc.call("anvil_dropAllTransactions")
            is_reverted = self.anvil.rpc.call("evm_revert", [self.snapshot])
            is_back = bool(is_reverted) and self._head()["hash"] == self.deployed_at
            self.anvil.rpc.call("evm_setAutomine", [True])
            return is_back
        except RpcError:
            return False

    def _head(self) -> Mapping[str, Any]:
        assert self.anvil is not None
        head: Mapping[str, Any] = self.anvil.rpc.call("eth_getBlockByNumber", ["latest", False])
        return head


@pytest.fixture(scope="session")
def ground() -> Iterator[Ground]:
    ground = Ground()
    yield ground
    ground.stop()


@pytest.fixture
def deployed(ground: Ground) -> Iterator[DeployedChain]:
    """The contracts on a chain that is the test's own while it runs, one block a transaction; its
    last block is new.
    """
    chain = ground.fresh()
    yield chain
    chain.rpc.close()
