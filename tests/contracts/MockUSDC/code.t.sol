// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/USDCTest.sol";

/// @notice The code is copied to the test network's USDC address on local chains, without any storage.
contract CodeTest is USDCTest {
    address internal constant BASE_SEPOLIA_USDC = 0x036CbD53842c5426634e7929541eC2318f3dCF7e;

    function _domainAt(address at) private view returns (bytes32) {
        return keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("USDC"),
                keccak256("2"),
                block.chainid,
                at
            )
        );
    }

    function test_code__names_itself_as_usdc() public view {
        assertEq(usdc.name(), "USDC");
        assertEq(usdc.symbol(), "USDC");
        assertEq(usdc.version(), "2");
        assertEq(uint256(usdc.decimals()), 6);
        assertEq(usdc.DOMAIN_SEPARATOR(), _domainAt(address(usdc)));
    }

    function test_code__copied_to_another_address__works_under_that_addresss_domain() public {
        vm.etch(BASE_SEPOLIA_USDC, address(usdc).code);
        usdc = MockUSDC(BASE_SEPOLIA_USDC);
        assertEq(usdc.name(), "USDC");
        assertEq(usdc.symbol(), "USDC");
        assertEq(usdc.version(), "2");
        assertEq(uint256(usdc.decimals()), 6);
        assertEq(usdc.totalSupply(), 0);
        assertEq(usdc.DOMAIN_SEPARATOR(), _domainAt(BASE_SEPOLIA_USDC));

        usdc.mint(owner, 5);
        bytes memory signature = _signAs(OWNER_KEY, usdc.TRANSFER_WITH_AUTHORIZATION_TYPEHASH(), owner, thief, 5);
        usdc.transferWithAuthorization(owner, thief, 5, NOW - 1, BEFORE, NONCE, signature);
        assertEq(usdc.balanceOf(thief), 5);
    }

    function test_mint__anyone__makes_usdc() public {
        vm.prank(stranger);
        usdc.mint(stranger, 7);
        assertEq(usdc.balanceOf(stranger), 7);
    }
}
