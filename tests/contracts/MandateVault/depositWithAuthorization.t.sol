// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract DepositWithAuthorizationTest is Test {
    MandateVault internal vault;

    bytes32 internal constant SALT = "salt";

    function setUp() public override {
        super.setUp();
        vault = _createEmpty();
    }

    function _signedDeposit(uint256 amount) private view returns (bytes memory) {
        return _authorization(OWNER_KEY, owner, address(vault), amount, vault.depositNonce(owner, amount, SALT));
    }

    function test_depositWithAuthorization__anyone_submits_the_owners__deposits() public {
        bytes memory signature = _signedDeposit(BUDGET);
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Deposited(owner, BUDGET, BUDGET, BUDGET);
        vm.prank(stranger);
        vault.depositWithAuthorization(owner, BUDGET, 0, NOW + 1 hours, SALT, signature);

        assertEq(vault.status(), Status.Working);
        assertEq(usdc.balanceOf(owner), 9 * BUDGET);
    }

    function test_depositWithAuthorization__twice__reverts() public {
        bytes memory signature = _signedDeposit(1);
        vault.depositWithAuthorization(owner, 1, 0, NOW + 1 hours, SALT, signature);
        _expectRevert(abi.encodeWithSignature("Error(string)", "FiatTokenV2: authorization is used or canceled"));
        vault.depositWithAuthorization(owner, 1, 0, NOW + 1 hours, SALT, signature);
    }

    function test_depositWithAuthorization__other_amount_than_signed__reverts() public {
        bytes memory signature = _signedDeposit(2);
        _expectRevert(abi.encodeWithSignature("Error(string)", "FiatTokenV2: invalid signature"));
        vault.depositWithAuthorization(owner, 3, 0, NOW + 1 hours, SALT, signature);
    }

    function test_depositWithAuthorization__other_salt_than_signed__reverts() public {
        bytes memory signature = _signedDeposit(2);
        _expectRevert(abi.encodeWithSignature("Error(string)", "FiatTokenV2: invalid signature"));
        vault.depositWithAuthorization(owner, 2, 0, NOW + 1 hours, "other", signature);
    }

    function test_depositWithAuthorization__payer_is_not_the_owner__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOwner.selector, stranger));
        vault.depositWithAuthorization(stranger, 1, 0, NOW + 1 hours, SALT, "");
    }

    function test_depositWithAuthorization__above_the_budget__reverts() public {
        bytes memory signature = _signedDeposit(BUDGET + 1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverBudget.selector, BUDGET + 1, BUDGET));
        vault.depositWithAuthorization(owner, BUDGET + 1, 0, NOW + 1 hours, SALT, signature);
    }

    function test_depositWithAuthorization__while_working__reverts() public {
        vm.prank(owner);
        vault.deposit(BUDGET);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateFunded.selector, BUDGET));
        vault.depositWithAuthorization(owner, 1, 0, NOW + 1 hours, SALT, "");
    }

    function test_depositWithAuthorization__erc1271_owner__deposits() public {
        ERC1271Wallet wallet = new ERC1271Wallet(vm.addr(OWNER_KEY));
        usdc.mint(address(wallet), BUDGET);
        terms.owner = address(wallet);
        bytes memory consent = _sign(OWNER_KEY, _digest());
        vault = MandateVault(factory.createVault(terms, rules, consent, _noFunding()));

        bytes memory signature = _authorization(
            OWNER_KEY, address(wallet), address(vault), BUDGET, vault.depositNonce(address(wallet), BUDGET, SALT)
        );
        vault.depositWithAuthorization(address(wallet), BUDGET, 0, NOW + 1 hours, SALT, signature);
        assertEq(vault.status(), Status.Working);
    }

    function test_depositNonce__holds_chain_vault_payer_amount_and_salt() public {
        bytes32 nonce = vault.depositNonce(owner, 5, SALT);
        assertEq(nonce, keccak256(abi.encode(block.chainid, address(vault), owner, uint256(5), SALT)));
        vm.chainId(1);
        assertTrue(vault.depositNonce(owner, 5, SALT) != nonce);
    }
}
