"""Listed contracts that lie: one forges payments in a vault's name, one answers `rules()` with what
it likes.
"""

from core.chain.abi import topic_of
from core.chain.blocks import TransactionReceipt
from core.mandate.chain import calldata
from tests.integration.chain_fixtures import DeployedChain
from tests.personas import DEPLOYER, STRANGER

FORGER = "0x0000000000000000000000000000000000707070"
# Logs what it is sent: three topics and the data. Anything shorter, as rules(), is answered with
# nothing.
#   calldatasize < 96 -> end;  topics 3, 2, 1;  size = calldatasize - 96;  calldatacopy(0, 96,
#   size);  log3(0, size);  end: stop
FORGING = (
    "0x" + "60603610601d57" + "604035602035600035" + "60603603" + "806060600037" + "6000a3" + "5b00"
)


def list_forger(chain: DeployedChain, address: str = FORGER, code: str = FORGING) -> str:
    """Put the contract there and have the factory list it."""
    chain.rpc.call("anvil_setCode", [address, code])
    chain.succeed(DEPLOYER, chain.contracts["factory"], calldata.list_adapter(address))
    return address


def forge_payment(
    chain: DeployedChain, vault: str, pay_to: str, amount: int, resource_hash: str
) -> TransactionReceipt:
    """Anybody has the forger say that the vault paid."""
    topic = topic_of("X402Paid")
    words = (topic, vault, pay_to, f"{amount:x}", resource_hash)
    return chain.succeed(
        STRANGER,
        FORGER,
        "0x" + "".join(word.lower().removeprefix("0x").rjust(64, "0") for word in words),
    )


def answering(answer: bytes) -> str:
    """The code of a contract that answers every call with these bytes."""
    return f"0x61{len(answer):04x}80600c6000396000f3{answer.hex()}"
