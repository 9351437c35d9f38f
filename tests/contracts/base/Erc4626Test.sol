// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {Erc4626Adapter} from "../../../contracts/adapters/Erc4626Adapter.sol";
import {FaultyPool} from "../../../contracts/mocks/FaultyPool.sol";
import "./CustodyTest.sol";

/// @notice A mandate that may lend through a pool in which a stranger has 1,000 USDC. The adapter takes no exit fee off,
/// lets a value grow by 20 % a year, and a working mandate lose 0.5 % by entering or leaving. The mandate runs two years.
abstract contract Erc4626Test is CustodyTest {
    uint256 internal constant GROWTH_BPS = 2_000;
    uint256 internal constant LOSS_BPS = 50;
    uint256 internal constant SHARES = 1e6; // of a base unit of USDC, at first

    FaultyPool internal pool;
    Erc4626Adapter internal lending;

    function setUp() public virtual override {
        super.setUp();
        terms.endsAt = NOW + 730 days;
        _usePool("FaultyPool.sol");
    }

    /// @dev A pool of that kind, its adapter, and a mandate for it.
    function _usePool(string memory artifact) internal {
        pool = FaultyPool(vm.deployCode(artifact, abi.encode(address(usdc))));
        lending = _deployAdapter(0);
        _clearRules();
        _addRulesOfSubject();
        terms.nonce += 1;
        vault = _createWorking();
        usdc.mint(stranger, BUDGET);
        vm.startPrank(stranger);
        usdc.approve(address(pool), BUDGET);
        pool.deposit(BUDGET, stranger);
        vm.stopPrank();
    }

    function _deployAdapter(uint256 exitFeeBps) internal returns (Erc4626Adapter made) {
        made = Erc4626Adapter(vm.deployCode("Erc4626Adapter.sol", _arguments(address(pool), exitFeeBps, LOSS_BPS)));
        vm.prank(admin);
        factory.listAdapter(address(made));
    }

    function _arguments(address pool_, uint256 exitFeeBps, uint256 lossBps) internal view returns (bytes memory) {
        return abi.encode(address(factory), pool_, exitFeeBps, GROWTH_BPS, lossBps);
    }

    function _deposit(uint256 amount, uint256 minShares) internal view returns (Call memory) {
        return Call(address(lending), amount, abi.encodeCall(Erc4626Adapter.deposit, (amount, minShares)));
    }

    function _redeem(uint256 shares, uint256 minUsdc) internal view returns (Call memory) {
        return Call(address(lending), 0, abi.encodeCall(Erc4626Adapter.redeem, (shares, minUsdc)));
    }

    function _lend(uint256 amount) internal {
        _execute(vault, _deposit(amount, 0));
    }

    function _subject() internal view override returns (CustodyAdapter) {
        return lending;
    }
}
