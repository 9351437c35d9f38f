// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {CustodyAdapter} from "../../../contracts/adapters/CustodyAdapter.sol";
import "./Test.sol";

/// @notice A mandate and the adapter that holds a venue's token for it.
abstract contract CustodyTest is Test {
    MandateVault internal vault;

    function _subject() internal view virtual returns (CustodyAdapter);

    function _addRulesOfSubject() internal {
        Rule[] memory list = _subject().rules();
        for (uint256 i; i < list.length; ++i) {
            _addRule(list[i].target, list[i].selector, list[i].recipientWord, list[i].kind);
        }
    }

    function _release() internal view returns (Call memory) {
        return Call(address(_subject()), 0, abi.encodeCall(CustodyAdapter.release, ()));
    }

    /// @dev By the owner.
    function _unwind(Call memory call_) internal {
        vm.prank(owner);
        vault.unwind(_batch(call_));
    }

    function _value() internal view returns (uint256) {
        return _subject().valueOf(address(vault));
    }

    function _units() internal view returns (uint256) {
        return _subject().positionOf(address(vault));
    }

    function _underMinOut(uint256 out, uint256 minOut) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(ErrorsLib.UnderMinOut.selector, out, minOut);
    }
}

/// @notice What `release` does, whatever the venue.
abstract contract CustodyReleaseTest is CustodyTest {
    /// @dev The agent's call that puts `amount` to work.
    function _enter(uint256 amount) internal view virtual returns (Call memory);

    /// @dev What the adapter holds.
    function _heldToken() internal view virtual returns (IERC20);

    /// @dev From now on the venue answers and pays nobody.
    function _breakVenue() internal virtual;

    function setUp() public virtual override {
        super.setUp();
        _execute(vault, _enter(100 * USD));
    }

    function test_release__while_the_mandate_works__reverts_for_agent_and_owner() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateWorking.selector));
        _execute(vault, _release());
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateWorking.selector));
        _unwind(_release());
    }

    function test_release__of_a_dead_venue__the_owner_withdraws_what_is_held() public {
        uint256 held = _units();
        _breakVenue();
        _stop(vault);
        _unwind(_release());
        vm.prank(owner);
        vault.withdraw(address(_heldToken()), owner, held);

        vm.assertLt(0, held);
        assertEq(_heldToken().balanceOf(owner), held);
        assertEq(_units(), 0);
        assertEq(_value(), 0);
    }

    function test_release__of_a_settled_mandate__hands_over_what_is_held() public {
        uint256 held = _units();
        vm.warp(terms.endsAt + 1 days);
        vault.settle();
        _unwind(_release());

        assertEq(_heldToken().balanceOf(address(vault)), held);
    }

    function test_release__twice__reverts() public {
        _stop(vault);
        _unwind(_release());
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        _unwind(_release());
    }

    function test_release__leaves_another_vaults_units() public {
        terms.nonce += 1;
        MandateVault other = _createWorking();
        _execute(other, _enter(50 * USD));
        uint256 theirs = _subject().positionOf(address(other));
        _stop(vault);
        _unwind(_release());

        assertEq(_subject().positionOf(address(other)), theirs);
        assertEq(_heldToken().balanceOf(address(_subject())), theirs);
    }

    function test_release__by_anyone_without_a_position__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        vm.prank(thief);
        _subject().release();
    }
}
