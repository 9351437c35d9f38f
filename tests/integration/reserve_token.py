"""The reserve token on a test's chain: deployed, bought, redeemed, converted."""

from dataclasses import dataclass
from typing import Any

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from core.chain.abi import call_by_signature
from core.chain.blocks import TransactionReceipt
from core.chain.reader import LATEST
from core.hexes import bytes_of
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.personas import DEPLOYER, OPERATOR, Persona

TREASURY = OPERATOR
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class TokenOnChain:
    """`address`: of the contract, seeded with 1 USDC."""

    chain: DeployedChain
    address: str

    def number(self, signature: str, *arguments: Any) -> int:
        data = call_by_signature(signature, list(arguments))
        answer = self.chain.reader.call(self.address, data)
        return int.from_bytes(answer)

    def locked(self) -> tuple[int, int]:
        """Base units of the newest block's second, and when none is, in unix nanoseconds."""
        found: tuple[int, int] = self.chain.reader.view(
            "ReserveToken", "locked", self.address, LATEST
        )
        return found

    def fund(self, who: Persona, usdc_e6: int) -> None:
        """USDC of the person's own, which the token may take."""
        self.chain.mint(who.address, usdc_e6)
        allowed = call_by_signature("approve(address,uint256)", [self.address, 2**256 - 1])
        self.chain.succeed(who, self.chain.contracts["usdc"], allowed)

    def buy_data(self, who: Persona, usdc_e6: int, least: int = 0) -> str:
        return call_by_signature("buy(uint256,uint256,address)", [usdc_e6, least, who.address])

    def buy(self, who: Persona, usdc_e6: int, least: int = 0) -> TransactionReceipt:
        return self.chain.succeed(who, self.address, self.buy_data(who, usdc_e6, least))

    def unlock(self) -> None:
        """A day passes, so that nothing is locked."""
        self.wait(DAY_S)
        self.chain.anvil.mine()

    def wait(self, seconds: int) -> None:
        """The next block is so much later than the newest."""
        self.chain.rpc.call("evm_setNextBlockTimestamp", [self.chain.now + seconds])

    def redeem(self, who: Persona, tokens: int) -> TransactionReceipt:
        data = call_by_signature("redeem(uint256,uint256)", [tokens, 0])
        return self.chain.succeed(who, self.address, data)

    def convert_data(self, tokens: int, account_ref: str) -> str:
        return call_by_signature("convert(uint256,bytes32)", [tokens, account_ref])

    def convert(self, who: Persona, tokens: int, account_ref: str) -> TransactionReceipt:
        return self.chain.succeed(who, self.address, self.convert_data(tokens, account_ref))

    def pay_treasury(self) -> TransactionReceipt:
        return self.chain.succeed(DEPLOYER, self.address, call_by_signature("payTreasury()", []))


def deploy_reserve_token(chain: DeployedChain) -> TokenOnChain:
    """The deployer is admin and pauser; it brings the seed."""
    usdc = chain.contracts["usdc"]
    chain.mint(DEPLOYER.address, USDC)
    future = created_by(DEPLOYER.address, chain.reader.transaction_count(DEPLOYER.address) + 1)
    chain.succeed(DEPLOYER, usdc, call_by_signature("approve(address,uint256)", [future, USDC]))
    address = chain.deploy(
        "ReserveToken", usdc, DAY_S, DEPLOYER.address, DEPLOYER.address, TREASURY.address
    )
    assert address == future
    chain.contracts["reserve_token"] = address
    return TokenOnChain(chain, address)


def created_by(sender: str, nonce: int) -> str:
    """The address of a contract that this transaction of the sender creates; nonces below 2^16."""
    number = nonce.to_bytes((nonce.bit_length() + 7) // 8)
    if nonce >= 128:
        number = bytes([0x80 + len(number)]) + number
    body = b"\x94" + bytes_of(sender) + (number or b"\x80")
    return to_checksum_address(keccak(bytes([0xC0 + len(body)]) + body)[12:])
