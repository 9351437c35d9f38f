"""A deployment that is interrupted while its transaction waits is found again: one factory, whichever
way the next run meets it.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts._accounts import personas
from scripts._ape import APE, run_ape
from scripts._ports import Ports
from scripts.devstack import ROOT, Stack

OTHER = "0x60016000f3"  # leaves one byte of code, and is no contract of ours
LONG = 20_000  # bytes of the factory's creation code at least; those before it have fewer


def begin(stack: Stack, record: Path) -> subprocess.Popen[str]:
    """As `run_ape`, without waiting for its end."""
    offices = {f"{role.upper()}_ADDRESS": wallet["address"] for role, wallet in personas().items()}
    build = {
        "SOLCX_BINARY_PATH": str(ROOT / "scripts" / "solc"),
        "APE_DATA_FOLDER": str(ROOT / ".build" / "ape"),
        "RPC_URL": stack.rpc_url,
    }
    command = [str(APE), "run", "deploy", "--network", "base:devnet:node", "--record", str(record)]
    return subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **offices, **build}, stdout=subprocess.PIPE, text=True
    )


def waiting(stack: Stack) -> list[dict[str, Any]]:
    pool = stack._rpc("txpool_content")["pending"]
    return [one for of_sender in pool.values() for one in of_sender.values()]


def until(is_so: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)


def factories(stack: Stack, code: str) -> int:
    """Transactions on chain that created the factory."""
    head = int(stack._rpc("eth_blockNumber"), 16)
    blocks = (stack._rpc("eth_getBlockByNumber", hex(n), True) for n in range(head + 1))
    return sum(one["input"] == code for block in blocks for one in block["transactions"])


@pytest.mark.parametrize("meanwhile", ["it waits", "it is mined", "its nonce is another's"])
def test_an_interrupted_deployment__has_one_factory(stack_directory: Path, meanwhile: str) -> None:
    stack = Stack(stack_directory, Ports.free(), say=lambda line: None)
    record = stack_directory / "deployment.json"
    try:
        stack.start_chain()
        stack._rpc("evm_setAutomine", False)
        stack._rpc("evm_setIntervalMining", 0)
        first = begin(stack, record)

        def is_factory_pending() -> bool:
            found = waiting(stack)
            if any(len(one["input"]) > 2 * LONG for one in found):
                return True
            if found:
                stack._rpc("evm_mine")
            return False

        until(is_factory_pending)
        sent = next(one for one in waiting(stack) if len(one["input"]) > 2 * LONG)
        code = sent["input"]
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=60)
        assert json.loads(record.read_text())["sending"]["name"] == "factory"
        if meanwhile == "its nonce is another's":
            stack._rpc("anvil_dropAllTransactions")
            other = {"from": sent["from"], "data": OTHER, "gas": "0x20000"}
            stack._rpc("eth_sendTransaction", other | {"nonce": sent["nonce"]})
        if meanwhile != "it waits":
            stack._rpc("evm_mine")
        second = begin(stack, record)
        if meanwhile == "it waits":
            assert second.stdout is not None
            until(lambda: "waiting for it" in (second.stdout.readline() if second.stdout else ""))
            assert len(waiting(stack)) == 1
        stack._rpc("evm_setIntervalMining", 1)
        said, _ = second.communicate(timeout=300)
        assert second.returncode == 0, said
        found = json.loads(record.read_text())
        assert "sending" not in found
        [factory] = [one for one in found["contracts"] if one["name"] == "factory"]
        assert stack._rpc("eth_getTransactionReceipt", factory["tx"])["contractAddress"] == (
            factory["address"].lower()
        )
        assert factories(stack, code) == 1
        assert run_ape("verify", stack.rpc_url, record).returncode == 0
    finally:
        stack.stop()
