// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./LensTest.sol";

/// @dev 300 vaults in one call, and what is left of them with less gas.
contract LensGasTest is LensTest {
    uint256 internal constant MANY = 300;

    address[] internal vaults;

    function setUp() public override {
        super.setUp();
        usdc.mint(owner, MANY * BUDGET);
        _clearRules();
        _addRule(address(adapter), TestVenueAdapter.buy.selector, NO_PIN, KIND_VALUED_SPEND);
        _addRule(address(adapter), TestVenueAdapter.sell.selector, NO_PIN, KIND_EXIT);
        _addRule(address(x402), X402Adapter.pay.selector, NO_PIN, KIND_COST);
        for (uint256 i; i < MANY; ++i) {
            vaults.push(address(_another()));
        }
        _execute(MandateVault(vaults[7]), _buy(100 * USD));
    }

    /// @dev Passed false: the call ran out of gas.
    function _with(uint256 gas_, bytes4 form) private view returns (bool passed, bytes memory answer) {
        return address(lens).staticcall{gas: gas_}(abi.encodeWithSelector(form, vaults));
    }

    function _counted(uint256 gas_) private view returns (uint256) {
        (bool passed, bytes memory answer) = _with(gas_, lens.readings.selector);
        assertTrue(passed);
        (, LensReading[] memory found) = abi.decode(answer, (LensBlock, LensReading[]));
        return found.length;
    }

    function test_answers__300_vaults__come_in_one_call_of_30_million_gas() public view {
        (bool passed, bytes memory answer) = _with(30_000_000, lens.positions.selector);
        assertTrue(passed);
        (, LensPosition[] memory positions) = abi.decode(answer, (LensBlock, LensPosition[]));
        assertEq(positions.length, MANY);
        (passed, answer) = _with(30_000_000, lens.readings.selector);
        assertTrue(passed);
        (, LensReading[] memory found) = abi.decode(answer, (LensBlock, LensReading[]));
        assertEq(found.length, MANY);
        for (uint256 i; i < MANY; ++i) {
            _assertSame(found[i], _own(MandateVault(vaults[i])));
            _assertSame(positions[i].reading, found[i]);
        }
    }

    function test_readings__little_gas__answers_the_first_or_none() public view {
        assertEq(_counted(1_500_000), 0);
        uint256 some = _counted(8_000_000);
        vm.assertLt(0, some);
        vm.assertLt(some, MANY);
    }

    /// @dev However much gas there is, what is answered is right, and it does not run out.
    function testFuzz_answers__any_gas__are_of_the_first_and_right(uint256 gas_) public view {
        gas_ = 1_000_000 + gas_ % 25_000_000;
        (bool passed, bytes memory answer) = _with(gas_, lens.readings.selector);
        assertTrue(passed);
        (, LensReading[] memory found) = abi.decode(answer, (LensBlock, LensReading[]));
        if (found.length > 7) _assertSame(found[7], _own(MandateVault(vaults[7])));
        for (uint256 i; i < found.length; ++i) {
            assertEq(found[i].logHead, MandateVault(vaults[i]).logHead());
        }
        (passed, answer) = _with(gas_, lens.positions.selector);
        assertTrue(passed);
        LensPosition[] memory positions;
        (, positions) = abi.decode(answer, (LensBlock, LensPosition[]));
        for (uint256 i; i < positions.length; ++i) {
            assertEq(uint256(positions[i].reading.outcome), uint256(Outcome.Valued));
        }
    }

    /// @dev Twenty vaults whose adapter burns what it gets cost a million gas each, and the others nothing.
    function test_readings__twenty_that_burn__cost_what_each_may() public {
        (MandateVault burning, address broken) = _vaultOf(1);
        vm.etch(broken, vm.getDeployedCode("HostileCode.sol:BurningCode"));
        for (uint256 i; i < 20; ++i) {
            vaults[i] = address(burning);
        }
        (, bytes memory answer) = _with(50_000_000, lens.readings.selector);
        (, LensReading[] memory found) = abi.decode(answer, (LensBlock, LensReading[]));
        assertEq(found.length, MANY);
        assertEq(uint256(found[19].outcome), uint256(Outcome.Unvalued));
        assertEq(uint256(found[20].outcome), uint256(Outcome.Valued));
    }
}
