// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract ERC1271WalletTest is Test {
    ERC1271Wallet internal wallet;

    function setUp() public override {
        super.setUp();
        wallet = new ERC1271Wallet(owner);
    }

    function test_isValidSignature__the_owners__is_the_magic_value() public view {
        bytes32 hash = keccak256("hash");
        assertEq(bytes32(wallet.isValidSignature(hash, _sign(OWNER_KEY, hash))), bytes32(bytes4(0x1626ba7e)));
        assertEq(bytes32(wallet.isValidSignature(hash, _sign(STRANGER_KEY, hash))), bytes32(bytes4(0xffffffff)));
        assertEq(bytes32(wallet.isValidSignature(hash, "")), bytes32(bytes4(0xffffffff)));
    }

    function test_execute__owner__calls_as_the_wallet() public {
        usdc.mint(address(wallet), 5);
        vm.prank(owner);
        wallet.execute(address(usdc), abi.encodeCall(usdc.transfer, (stranger, 5)));
        assertEq(usdc.balanceOf(stranger), 5);
    }

    function test_execute__others__revert() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOwner.selector, stranger));
        vm.prank(stranger);
        wallet.execute(address(usdc), "");
    }
}
