// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./LensTest.sol";
import {Impostor} from "./HostileCode.sol";

/// @dev One address of three is hostile. The other two are read as if it were not there.
contract LensHostileTest is LensTest {
    MandateVault internal first;
    MandateVault internal last;

    function setUp() public override {
        super.setUp();
        first = _createWorking();
        last = _another();
    }

    function _code(string memory name) private view returns (bytes memory) {
        return vm.getDeployedCode(string.concat("HostileCode.sol:", name));
    }

    function _between(address odd) private view returns (LensReading memory) {
        LensReading[] memory found = _readings(_list(address(first), odd, address(last)));
        assertEq(found.length, 3);
        _assertSame(found[0], _own(first));
        _assertSame(found[2], _own(last));
        return found[1];
    }

    function test_answers__an_adapter_that_fails_in_any_way__leave_all_but_the_worth() public {
        string[5] memory failing = ["RevertingCode", "BurningCode", "LongRevert", "ShortAnswer", "HugeAnswer"];
        (MandateVault vault, address broken) = _vaultOf(1);
        for (uint256 i; i <= failing.length; ++i) {
            vm.etch(broken, i == failing.length ? bytes("") : _code(failing[i]));
            _assertUnvalued(_between(address(vault)), vault);
            _assertUnvalued(_alone(address(vault)), vault);
            (, LensPosition[] memory found) = lens.positions(_list(address(first), address(vault), address(last)));
            _assertUnvalued(found[1].reading, vault);
            assertEq(found[1].balance, BUDGET);
            assertEq(found[1].totals.deposited, BUDGET);
            _assertSame(found[2].reading, _own(last));
        }
    }

    /// @dev The first word of a longer answer is the value, as it is for the vault's own stop; copying the rest is dear.
    function test_readings__an_adapter_that_answers_a_megabyte__is_valued_alone_only() public {
        (MandateVault vault, address broken) = _vaultOf(1);
        vm.etch(broken, _code("LongAnswer"));
        _assertUnvalued(_between(address(vault)), vault);
        _assertSame(_alone(address(vault)), _own(vault));
    }

    function test_readings__thirty_two_adapters__are_valued_among_others_and_dear_ones_alone() public {
        (MandateVault vault,) = _vaultOf(32);
        LensReading memory found = _between(address(vault));
        _assertSame(found, _own(vault));
        assertEq(found.worth, BUDGET + 32 * 33 / 2);
        for (uint256 i; i < 32; ++i) {
            vm.etch(rules[i].target, _code("DearCode"));
        }
        _assertUnvalued(_between(address(vault)), vault);
        assertEq(_alone(address(vault)).worth, BUDGET + 32 * 5);
    }

    function test_readings__what_is_not_a_vault_of_the_factory__is_not_read() public {
        _assertOutcome(_between(thief), Outcome.NoVault);
        _assertOutcome(_between(address(0)), Outcome.NoVault);
        address[4] memory foreign = [
            address(usdc),
            factory.implementation(),
            address(new Impostor(first.termsDigest())),
            address(_vaultOfAnotherFactory())
        ];
        for (uint256 i; i < foreign.length; ++i) {
            _assertOutcome(_between(foreign[i]), Outcome.Unread);
            (, LensPosition[] memory found) = lens.positions(_list(foreign[i]));
            _assertOutcome(found[0].reading, Outcome.Unread);
            assertEq(found[0].totals.deposited, 0);
        }
        string[6] memory codes =
            ["RevertingCode", "BurningCode", "LongAnswer", "LongRevert", "ShortAnswer", "HugeAnswer"];
        for (uint256 i; i < codes.length; ++i) {
            vm.etch(thief, _code(codes[i]));
            _assertOutcome(_between(thief), Outcome.Unread);
            _assertOutcome(_alone(thief), Outcome.Unread);
        }
    }

    function _vaultOfAnotherFactory() private returns (MandateVault vault) {
        MandateVaultFactory ours = factory;
        Offices memory offices =
            Offices({admin: admin, pauser: pauser, keeperAdmin: keeperAdmin, keeper: keeper, guard: guard});
        factory = MandateVaultFactory(
            vm.deployCode("MandateVaultFactory.sol", abi.encode(address(usdc), uint48(3 days), offices))
        );
        _clearRules();
        _addRule(address(hostile), HostileVenue.take.selector, NO_PIN, KIND_SPEND);
        vault = _another();
        factory = ours;
    }
}
