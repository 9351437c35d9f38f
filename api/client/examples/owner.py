"""The owner's side, on the local stack: hire an agent, give it a mandate of 1,000 USDC, write what
the agent needs to a file.

`python -m api.client.examples.owner [.local]` with `make up` running beside it writes
.local/agent.json for the loop.
"""

import argparse
import json
import secrets
import time
from pathlib import Path
from typing import Any

from api.client import Client, Wallet, sign_typed_data
from api.client.signing import account_of

GAS_WEI = 10**17  # what the owner gives a new agent to pay gas with: 0.1 ether of the local chain
WORKING_WITHIN_S = 30
DRAFT: dict[str, Any] = {
    "purpose": "Buy units at the test venue, carefully.",
    "budget_usdc": "1000.000000",
    "horizon_days": 30,
    "stop_floor_bps": 500,
    "per_tx_cap_usdc": "200.000000",
    "daily_cap_usdc": "450.000000",
    "market_mode": "testnet",
}


def stack_directory(description: str) -> str:
    """Of the command line, with --help."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "directory", nargs="?", default=".local", help="where `make up` wrote stack.json"
    )
    return str(parser.parse_args().directory)


def read_stack(directory: str) -> dict[str, Any]:
    """What `make up` wrote. Errors: SystemExit, with what to do, when nothing runs from there."""
    return read_facts(Path(directory) / "stack.json", "run `make up` first, and leave it running")


def read_facts(file: Path, otherwise: str) -> dict[str, Any]:
    """Errors: SystemExit with what to do otherwise."""
    try:
        return dict(json.loads(file.read_text()))
    except (OSError, ValueError) as error:
        raise SystemExit(f"{file} cannot be read ({type(error).__name__}): {otherwise}") from None


def sign_in(stack: dict[str, Any]) -> tuple[Client, Wallet]:
    """The owner's client and wallet."""
    wallet = Wallet(stack["accounts"]["owner"]["private_key"], stack["rpc_url"])
    owner = Client(stack["base_url"])
    owner.sign_in(wallet.account)
    return owner, wallet


def hire(owner: Client, wallet: Wallet, name: str) -> tuple[Client, str]:
    """A new agent with a wallet of its own and gas in it, which accepts mandates: its client and
    its private key.
    """
    private_key = "0x" + secrets.token_hex(32)
    account = account_of(private_key)
    wallet.send({"to": account.address, "value": GAS_WEI})
    agent = owner.connect(name)
    agent.link_wallet(account)
    owner.mandates.policy_set(agent.user_id, accepts_mandates=True)
    return agent, private_key


def give_mandate(owner: Client, wallet: Wallet, agent_id: str, **changes: Any) -> str:
    """Draft, sign, deploy and fund a mandate that names the agent; answers its id when the vault
    holds the budget.
    """
    mandate_id = str(
        owner.mandates.create(**{**DRAFT, "agent_id": agent_id, **changes})["mandate"]["public_id"]
    )
    owner.sign_terms(mandate_id, wallet.account)
    document = owner.mandates.deploy_call(mandate_id, fund="authorization")["typed_data"]
    assert document is not None, "fund=authorization offers a document to sign"
    authorization = sign_typed_data(wallet.account, document)
    wallet.send(
        owner.mandates.deploy_call(
            mandate_id, fund="authorization", authorization_signature=authorization
        )
    )
    ends = time.monotonic() + WORKING_WITHIN_S
    while owner.mandates.read(mandate_id)["mandate"]["status"] != "working":
        if time.monotonic() > ends:
            raise TimeoutError(
                f"{mandate_id} is not working after {WORKING_WITHIN_S} s; look at GET /health/ready"
            )
        time.sleep(0.2)
    return mandate_id


def main(directory: str = ".local") -> None:
    stack = read_stack(directory)
    owner, wallet = sign_in(stack)
    with owner, wallet:
        agent, private_key = hire(owner, wallet, "loop-agent")
        mandate_id = give_mandate(owner, wallet, agent.user_id)
    agent.close()
    file = Path(directory) / "agent.json"
    file.touch(mode=0o600)
    facts = {
        "base_url": stack["base_url"],
        "rpc_url": stack["rpc_url"],
        "api_key": agent.key,
        "private_key": private_key,
    }
    file.write_text(
        json.dumps(facts | {"adapter": stack["contracts"]["test_venue_adapter"]}, indent=2) + "\n"
    )
    print(f"{mandate_id} waits for agent {agent.user_id}; its key and wallet are in {file}")


if __name__ == "__main__":
    main(
        stack_directory(
            "Hire an agent, give it a mandate of 1,000 USDC, write agent.json for the loop."
        )
    )
