// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract CancelTermsTest is Test {
    function test_cancelTerms__owner__is_final() public {
        bytes32 digest = _digest();
        _expectEmit(address(factory));
        emit EventsLib.TermsCancelled(digest, owner);
        vm.prank(owner);
        factory.cancelTerms(terms);
        assertTrue(factory.isCancelled(digest));
    }

    function test_cancelTerms__others__revert() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOwner.selector, stranger));
        vm.prank(stranger);
        factory.cancelTerms(terms);
    }

    function test_cancelTerms__twice__reverts() public {
        bytes32 digest = _digest();
        vm.startPrank(owner);
        factory.cancelTerms(terms);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.TermsWereCancelled.selector, digest));
        factory.cancelTerms(terms);
    }

    function test_cancelTerms__of_a_vault__reverts() public {
        address vault = address(_createEmpty());
        _expectRevert(abi.encodeWithSelector(ErrorsLib.VaultExists.selector, vault));
        vm.prank(owner);
        factory.cancelTerms(terms);
    }

    function test_cancelTerms__while_paused__passes() public {
        vm.prank(pauser);
        factory.pause();
        vm.prank(owner);
        factory.cancelTerms(terms);
        assertTrue(factory.isCancelled(_digest()));
    }

    function test_cancelTerms__leaves_other_terms_alone() public {
        vm.prank(owner);
        factory.cancelTerms(terms);
        terms.nonce = 2;
        assertFalse(factory.isCancelled(_digest()));
        _createEmpty();
    }
}
