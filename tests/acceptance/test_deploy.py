"""Deploying twice changes nothing; reading the deployment back finds it, and finds what differs."""

import json
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from eth_account import Account

from core.chain import calldata
from scripts._deployed_code import WORD_BYTES, address_word, immutable_places
from scripts._deployments import BASE_SEPOLIA_USDC
from scripts.devstack import ROOT, Ports, Stack, personas, run_ape


def artifact_of(contract: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads((ROOT / ".build" / "forge" / f"{contract}.sol" / f"{contract}.json").read_text())
    return found


def code_of(stack: Stack, address: str) -> bytearray:
    return bytearray.fromhex(stack._rpc("eth_getCode", address, "latest").removeprefix("0x"))


def set_code(stack: Stack, address: str, code: bytearray) -> None:
    stack._rpc("anvil_setCode", address, "0x" + code.hex())


def flip_a_zero(stack: Stack, contract: str, address: str) -> int:
    """Change a byte that the source has as zero, and that is no immutable's; answers where."""
    compiled = bytes.fromhex(artifact_of(contract)["deployedBytecode"]["object"].removeprefix("0x"))
    inside = {at for starts in immutable_places(artifact_of(contract)) for start in starts for at in range(start, start + WORD_BYTES)}
    at = next(at for at, byte in enumerate(compiled) if byte == 0 and at not in inside)
    code = code_of(stack, address)
    code[at] ^= 0x01
    set_code(stack, address, code)
    return at


def replace_usdc(stack: Stack, contract: str, address: str, usdc: str) -> None:
    """Put another token into the first immutable, at all its places."""
    code = code_of(stack, address)
    for start in immutable_places(artifact_of(contract))[0]:
        code[start : start + WORD_BYTES] = address_word(usdc)
    set_code(stack, address, code)


def test_a_deployment_is_idempotent_and_reads_back(stack_directory: Path) -> None:
    stack = Stack(stack_directory, Ports.free(), say=lambda line: None)
    record = stack_directory / "deployment.json"
    try:
        stack.start_chain()

        first = run_ape("deploy", stack.rpc_url, record)
        assert first.returncode == 0, first.stdout + first.stderr
        recorded = json.loads(record.read_text())
        assert recorded["chain_id"] == 84532
        assert recorded["block"] > 0
        assert all(one["address"].startswith("0x") for one in recorded["contracts"])
        created = {
            one["name"]: one["contract"] for one in recorded["contracts"] if one["name"] in ("vault_implementation", "factory_validator")
        }
        assert created == {"vault_implementation": "MandateVault", "factory_validator": "Erc6492Validator"}

        second = run_ape("deploy", stack.rpc_url, record)
        assert second.stdout.count("kept") == 6
        assert "nothing is left to do" in second.stdout
        assert json.loads(record.read_text())["contracts"] == recorded["contracts"]

        assert run_ape("verify", stack.rpc_url, record).returncode == 0

        tampered = {**recorded, "contracts": [{**one} for one in recorded["contracts"]]}
        factory = next(one for one in tampered["contracts"] if one["name"] == "factory")
        factory["args"][2][3] = personas()["stranger"]["address"]
        record.write_text(json.dumps(tampered))
        at = {one["name"]: one["address"] for one in recorded["contracts"]}
        stranger = personas()["stranger"]["address"]
        flipped_at = flip_a_zero(stack, "RelayAdapter", at["relay_adapter"])
        replace_usdc(stack, "TestVenueAdapter", at["test_venue_adapter"], stranger)
        differs = run_ape("verify", stack.rpc_url, record)
        assert differs.returncode == 1
        assert "WRONG  factory.keeper" in differs.stdout
        assert f"WRONG  relay_adapter code: differs from the source at byte {flipped_at}" in differs.stdout
        assert "WRONG  test_venue_adapter code: immutable USDC at byte" in differs.stdout
        assert differs.stdout.count("WRONG") == 3, differs.stdout
    finally:
        stack.stop()


def ape_account(folder: Path, alias: str) -> dict[str, str]:
    """An Ape account with the deployer's key, and the environment that finds and opens it."""
    keyfile = folder / "ape" / "accounts" / f"{alias}.json"
    keyfile.parent.mkdir(parents=True)
    wallet = personas()["deployer"]
    opened = Account.encrypt(wallet["private_key"], "local", kdf="pbkdf2", iterations=1)
    keyfile.write_text(json.dumps(opened | {"address": wallet["address"]}))
    return {"APE_DATA_FOLDER": str(folder / "ape"), f"APE_ACCOUNTS_{alias}_PASSPHRASE": "local"}


def sent_by(stack: Stack, persona: str) -> int:
    return int(stack._rpc("eth_getTransactionCount", personas()[persona]["address"], "latest"), 16)


def place_usdc(stack: Stack) -> None:
    """Somebody's USDC at the address of Base Sepolia's."""
    set_code(stack, BASE_SEPOLIA_USDC, bytearray.fromhex(artifact_of("MockUSDC")["deployedBytecode"]["object"].removeprefix("0x")))


def mint_seed(stack: Stack) -> None:
    """The USDC that the reserve token begins with, for the deployer."""
    data = calldata.call_by_signature("mint(address,uint256)", [personas()["deployer"]["address"], 1_000_000])
    stack._rpc("eth_sendTransaction", {"from": personas()["stranger"]["address"], "to": BASE_SEPOLIA_USDC, "data": data})
    wait_for(lambda: sent_by(stack, "stranger") == 1)


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < until, "not within 15 s"
        time.sleep(0.1)


def test_a_deployment_off_the_devnet__trusts_no_nodes_word_and_leaves_the_offices_to_others(stack_directory: Path) -> None:
    """The node is anvil and says so. Before, that alone placed a mock USDC, and the deployer held every office not named."""
    stack = Stack(stack_directory, Ports.free(), say=lambda line: None)
    record = stack_directory / "deployment.json"
    people = personas()
    apart = {
        "ADMIN_ADDRESS": people["owner"]["address"],
        "PAUSER_ADDRESS": people["agent"]["address"],
        "KEEPER_ADMIN_ADDRESS": people["owner"]["address"],
        "TREASURY_ADDRESS": people["stranger"]["address"],
    }
    try:
        stack.start_chain()
        account = ape_account(stack_directory, "deployer")

        def deploy(**offices: str) -> subprocess.CompletedProcess[str]:
            return run_ape("deploy", stack.rpc_url, record, "--account", "deployer", network="sepolia", **account, **offices)

        nobody = deploy()
        assert nobody.returncode == 1
        for variable in apart:
            assert f"{variable} is not set" in nobody.stderr, nobody.stdout + nobody.stderr

        mocked = deploy(**apart)
        assert mocked.returncode == 1
        assert "there is no USDC at" in mocked.stderr, mocked.stdout + mocked.stderr
        assert (code_of(stack, BASE_SEPOLIA_USDC), sent_by(stack, "deployer")) == (bytearray(), 0)

        place_usdc(stack)
        poor = deploy(**apart)
        assert poor.returncode == 1
        assert "needs 1 USDC" in poor.stderr, poor.stdout + poor.stderr
        assert sent_by(stack, "deployer") == 0

        mint_seed(stack)
        done = deploy(**apart)
        assert done.returncode == 0, done.stdout + done.stderr
        left = re.findall(r"calls (\w+)\(.*\n +to +(0x\w+) .*\n +data (0x\w+)", done.stdout)
        assert [call for call, _, _ in left] == ["setAdapter", "listAdapter", "listAdapter", "listAdapter"]
        for call, to, data in left:
            sender = people["operator" if call == "setAdapter" else "owner"]["address"]
            stack._rpc("eth_sendTransaction", {"from": sender, "to": to, "data": data})
        wait_for(lambda: (sent_by(stack, "operator"), sent_by(stack, "owner")) == (1, 3))

        read_back = run_ape("verify", stack.rpc_url, record, network="sepolia", **account)
        assert read_back.returncode == 0, read_back.stdout + read_back.stderr
    finally:
        stack.stop()
