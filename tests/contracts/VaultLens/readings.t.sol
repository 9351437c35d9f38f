// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./LensTest.sol";

contract LensReadingsTest is LensTest {
    function test_constructor__is_of_a_factory__and_of_no_account() public {
        assertEq(address(lens.FACTORY()), address(factory));
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, thief));
        new VaultLens(MandateVaultFactory(thief));
    }

    function test_readings__the_block__is_the_one_that_the_call_runs_in() public {
        vm.roll(BLOCK + 7);
        vm.warp(NOW + 14);
        (LensBlock memory seen, LensReading[] memory found) = lens.readings(new address[](0));
        assertEq(seen.number, BLOCK + 7);
        assertEq(seen.time, NOW + 14);
        assertEq(seen.parentHash, blockhash(BLOCK + 6));
        assertTrue(seen.parentHash != 0);
        assertEq(found.length, 0);
    }

    function test_readings__the_block__counts_the_factorys_vaults_and_no_others() public {
        (LensBlock memory seen,) = lens.readings(new address[](0));
        assertEq(seen.vaultCount, 0);
        _createWorking();
        _another();
        (seen,) = lens.readings(new address[](0));
        assertEq(seen.vaultCount, 2);
        assertEq(seen.vaultCount, factory.vaultCount());
    }

    function test_readings__of_vaults_that_differ__are_what_each_says_in_the_order_asked() public {
        MandateVault traded = _createWorking();
        _execute(traded, _buy(90 * USD));
        _execute(traded, _take(40 * USD));
        vm.prank(operator);
        venue.setPrice(2 * USD);
        _execute(traded, _sell(50 * USD));
        MandateVault stopped = _another();
        _stop(stopped);
        terms.nonce += 1;
        MandateVault empty = _createEmpty();

        LensReading[] memory found = _readings(_list(address(stopped), address(traded), address(empty)));
        assertEq(found.length, 3);
        _assertSame(found[0], _own(stopped));
        _assertSame(found[1], _own(traded));
        _assertSame(found[2], _own(empty));
        assertEq(found[0].status, Status.Stopped);
        assertEq(found[0].agent, address(0));
        assertEq(found[1].worth, 1_090 * USD);
        assertEq(found[1].unvaluedOut, 40 * USD);
        assertEq(found[1].ownCash, 970 * USD);
        assertEq(found[2].status, Status.Funding);
        assertEq(found[2].logHead, empty.termsDigest());

        found = _readings(_list(address(traded), address(traded), address(traded)));
        _assertSame(found[2], _own(traded));
    }

    function test_readings__fees_and_withdrawals__leave_own_cash_as_the_vault_has_it() public {
        MandateVault vault = _createWorking();
        _execute(vault, _buy(100 * USD));
        vm.prank(operator);
        venue.setPrice(2 * USD);
        _execute(vault, _sell(100 * USD));
        assertEq(_alone(address(vault)).feeOwed, 10 * USD);
        _stop(vault);
        vm.startPrank(owner);
        vault.settle();
        assertEq(_alone(address(vault)).feeOwed, 0);
        assertEq(_alone(address(vault)).ownCash, 1_090 * USD);
        vault.withdraw(address(usdc), owner, 90 * USD);
        assertEq(_alone(address(vault)).ownCash, 1_000 * USD);
        usdc.mint(address(vault), 5 * USD);
        vault.withdraw(address(usdc), owner, 1_005 * USD);
        assertEq(_alone(address(vault)).ownCash, 0);
        _assertSame(_alone(address(vault)), _own(vault));
    }

    /// @dev Whatever a mandate lived through, the lens says what the vault says in the same block.
    function testFuzz_readings__any_life__are_the_vaults_own_views(uint256 seed) public {
        MandateVault vault = _createWorking();
        uint256 held;
        for (uint256 i; i < 8; ++i) {
            seed = uint256(keccak256(abi.encode(seed)));
            uint256 amount = 1 + (seed >> 8) % (30 * USD);
            uint256 move = seed % 8;
            if (vault.status() != Status.Working) break;
            if (move == 0) {
                _execute(vault, _take(amount));
            } else if (move == 1) {
                _execute(vault, _give(amount));
            } else if (move == 2) {
                usdc.mint(address(vault), amount);
            } else if (move == 3) {
                vm.prank(operator);
                venue.setPrice(1 + (seed >> 8) % (3 * USD));
            } else if (move == 4 && held != 0) {
                _execute(vault, _sell(held / 2 + 1));
            } else if (move == 5) {
                vm.prank(keeper);
                vault.mark();
            } else if (move == 6 && i > 5) {
                _stop(vault);
                vm.prank(owner);
                vault.withdraw(address(usdc), owner, amount);
            } else {
                _execute(vault, _buy(amount));
            }
            held = adapter.positionOf(address(vault));
            vm.roll(block.number + 1);
            vm.warp(block.timestamp + 2);
        }
        _assertSame(_alone(address(vault)), _own(vault));
        (, LensPosition[] memory found) = lens.positions(_list(address(vault)));
        _assertSame(found[0].reading, _own(vault));
        assertEq(keccak256(abi.encode(found[0].totals)), keccak256(abi.encode(vault.totals())));
        assertEq(found[0].balance, usdc.balanceOf(address(vault)));
        assertEq(found[0].stoppedAt, vault.stoppedAt());
        assertEq(found[0].payee, vault.payee());
    }
}
