"""A deployment off the devnet: what the node says of itself is not believed, and no office falls to
the deployer.
"""

import json
import re
import subprocess
from pathlib import Path

from eth_account import Account

from scripts._accounts import personas
from scripts._ape import run_ape
from scripts._deployments import ADAPTERS, BASE_SEPOLIA_USDC
from scripts._offices import OFFICES
from scripts._ports import Ports
from scripts.devstack import Stack
from tests.acceptance.test_deploy import artifact_of, code_of, send, sent_by, set_code, wait_for

DEPLOYER_KEY = "0x" + "d0" * 32  # off the devnet a key that everybody has signs nothing
DEPLOYER = Account.from_key(DEPLOYER_KEY).address


def ape_account(folder: Path, alias: str) -> dict[str, str]:
    """An Ape account with DEPLOYER's key, and the environment that finds and opens it."""
    keyfile = folder / "ape" / "accounts" / f"{alias}.json"
    keyfile.parent.mkdir(parents=True)
    opened = Account.encrypt(
        Account.from_key(DEPLOYER_KEY).key, "local", kdf="pbkdf2", iterations=1
    )
    keyfile.write_text(json.dumps(opened | {"address": DEPLOYER}))
    return {"APE_DATA_FOLDER": str(folder / "ape"), f"APE_ACCOUNTS_{alias}_PASSPHRASE": "local"}


def place_usdc(stack: Stack) -> None:
    """Somebody's USDC at the address of Base Sepolia's."""
    set_code(
        stack,
        BASE_SEPOLIA_USDC,
        bytearray.fromhex(artifact_of("MockUSDC")["deployedBytecode"]["object"].removeprefix("0x")),
    )


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


def test_a_deployment_off_the_devnet__trusts_no_nodes_word_and_leaves_the_offices_to_others(
    stack_directory: Path,
) -> None:
    """The node is anvil and says so.

    Before, that alone placed a mock USDC, and the deployer held every office not named.
    """
    stack = Stack(stack_directory, Ports.free(), say=lambda line: None)
    record = stack_directory / "deployment.json"
    offices = {
        office.variable: Account.from_key(bytes([number]) * 32).address
        for number, office in enumerate(OFFICES.values(), 1)
    }
    # run_ape names the others' in any case
    unnamed = ("ADMIN_ADDRESS", "PAUSER_ADDRESS", "KEEPER_ADMIN_ADDRESS", "TREASURY_ADDRESS")
    apart = {variable: offices.pop(variable) for variable in unnamed}
    admin, operator = apart["ADMIN_ADDRESS"], offices["OPERATOR_ADDRESS"]
    try:
        stack.start_chain()
        let_send(stack, admin, operator, DEPLOYER)
        account = ape_account(stack_directory, "deployer") | offices

        def deploy(**named: str) -> subprocess.CompletedProcess[str]:
            return run_ape(
                "deploy",
                stack.rpc_url,
                record,
                "--account",
                "deployer",
                network="sepolia",
                **(account | named),
            )

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
        lists = ["listAdapter"] * len(ADAPTERS)
        assert [call for call, _, _ in left] == ["setAdapter", *lists]
        for call, to, data in left:
            sender = operator if call == "setAdapter" else admin
            stack._rpc("eth_sendTransaction", {"from": sender, "to": to, "data": data})
        wait_for(lambda: (sent_by(stack, operator), sent_by(stack, admin)) == (1, len(lists)))

        read_back = run_ape("verify", stack.rpc_url, record, network="sepolia", **account)
        assert read_back.returncode == 0, read_back.stdout
    finally:
        stack.stop()
