"""What `make up` alone serves: POST /local/faucet, and in the console a wallet that is built in.

Laws
- It is there only where LOCAL_STACK=1, every node is on this machine and the first says that it is anvil.
  Elsewhere there is no route of it, no script and nothing in the page (tests/integration/api/test_local_stack.py).
- No process holds a key for it: anvil signs for its own accounts, whose keys everybody has.
- It is no part of the catalogue, so that no document, client or tool names it.
"""

from dataclasses import dataclass

from api.kernel.auth import ANYBODY
from api.kernel.caller import Nobody
from api.kernel.fields import Address
from api.kernel.operation import (
    Answer,
    AnswerBody,
    CallBounds,
    Command,
    Deps,
    Operation,
    Refusal,
    Write,
    WriteCall,
)
from core.chain.abi import function
from core.chain.reader import is_anvil
from core.errors import OutsideError
from core.mandate.chain.reader import VaultReader

FAUCET_WEI = 10**18
FAUCET_USDC_E6 = 10_000 * 10**6
ENOUGH_WEI = FAUCET_WEI // 10  # an account with that much and FAUCET_USDC_E6 needs no more


@dataclass(frozen=True, slots=True)
class LocalStack:
    """`rpc_url`: where a browser of this machine reaches anvil."""

    rpc_url: str


def local_stack(chain: VaultReader, rpc_url: str) -> LocalStack | None:
    """None: the node is not anvil, or does not answer."""
    try:
        return LocalStack(rpc_url) if is_anvil(chain.client_version()) else None
    except OutsideError:
        return None


class FaucetCommand(Command):
    address: Address


class FaucetAnswer(AnswerBody):
    eth_tx_hash: str
    usdc_tx_hash: str


def faucet(call: WriteCall, caller: Nobody, command: FaucetCommand) -> Answer[FaucetAnswer]:
    """1 ETH of anvil's last account and 10,000 new test USDC.

    Errors: Refusal wrong_status for an address that has enough; OutsideError.
    """
    deps, to = call.deps, command.address
    if deps.chain.usdc_balance(to) >= FAUCET_USDC_E6 and deps.chain.balance_wei(to) >= ENOUGH_WEI:
        detail = f"address: {to} has 10000 test USDC and 0.1 ETH or more; use these first."
        raise Refusal("wrong_status", detail, next_calls=())
    giver = deps.chain.rpc.call("eth_accounts")[-1]
    mint = function("MockUSDC", "mint").encode(to, FAUCET_USDC_E6)
    return Answer(
        FaucetAnswer(
            eth_tx_hash=_send(deps, {"from": giver, "to": to, "value": hex(FAUCET_WEI)}),
            usdc_tx_hash=_send(deps, {"from": giver, "to": deps.contracts["usdc"], "data": mint}),
        )
    )


def _send(deps: Deps, transaction: dict[str, str]) -> str:
    return str(deps.chain.rpc.call("eth_sendTransaction", [transaction]))


OPERATIONS: tuple[Operation, ...] = (
    Write(
        key="local.faucet",
        path="/local/faucet",
        auth=ANYBODY,
        summary="Get test ETH and test USDC of the chain of `make up`.",
        handler=faucet,
        bounds=CallBounds(in_turn=True),
        refuses=("wrong_status",),
    ),
)
