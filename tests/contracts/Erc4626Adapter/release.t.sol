// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Erc4626Test.sol";

contract ReleaseTest is Erc4626Test, CustodyReleaseTest {
    function setUp() public override(Erc4626Test, CustodyReleaseTest) {
        CustodyReleaseTest.setUp();
    }

    function _enter(uint256 amount) internal view override returns (Call memory) {
        return _deposit(amount, 0);
    }

    function _heldToken() internal view override returns (IERC20) {
        return pool;
    }

    function _breakVenue() internal override {
        pool.setPaused(true);
        pool.setSilent(true);
    }
}
