// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Erc4626Test.sol";

contract ConstructorTest is Erc4626Test {
    function test_constructor__what_is_fixed_can_be_read() public view {
        assertEq(address(lending.pool()), address(pool));
        assertEq(lending.exitFeeBps(), 0);
        assertEq(lending.maxGrowthBps(), GROWTH_BPS);
        assertEq(lending.maxLossBps(), LOSS_BPS);
    }

    function test_constructor__no_factory__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, stranger));
        _create("Erc4626Adapter.sol", abi.encode(stranger, address(pool), 0, GROWTH_BPS, LOSS_BPS));
    }

    function test_constructor__a_pool_of_another_token__reverts() public {
        address other = vm.deployCode("FaultyPool.sol", abi.encode(vm.deployCode("MockUSDC.sol")));
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, other));
        _create("Erc4626Adapter.sol", _arguments(other, 0, LOSS_BPS));
    }

    function test_constructor__a_pool_without_code__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, stranger));
        _create("Erc4626Adapter.sol", _arguments(stranger, 0, LOSS_BPS));
    }

    function test_constructor__all_as_a_fee_or_a_loss__reverts() public {
        _expectRevert(
            abi.encodeWithSelector(ErrorsLib.BadTerms.selector, bytes32("exitFeeBps"), uint256(10_000), uint256(9_999))
        );
        _create("Erc4626Adapter.sol", _arguments(address(pool), 10_000, LOSS_BPS));
        _expectRevert(
            abi.encodeWithSelector(ErrorsLib.BadTerms.selector, bytes32("maxLossBps"), uint256(10_000), uint256(9_999))
        );
        _create("Erc4626Adapter.sol", _arguments(address(pool), 0, 10_000));
    }
}
