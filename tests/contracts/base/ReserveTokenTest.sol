// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {ReserveToken} from "../../../contracts/ReserveToken.sol";
import {FreezableUSDC} from "../../../contracts/mocks/FreezableUSDC.sol";
import "./Test.sol";

/// @notice The two cheatcodes that tell where a contract will be created.
interface VmCreate {
    function computeCreateAddress(address deployer, uint256 nonce) external pure returns (address);
    function getNonce(address account) external view returns (uint64);
}

/// @notice The reserve token, seeded by the test itself: 1 USDC against 100 tokens, a price of 0.01 USDC.
abstract contract ReserveTokenTest is Test {
    uint256 internal constant ONE = 1e18;
    uint256 internal constant SEED = 100e18;
    address internal constant BURNED = 0x000000000000000000000000000000000000dEaD;

    ReserveToken internal token;
    address internal treasury = address(0x7EA5);

    function setUp() public virtual override {
        super.setUp();
        token = _deployToken();
        vm.prank(owner);
        usdc.approve(address(token), type(uint256).max);
    }

    /// @dev The same house and token, with a USDC that can freeze accounts.
    function _deployWithFreezableUSDC() internal {
        _deployHouse("FreezableUSDC.sol");
        token = _deployToken();
        vm.prank(owner);
        usdc.approve(address(token), type(uint256).max);
    }

    function _freeze(address account, bool frozen) internal {
        FreezableUSDC(address(usdc)).setFrozen(account, frozen);
    }

    function _deployToken() internal returns (ReserveToken) {
        _allowSeed();
        return ReserveToken(vm.deployCode("ReserveToken.sol", _arguments(address(usdc), treasury)));
    }

    /// @dev Allows the address that the token will have. Under isolation each of the two approvals is a transaction
    /// that takes a nonce of this contract first.
    function _allowSeed() internal {
        VmCreate create = VmCreate(address(vm));
        usdc.mint(address(this), USD);
        uint256 nonce = create.getNonce(address(this));
        usdc.approve(create.computeCreateAddress(address(this), nonce), USD);
        usdc.approve(create.computeCreateAddress(address(this), nonce + 2), USD);
    }

    function _arguments(address usdc_, address treasury_) internal view returns (bytes memory) {
        return _arguments(usdc_, admin, pauser, treasury_);
    }

    function _arguments(address usdc_, address admin_, address pauser_, address treasury_)
        internal
        pure
        returns (bytes memory)
    {
        return abi.encode(usdc_, uint48(3 days), admin_, pauser_, treasury_);
    }

    function _bought(uint256 amountUsdc) internal returns (uint256 out) {
        vm.prank(owner);
        out = token.buy(amountUsdc, 0, owner);
    }

    /// @dev Until nothing is locked.
    function _unlock() internal {
        vm.warp(block.timestamp + 24 hours);
    }

    function _lockedNow() internal view returns (uint256 amountUsdc) {
        (amountUsdc,) = token.locked();
    }

    function _insufficientBalance(address holder, uint256 held, uint256 needed) internal pure returns (bytes memory) {
        return abi.encodeWithSignature("ERC20InsufficientBalance(address,uint256,uint256)", holder, held, needed);
    }

    function _missingRole(address account, bytes32 role) internal pure returns (bytes memory) {
        return abi.encodeWithSignature("AccessControlUnauthorizedAccount(address,bytes32)", account, role);
    }
}
