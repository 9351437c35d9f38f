// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/UniswapV3Test.sol";

contract ReleaseTest is UniswapV3Test, CustodyReleaseTest {
    function setUp() public override(UniswapV3Test, CustodyReleaseTest) {
        CustodyReleaseTest.setUp();
    }

    function _enter(uint256 amount) internal view override returns (Call memory) {
        return _swapIn(amount, 0);
    }

    function _heldToken() internal view override returns (IERC20) {
        return token;
    }

    function _breakVenue() internal override {
        vm.etch(address(pool), "");
    }
}
