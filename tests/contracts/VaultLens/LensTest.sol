// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {Outcome, LensBlock, LensPosition, LensReading, VaultLens} from "../../../contracts/lenses/VaultLens.sol";
import "../base/Test.sol";

/// @notice A lens of the house's factory, and what each vault says of itself beside it.
abstract contract LensTest is Test {
    VaultLens internal lens;

    function setUp() public virtual override {
        super.setUp();
        lens = VaultLens(vm.deployCode("VaultLens.sol", abi.encode(address(factory))));
    }

    function _another() internal returns (MandateVault vault) {
        terms.nonce += 1;
        return _createWorking();
    }

    /// @dev A mandate of one adapter of its own, which a test may break.
    function _vaultOf(uint256 adapters) internal returns (MandateVault vault, address first) {
        _clearRules();
        for (uint256 i; i < adapters; ++i) {
            MockRelayAdapter made = new MockRelayAdapter(address(usdc));
            vm.prank(admin);
            factory.listAdapter(address(made));
            _addRule(address(made), MockRelayAdapter.take.selector, NO_PIN, KIND_VALUED_SPEND);
        }
        vault = _another();
        for (uint256 i; i < adapters; ++i) {
            MockRelayAdapter(rules[i].target).setValue(address(vault), i + 1);
        }
        first = rules[0].target;
    }

    function _list(address one) internal pure returns (address[] memory vaults) {
        vaults = new address[](1);
        vaults[0] = one;
    }

    function _list(address one, address two, address three) internal pure returns (address[] memory vaults) {
        vaults = new address[](3);
        (vaults[0], vaults[1], vaults[2]) = (one, two, three);
    }

    function _readings(address[] memory vaults) internal view returns (LensReading[] memory found) {
        (, found) = lens.readings(vaults);
    }

    /// @dev With the gas that a node gives to a call.
    function _alone(address vault) internal view returns (LensReading memory) {
        (, LensReading[] memory found) = lens.readings{gas: 50_000_000}(_list(vault));
        return found[0];
    }

    /// @dev What the vault's own views say, in this block.
    function _own(MandateVault vault) internal view returns (LensReading memory reading) {
        reading.outcome = Outcome.Valued;
        reading.status = vault.status();
        reading.agent = vault.agent();
        (reading.worth, reading.unvaluedOut) = vault.worth();
        (,, reading.ownCash,) = vault.remaining();
        reading.feeOwed = vault.feeOwed();
        reading.logHead = vault.logHead();
    }

    function _assertUnvalued(LensReading memory reading, MandateVault vault) internal view {
        LensReading memory wanted;
        wanted.outcome = Outcome.Unvalued;
        wanted.status = vault.status();
        wanted.agent = vault.agent();
        wanted.unvaluedOut = vault.totals().unvaluedOut;
        (,, wanted.ownCash,) = vault.remaining();
        wanted.feeOwed = vault.feeOwed();
        wanted.logHead = vault.logHead();
        _assertSame(reading, wanted);
    }

    function _assertOutcome(LensReading memory reading, Outcome outcome) internal pure {
        LensReading memory wanted;
        wanted.outcome = outcome;
        _assertSame(reading, wanted);
    }

    function _assertSame(LensReading memory found, LensReading memory wanted) internal pure {
        assertEq(uint256(found.outcome), uint256(wanted.outcome));
        assertEq(found.status, wanted.status);
        assertEq(found.agent, wanted.agent);
        assertEq(found.worth, wanted.worth);
        assertEq(found.unvaluedOut, wanted.unvaluedOut);
        assertEq(found.ownCash, wanted.ownCash);
        assertEq(found.feeOwed, wanted.feeOwed);
        assertEq(found.logHead, wanted.logHead);
    }
}
