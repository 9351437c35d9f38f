"""Contract wallets that are asked for a signature and would rather have the node's time (ERC-1271,
ERC-6492).
"""

import time
from contextlib import closing

import pytest

from core.chain.abi import call_by_signature
from core.chain.nodes import Nodes
from core.chain.signatures import ERC6492_MAGIC, verify_digest
from core.mandate.chain.reader import VaultReader
from tests.integration.chain_fixtures import DeployedChain

WALLET = "0x" + "77" * 20
DIGEST = "0x" + "11" * 32
SIGNATURE = "0x" + "22" * 65
HOSTILE = {
    "endless loop": "5b600056",
    "invalid opcode": "fe",
    "memory without end": "600063ffffffff52",
    "no such opcode": "0c",
    "stack without end": "5b6000600056",
    "two megabytes of answer": "62200000 6000 f3",
    "two megabytes of revert": "62200000 6000 fd",
    "calls itself": "6000600060006000 6000 30 5a f1 6000 6000 fd",
    "hashes for ever": "5b 62100000 6000 20 50 6000 56",
}
MOST_S = 5.0  # on a loaded machine; one call without a cap may burn a node's whole limit


@pytest.mark.parametrize("runtime", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_wallet__signs_nothing_and_no_node_is_blamed(
    deployed: DeployedChain, runtime: str
) -> None:
    """Out of gas and INVALID went by as a failed part outside the service, 503, and a loop used up
    all that the node allows a call.
    """
    deployed.rpc.call("anvil_setCode", [WALLET, "0x" + runtime.replace(" ", "")])
    counterfactual = call_by_signature(
        "f(address,bytes,bytes)", [WALLET, b"\x01", bytes.fromhex(SIGNATURE[2:])]
    )
    created = "0x" + counterfactual[10:] + ERC6492_MAGIC
    with closing(Nodes([deployed.anvil.url])) as rpc:
        reader, began = VaultReader(rpc, deployed.contracts), time.monotonic()
        assert not verify_digest(WALLET, DIGEST, SIGNATURE, reader)
        assert not verify_digest(WALLET, DIGEST, created, reader)
        assert time.monotonic() - began < MOST_S
        assert [(node.is_open, node.failures) for node in rpc.stats()] == [(False, {})]
