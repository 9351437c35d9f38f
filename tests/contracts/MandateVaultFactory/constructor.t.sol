// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract ConstructorTest is Test {
    function _offices() private view returns (Offices memory) {
        return Offices({admin: admin, pauser: pauser, keeperAdmin: keeperAdmin, keeper: keeper, guard: guard});
    }

    function test_constructor__offices_and_parts_stand() public view {
        assertEq(factory.usdc(), address(usdc));
        assertTrue(factory.implementation().code.length != 0);
        assertEq(factory.keeper(), keeper);
        assertEq(factory.guard(), guard);
        assertEq(factory.defaultAdmin(), admin);
        assertEq(uint256(factory.defaultAdminDelay()), 3 days);
        assertTrue(factory.isPauser(pauser));
        assertFalse(factory.isPauser(admin));
        assertTrue(factory.hasRole(factory.KEEPER_ADMIN_ROLE(), keeperAdmin));
        assertFalse(factory.paused());
        (address proposed, uint64 eta) = factory.pendingKeeper();
        assertEq(proposed, address(0));
        assertEq(uint256(eta), 0);
    }

    function test_constructor__names_the_first_keeper_and_guard_in_the_log() public {
        vm.recordLogs();
        new MandateVaultFactory(address(usdc), 0, _offices());
        Vm.Log[] memory logs = vm.getRecordedLogs();
        Vm.Log memory keeperLog = logs[logs.length - 2];
        assertEq(keeperLog.topics[0], EventsLib.KeeperChanged.selector);
        assertEq(keeperLog.topics[2], bytes32(uint256(uint160(keeper))));
        Vm.Log memory guardLog = logs[logs.length - 1];
        assertEq(guardLog.topics[0], EventsLib.GuardChanged.selector);
        assertEq(guardLog.topics[2], bytes32(uint256(uint160(guard))));
    }

    function test_constructor__token_without_code__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, stranger));
        new MandateVaultFactory(stranger, 0, _offices());
    }

    function test_constructor__without_pauser__reverts() public {
        Offices memory offices = _offices();
        offices.pauser = address(0);
        _expectNobodyIsRefused(offices);
    }

    function test_constructor__without_keeper_admin__reverts() public {
        Offices memory offices = _offices();
        offices.keeperAdmin = address(0);
        _expectNobodyIsRefused(offices);
    }

    function test_constructor__without_keeper__reverts() public {
        Offices memory offices = _offices();
        offices.keeper = address(0);
        _expectNobodyIsRefused(offices);
    }

    function test_constructor__without_guard__reverts() public {
        Offices memory offices = _offices();
        offices.guard = address(0);
        _expectNobodyIsRefused(offices);
    }

    /// Once a test: where tests are linked dynamically (tests/mutants/judge.py), a refused creation ends the test.
    function _expectNobodyIsRefused(Offices memory offices) private {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, address(0)));
        new MandateVaultFactory(address(usdc), 0, offices);
    }
}
