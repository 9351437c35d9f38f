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
from scripts._office_log import KEEPER_ADMIN_ROLE, PAUSER_ROLE
from scripts._offices import OFFICES
from scripts.devstack import ROOT, Ports, Stack, personas, run_ape

DEPLOYER_KEY = "0x" + "d0" * 32  # off the devnet a key that everybody has signs nothing
DEPLOYER = Account.from_key(DEPLOYER_KEY).address


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


def send(stack: Stack, sender: str, to: str, signature: str, *arguments: object) -> None:
    data = calldata.call_by_signature(signature, arguments)
    stack._rpc("eth_sendTransaction", {"from": sender, "to": to, "data": data})


def give_offices_away(stack: Stack, factory: str, token: str) -> set[str]:
    """All that the deployer, who holds every office on the devnet, can begin or give to a stranger and an adapter of his. Every
    view of the record's own holders still says yes. Answers what verify must find wrong."""
    deployer, stranger = personas()["deployer"]["address"], personas()["stranger"]["address"]
    before = sent_by(stack, deployer)
    calls: list[tuple[str, str, tuple[object, ...]]] = [
        (factory, "grantRole(bytes32,address)", (PAUSER_ROLE, stranger)),
        (factory, "grantRole(bytes32,address)", (KEEPER_ADMIN_ROLE, stranger)),
        (factory, "grantRole(bytes32,address)", ("0x" + "12" * 32, stranger)),
        (factory, "listAdapter(address)", (token,)),
        (factory, "proposeKeeper(address)", (stranger,)),
        (factory, "proposeGuard(address)", (stranger,)),
        (token, "pause()", ()),
        (token, "grantRole(bytes32,address)", (PAUSER_ROLE, stranger)),
        (token, "revokeRole(bytes32,address)", (PAUSER_ROLE, deployer)),
        (token, "proposeTreasury(address)", (stranger,)),
    ]
    for contract in (factory, token):
        calls += [(contract, "beginDefaultAdminTransfer(address)", (stranger,)), (contract, "changeDefaultAdminDelay(uint48)", (60,))]
    for to, signature, arguments in calls:
        send(stack, deployer, to, signature, *arguments)
    wait_for(lambda: sent_by(stack, deployer) == before + len(calls))
    changes = {f"{name}.{view}" for name in ("factory", "reserve_token") for view in ("pendingDefaultAdmin", "pendingDefaultAdminDelay")}
    found = {"factory.pausers", "factory.keeper_admins", "factory.pendingKeeper", "factory.pendingGuard", "factory other roles"}
    found |= {"other adapters listed", "reserve_token.paused", "reserve_token.pausers", "reserve_token.pendingTreasury"}
    return changes | found


def wrong(read_back: subprocess.CompletedProcess[str]) -> set[str]:
    return set(re.findall(r"^WRONG  ([^:]+): ", read_back.stdout, re.MULTILINE))


def test_a_deployment_is_idempotent_and_reads_back(stack_directory: Path) -> None:
    stack = Stack(stack_directory, Ports.free(), say=lambda line: None)
    record = stack_directory / "deployment.json"
    try:
        stack.start_chain()

        first = run_ape("deploy", stack.rpc_url, record)
        assert first.returncode == 0, first.stdout
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

        relabelled = [one | {"contract": "FiatToken"} if one["name"] == "x402_adapter" else one for one in recorded["contracts"]]
        record.write_text(json.dumps({**recorded, "contracts": relabelled}))
        assert "the record: x402_adapter is a X402Adapter" in run_ape("verify", stack.rpc_url, record).stdout

        tampered = {**recorded, "contracts": [{**one} for one in recorded["contracts"]]}
        factory = next(one for one in tampered["contracts"] if one["name"] == "factory")
        factory["args"][2][3] = personas()["stranger"]["address"]
        record.write_text(json.dumps(tampered))
        at = {one["name"]: one["address"] for one in recorded["contracts"]}
        stranger = personas()["stranger"]["address"]
        flipped_at = flip_a_zero(stack, "RelayAdapter", at["relay_adapter"])
        replace_usdc(stack, "TestVenueAdapter", at["test_venue_adapter"], stranger)
        given_away = give_offices_away(stack, at["factory"], at["reserve_token"])
        differs = run_ape("verify", stack.rpc_url, record)
        assert differs.returncode == 1
        assert f"WRONG  relay_adapter code: differs from the source at byte {flipped_at}" in differs.stdout
        assert "WRONG  test_venue_adapter code: immutable USDC at byte" in differs.stdout
        assert wrong(differs) == {"factory.keeper", "relay_adapter code", "test_venue_adapter code"} | given_away, differs.stdout
        assert f'"factory.keeper": "{personas()["keeper"]["address"]}"' in differs.stdout
    finally:
        stack.stop()


def ape_account(folder: Path, alias: str) -> dict[str, str]:
    """An Ape account with DEPLOYER's key, and the environment that finds and opens it."""
    keyfile = folder / "ape" / "accounts" / f"{alias}.json"
    keyfile.parent.mkdir(parents=True)
    opened = Account.encrypt(Account.from_key(DEPLOYER_KEY).key, "local", kdf="pbkdf2", iterations=1)
    keyfile.write_text(json.dumps(opened | {"address": DEPLOYER}))
    return {"APE_DATA_FOLDER": str(folder / "ape"), f"APE_ACCOUNTS_{alias}_PASSPHRASE": "local"}


def sent_by(stack: Stack, address: str) -> int:
    return int(stack._rpc("eth_getTransactionCount", address, "latest"), 16)


def place_usdc(stack: Stack) -> None:
    """Somebody's USDC at the address of Base Sepolia's."""
    set_code(stack, BASE_SEPOLIA_USDC, bytearray.fromhex(artifact_of("MockUSDC")["deployedBytecode"]["object"].removeprefix("0x")))


def mint_seed(stack: Stack) -> None:
    """The USDC that the reserve token begins with, for the deployer."""
    stranger = personas()["stranger"]["address"]
    send(stack, stranger, BASE_SEPOLIA_USDC, "mint(address,uint256)", DEPLOYER, 1_000_000)
    wait_for(lambda: sent_by(stack, stranger) == 1)


def let_send(stack: Stack, *accounts: str) -> None:
    """The node signs for accounts whose keys nobody here has, and they can pay."""
    for account in accounts:
        stack._rpc("anvil_impersonateAccount", account)
        stack._rpc("anvil_setBalance", account, hex(10**20))


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < until, "not within 15 s"
        time.sleep(0.1)


def test_a_deployment_off_the_devnet__trusts_no_nodes_word_and_leaves_the_offices_to_others(stack_directory: Path) -> None:
    """The node is anvil and says so. Before, that alone placed a mock USDC, and the deployer held every office not named."""
    stack = Stack(stack_directory, Ports.free(), say=lambda line: None)
    record = stack_directory / "deployment.json"
    offices = {office.variable: Account.from_key(bytes([number]) * 32).address for number, office in enumerate(OFFICES.values(), 1)}
    unnamed = ("ADMIN_ADDRESS", "PAUSER_ADDRESS", "KEEPER_ADMIN_ADDRESS", "TREASURY_ADDRESS")  # run_ape names the others' in any case
    apart = {variable: offices.pop(variable) for variable in unnamed}
    admin, operator = apart["ADMIN_ADDRESS"], offices["OPERATOR_ADDRESS"]
    try:
        stack.start_chain()
        let_send(stack, admin, operator, DEPLOYER)
        account = ape_account(stack_directory, "deployer") | offices

        def deploy(**named: str) -> subprocess.CompletedProcess[str]:
            return run_ape("deploy", stack.rpc_url, record, "--account", "deployer", network="sepolia", **(account | named))

        nobody = deploy()
        assert nobody.returncode == 1
        for variable in apart:
            assert f"{variable} is not set" in nobody.stdout, nobody.stdout

        mocked = deploy(**apart)
        assert mocked.returncode == 1
        assert "there is no USDC at" in mocked.stdout, mocked.stdout
        assert (code_of(stack, BASE_SEPOLIA_USDC), sent_by(stack, DEPLOYER)) == (bytearray(), 0)

        place_usdc(stack)
        poor = deploy(**apart)
        assert poor.returncode == 1
        assert "needs 1 USDC" in poor.stdout, poor.stdout
        assert sent_by(stack, DEPLOYER) == 0

        mint_seed(stack)
        done = deploy(**apart)
        assert done.returncode == 0, done.stdout
        left = re.findall(r"calls (\w+)\(.*\n +to +(0x\w+) .*\n +data (0x\w+)", done.stdout)
        assert [call for call, _, _ in left] == ["setAdapter", "listAdapter", "listAdapter", "listAdapter"]
        for call, to, data in left:
            sender = operator if call == "setAdapter" else admin
            stack._rpc("eth_sendTransaction", {"from": sender, "to": to, "data": data})
        wait_for(lambda: (sent_by(stack, operator), sent_by(stack, admin)) == (1, 3))

        read_back = run_ape("verify", stack.rpc_url, record, network="sepolia", **account)
        assert read_back.returncode == 0, read_back.stdout
    finally:
        stack.stop()
