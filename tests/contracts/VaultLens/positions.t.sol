// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./LensTest.sol";

contract LensPositionsTest is LensTest {
    function test_positions__of_vaults_that_differ__are_what_each_says() public {
        MandateVault stopped = _createWorking();
        usdc.mint(address(stopped), 5);
        _execute(stopped, _buy(100 * USD));
        vm.prank(agent);
        stopped.setPayee(stranger);
        _stop(stopped);
        vm.prank(owner);
        stopped.withdraw(address(usdc), owner, 7 * USD);
        terms.agent = address(0);
        MandateVault open = _another();

        (LensBlock memory seen, LensPosition[] memory found) =
            lens.positions(_list(address(stopped), address(open), thief));
        assertEq(seen.number, BLOCK);
        _assertSame(found[0].reading, _own(stopped));
        _assertSame(found[1].reading, _own(open));
        _assertOutcome(found[2].reading, Outcome.NoVault);
        assertEq(found[0].payee, stranger);
        assertEq(found[0].stoppedAt, NOW);
        assertEq(found[0].balance, 893 * USD + 5);
        assertEq(found[0].totals.withdrawn, 7 * USD);
        assertEq(found[0].totals.nonce, 1);
        assertEq(keccak256(abi.encode(found[0].totals)), keccak256(abi.encode(stopped.totals())));
        assertEq(found[1].payee, address(0));
        assertEq(found[1].stoppedAt, 0);
        assertEq(found[1].balance, BUDGET);
        assertEq(found[2].balance, 0);
    }
}
