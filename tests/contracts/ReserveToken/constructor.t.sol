// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/ReserveTokenTest.sol";

contract ConstructorTest is ReserveTokenTest {
    function test_constructor__seeds_one_usdc_against_a_hundred_tokens_of_nobody() public view {
        assertEq(token.reserve(), USD);
        assertEq(token.treasuryOwed(), 0);
        assertEq(_lockedNow(), 0);
        assertEq(usdc.balanceOf(address(token)), USD);
        assertEq(token.totalSupply(), SEED);
        assertEq(token.balanceOf(BURNED), SEED);
        assertEq(token.redeemPrice(), 10_000);
        assertEq(token.buyPrice(), 10_200);
        assertEq(uint256(token.decimals()), 18);
    }

    function test_constructor__gives_the_offices() public view {
        assertEq(token.defaultAdmin(), admin);
        assertTrue(token.hasRole(token.PAUSER_ROLE(), pauser));
        assertEq(token.treasury(), treasury);
        assertEq(token.usdc(), address(usdc));
    }

    function test_constructor__without_the_seed__reverts() public {
        bytes memory arguments = _arguments(address(usdc), treasury);
        address next = _next();
        vm.expectRevert(
            abi.encodeWithSignature("ERC20InsufficientAllowance(address,uint256,uint256)", next, uint256(0), USD)
        );
        _create("ReserveToken.sol", arguments);
        assertEq(next.code.length, 0);
    }

    function test_constructor__usdc_without_code__reverts() public {
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, thief));
        _create("ReserveToken.sol", _arguments(thief, treasury));
    }

    function test_constructor__treasury_that_nobody_could_use__reverts() public {
        address[4] memory refused = [address(0), address(usdc), BURNED, address(0)];
        for (uint256 i; i < refused.length; ++i) {
            // The last is the token itself. A creation that fails takes an address too.
            if (i == 3) refused[i] = _next();
            vm.expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, refused[i]));
            _create("ReserveToken.sol", _arguments(address(usdc), refused[i]));
        }
    }

    function test_constructor__zero_pauser__reverts() public {
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(0)));
        _create("ReserveToken.sol", _arguments(address(usdc), admin, address(0), treasury));
    }

    function test_constructor__zero_admin__reverts() public {
        vm.expectRevert(abi.encodeWithSignature("AccessControlInvalidDefaultAdmin(address)", address(0)));
        _create("ReserveToken.sol", _arguments(address(usdc), address(0), pauser, treasury));
    }

    /// @dev Where the next contract of this test will be.
    function _next() private view returns (address) {
        VmCreate create = VmCreate(address(vm));
        return create.computeCreateAddress(address(this), create.getNonce(address(this)));
    }
}
