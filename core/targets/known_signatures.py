"""Signatures of functions that many contracts have: for these selectors no other text is taken
(target_checks.py).

Anybody can find a text with the same four bytes as one of these, in which the pinned word is an
address. The table holds what moves tokens or shares, names who receives them, or runs other calls;
what is not in it is the proposer's word alone, and clause 5 says so. It is read by people: add a
function with the standard or the contract that declares it. The selectors follow from the texts.
Source: the EIPs named, and the verified sources of the contracts named.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final

from eth_utils.crypto import keccak

from core.chain.abi import ALSO_KNOWN, CONTRACTS, SELECTOR_BYTES, functions
from core.hexes import hex_of

_TOKENS: Final = (
    # ERC-20, and what tokens have beside it
    "transfer(address,uint256)",
    "transferFrom(address,address,uint256)",
    "approve(address,uint256)",
    "increaseAllowance(address,uint256)",
    "decreaseAllowance(address,uint256)",
    "mint(address,uint256)",
    "burn(uint256)",
    "burn(address,uint256)",
    "burnFrom(address,uint256)",
    # ERC-1363
    "transferAndCall(address,uint256)",
    "transferAndCall(address,uint256,bytes)",
    "transferFromAndCall(address,address,uint256)",
    "transferFromAndCall(address,address,uint256,bytes)",
    "approveAndCall(address,uint256)",
    "approveAndCall(address,uint256,bytes)",
    # ERC-2612, and DAI's permit
    "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)",
    "permit(address,address,uint256,uint256,bytes)",
    "permit(address,address,uint256,uint256,bool,uint8,bytes32,bytes32)",
    # ERC-3009
    "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)",
    "receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)",
    # ERC-721
    "safeTransferFrom(address,address,uint256)",
    "safeTransferFrom(address,address,uint256,bytes)",
    "setApprovalForAll(address,bool)",
    # ERC-1155
    "safeTransferFrom(address,address,uint256,uint256,bytes)",
    "safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)",
    # WETH9
    "deposit()",
    "withdraw(uint256)",
    # Permit2
    "approve(address,address,uint160,uint48)",
    "transferFrom(address,address,uint160,address)",
    "transferFrom((address,address,uint160,address)[])",
    "permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)",
    "permitTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes)",
)

_VAULTS: Final = (
    # ERC-4626
    "deposit(uint256,address)",
    "mint(uint256,address)",
    "withdraw(uint256,address,address)",
    "redeem(uint256,address,address)",
    # Its variants: a greatest loss in bps (Yearn v3), queues of strategies, a least or greatest
    # amount
    "withdraw(uint256,address,address,uint256)",
    "redeem(uint256,address,address,uint256)",
    "withdraw(uint256,address,address,uint256,address[])",
    "redeem(uint256,address,address,uint256,address[])",
    "deposit(uint256,address,uint256)",
    "mint(uint256,address,uint256)",
    # ERC-7540
    "requestDeposit(uint256,address,address)",
    "requestRedeem(uint256,address,address)",
    "deposit(uint256,address,address)",
    "mint(uint256,address,address)",
    "setOperator(address,bool)",
    # Vaults before ERC-4626 (Yearn v2, Compound v2, staking)
    "deposit(uint256)",
    "mint(uint256)",
    "redeem(uint256)",
    "redeemUnderlying(uint256)",
    "withdraw(uint256,address)",
    "withdraw(uint256,address,uint256)",
    "stake(uint256)",
    "unstake(uint256)",
    "withdraw()",
    "exit()",
    "getReward()",
    "claim()",
)

_LENDING: Final = (
    # Aave v3 Pool, and v2's deposit
    "supply(address,uint256,address,uint16)",
    "supplyWithPermit(address,uint256,address,uint16,uint256,uint8,bytes32,bytes32)",
    "deposit(address,uint256,address,uint16)",
    "withdraw(address,uint256,address)",
    "borrow(address,uint256,uint256,uint16,address)",
    "repay(address,uint256,uint256,address)",
    "repayWithATokens(address,uint256,uint256)",
    "setUserUseReserveAsCollateral(address,bool)",
    "liquidationCall(address,address,address,uint256,bool)",
    "flashLoan(address,address[],uint256[],uint256[],address,bytes,uint16)",
    "flashLoanSimple(address,address,uint256,bytes,uint16)",
    "approveDelegation(address,uint256)",
    # Compound v3 Comet
    "supply(address,uint256)",
    "supplyTo(address,address,uint256)",
    "supplyFrom(address,address,address,uint256)",
    "withdraw(address,uint256)",
    "withdrawTo(address,address,uint256)",
    "withdrawFrom(address,address,address,uint256)",
    "transferAsset(address,address,uint256)",
    "allow(address,bool)",
    # Morpho
    "supply((address,address,address,address,uint256),uint256,uint256,address,bytes)",
    "withdraw((address,address,address,address,uint256),uint256,uint256,address,address)",
    "borrow((address,address,address,address,uint256),uint256,uint256,address,address)",
    "repay((address,address,address,address,uint256),uint256,uint256,address,bytes)",
    "supplyCollateral((address,address,address,address,uint256),uint256,address,bytes)",
    "withdrawCollateral((address,address,address,address,uint256),uint256,address,address)",
    "setAuthorization(address,bool)",
)

_SWAPS: Final = (
    # Uniswap v2 Router02
    "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)",
    "swapTokensForExactTokens(uint256,uint256,address[],address,uint256)",
    "swapExactETHForTokens(uint256,address[],address,uint256)",
    "swapTokensForExactETH(uint256,uint256,address[],address,uint256)",
    "swapExactTokensForETH(uint256,uint256,address[],address,uint256)",
    "swapETHForExactTokens(uint256,address[],address,uint256)",
    "swapExactTokensForTokensSupportingFeeOnTransferTokens(uint256,uint256,address[],address,uint256)",
    "swapExactTokensForETHSupportingFeeOnTransferTokens(uint256,uint256,address[],address,uint256)",
    "swapExactETHForTokensSupportingFeeOnTransferTokens(uint256,address[],address,uint256)",
    "addLiquidity(address,address,uint256,uint256,uint256,uint256,address,uint256)",
    "addLiquidityETH(address,uint256,uint256,uint256,address,uint256)",
    "removeLiquidity(address,address,uint256,uint256,uint256,address,uint256)",
    "removeLiquidityETH(address,uint256,uint256,uint256,address,uint256)",
    # Uniswap v2 and v3 pools
    "swap(uint256,uint256,address,bytes)",
    "swap(address,bool,int256,uint160,bytes)",
    "skim(address)",
    # Uniswap v3 SwapRouter
    "exactInputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))",
    "exactInput((bytes,address,uint256,uint256,uint256))",
    "exactOutputSingle((address,address,uint24,address,uint256,uint256,uint256,uint160))",
    "exactOutput((bytes,address,uint256,uint256,uint256))",
    # SwapRouter02
    "exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))",
    "exactInput((bytes,address,uint256,uint256))",
    "exactOutputSingle((address,address,uint24,address,uint256,uint256,uint160))",
    "exactOutput((bytes,address,uint256,uint256))",
    "swapExactTokensForTokens(uint256,uint256,address[],address)",
    "swapTokensForExactTokens(uint256,uint256,address[],address)",
    # Their payments
    "sweepToken(address,uint256)",
    "sweepToken(address,uint256,address)",
    "sweepTokenWithFee(address,uint256,address,uint256,address)",
    "unwrapWETH9(uint256)",
    "unwrapWETH9(uint256,address)",
    "unwrapWETH9WithFee(uint256,address,uint256,address)",
    "refundETH()",
    "pull(address,uint256)",
    "wrapETH(uint256)",
    "selfPermit(address,uint256,uint256,uint8,bytes32,bytes32)",
    # Uniswap v3 NonfungiblePositionManager
    "mint((address,address,uint24,int24,int24,uint256,uint256,uint256,uint256,address,uint256))",
    "increaseLiquidity((uint256,uint256,uint256,uint256,uint256,uint256))",
    "decreaseLiquidity((uint256,uint128,uint256,uint256,uint256))",
    "collect((uint256,address,uint128,uint128))",
)

_ANY_CALL: Final = (
    # Multicalls
    "multicall(bytes[])",
    "multicall(uint256,bytes[])",
    "multicall(bytes32,bytes[])",
    "aggregate((address,bytes)[])",
    "tryAggregate(bool,(address,bytes)[])",
    "blockAndAggregate((address,bytes)[])",
    "tryBlockAndAggregate(bool,(address,bytes)[])",
    "aggregate3((address,bool,bytes)[])",
    "aggregate3Value((address,bool,uint256,bytes)[])",
    # Uniswap's universal router
    "execute(bytes,bytes[])",
    "execute(bytes,bytes[],uint256)",
    # Accounts: ERC-4337's examples, ERC-7579, Safe
    "execute(address,uint256,bytes)",
    "executeBatch(address[],uint256[],bytes[])",
    "execute(bytes32,bytes)",
    "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)",
    "execTransactionFromModule(address,uint256,bytes,uint8)",
    # Ownership and upgrades
    "transferOwnership(address)",
    "acceptOwnership()",
    "renounceOwnership()",
    "upgradeTo(address)",
    "upgradeToAndCall(address,bytes)",
    "initialize(address)",
)

WELL_KNOWN: Final = (*_TOKENS, *_VAULTS, *_LENDING, *_SWAPS, *_ANY_CALL)


@cache
def signatures_by_selector() -> Mapping[str, str]:
    """The signature behind a selector: every function of this repository's contracts, and the
    well-known ones of others'.
    """
    ours = (
        entry.signature
        for contract in (*CONTRACTS, *ALSO_KNOWN)
        for entry in functions(contract).values()
    )
    return {
        hex_of(keccak(text=signature)[:SELECTOR_BYTES]): signature
        for signature in (*WELL_KNOWN, *ours)
    }
