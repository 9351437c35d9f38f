// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./AdapterConformance.sol";

/// @dev What is paid is gone. Anyone pays through it who has the guard's signature.
contract X402AdapterConformanceTest is AdapterConformance {
    uint256 private _nonces;

    function test_conformance__X402Adapter() public {
        _conforms();
    }

    function _subject() internal view override returns (IAdapter) {
        return x402;
    }

    function _holdsPositions() internal pure override returns (bool) {
        return false;
    }

    /// @dev A unit each time, since a cost lowers the worth.
    function _open(MandateVault of_, uint256) internal override {
        _execute(of_, Call(address(x402), 1, _payment(address(of_), 1)));
    }

    function _push(address who, uint256 loan) internal override {
        vm.prank(who);
        usdc.approve(address(x402), loan);
        bytes memory data = _payment(who, loan);
        vm.prank(who);
        (bool passed,) = address(x402).call(data);
        assertTrue(passed);
    }

    function _undo(address who) internal override {
        vm.prank(stranger);
        usdc.transfer(who, USD);
    }

    function _payment(address from, uint256 amount) private returns (bytes memory) {
        bytes32 nonce = bytes32(++_nonces);
        uint64 deadline = uint64(block.timestamp);
        bytes memory signature =
            _sign(GUARD_KEY, x402.paymentDigest(from, stranger, amount, "resource", nonce, deadline));
        return abi.encodeCall(X402Adapter.pay, (stranger, amount, "resource", nonce, deadline, signature));
    }

    function _accounts() internal view override returns (address[] memory list) {
        list = new address[](1);
        list[0] = address(x402);
    }
}
