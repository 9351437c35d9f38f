// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

/// @notice A mandate of as many rules as there can be, each of another adapter that values positions.
contract ThirtyTwoAdaptersTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        _clearRules();
        for (uint256 i; i < 32; ++i) {
            MockRelayAdapter made = new MockRelayAdapter(address(usdc));
            vm.prank(admin);
            factory.listAdapter(address(made));
            _addRule(address(made), MockRelayAdapter.take.selector, NO_PIN, KIND_VALUED_SPEND);
        }
        vault = _createWorking();
        for (uint256 i; i < 32; ++i) {
            MockRelayAdapter(rules[i].target).setValue(address(vault), i + 1);
        }
    }

    function _gasOf(address who, bytes memory data) private returns (uint256 used) {
        vm.prank(who);
        (bool passed,) = address(vault).call(data);
        assertTrue(passed);
        used = vm.lastCallGas().gasTotalUsed;
    }

    function test_mark__thirty_two_adapters__asks_each_and_fits_into_a_block_many_times() public {
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Marked(BUDGET + 32 * 33 / 2, 0);
        vm.assertLt(_gasOf(keeper, abi.encodeCall(vault.mark, ())), 400_000);
    }

    function test_stop__thirty_two_adapters__asks_none() public {
        for (uint256 i; i < 32; ++i) {
            vm.mockCallRevert(rules[i].target, abi.encodeCall(relay.valueOf, (address(vault))), "down");
        }
        vm.assertLt(_gasOf(agent, abi.encodeCall(vault.stop, ("enough"))), 45_000);
        bytes memory out = abi.encodeCall(vault.withdraw, (address(usdc), owner, BUDGET));
        vm.assertLt(_gasOf(owner, out), 90_000);
        assertEq(usdc.balanceOf(address(vault)), 0);
    }
}
