// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {Erc6492Validator} from "../../../contracts/Erc6492Validator.sol";
import {ERC6492_MAGIC} from "../../../contracts/libraries/ConstantsLib.sol";
import {ERC1271WalletCreator} from "../../../contracts/mocks/ERC1271WalletCreator.sol";
import "../base/Test.sol";

/// @notice Remembers who called it.
contract Witness {
    address public caller;

    fallback() external {
        caller = msg.sender;
    }
}

/// @notice Owners whose wallet does not exist yet, and signatures that try to make somebody of rank call for them.
contract CreateVaultByUndeployedWalletTest is Test {
    ERC1271WalletCreator internal creator;
    address internal wallet;

    function setUp() public override {
        super.setUp();
        creator = ERC1271WalletCreator(vm.deployCode("ERC1271WalletCreator.sol"));
        wallet = creator.predict(owner);
        terms.owner = wallet;
    }

    function _wrapped(address target, bytes memory data, bytes memory inner) private pure returns (bytes memory) {
        return bytes.concat(abi.encode(target, data, inner), ERC6492_MAGIC);
    }

    function _creation() private view returns (bytes memory) {
        return abi.encodeCall(ERC1271WalletCreator.create, (owner));
    }

    function _signed(uint256 key) private view returns (bytes memory) {
        return _sign(key, _digest());
    }

    function _create(bytes memory signature) private returns (address) {
        vm.prank(stranger);
        return factory.createVault(terms, rules, signature, _noFunding());
    }

    function _expectNo(bytes memory signature) private {
        vm.prank(stranger);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.BadSignature.selector, wallet));
        factory.createVault(terms, rules, signature, _noFunding());
    }

    // ------------------------------------------------------------------ owners

    function test_create_vault__a_wallet_that_does_not_exist__is_created_and_asked() public {
        assertEq(wallet.code.length, 0);
        address vault = _create(_wrapped(address(creator), _creation(), _signed(OWNER_KEY)));
        assertTrue(wallet.code.length != 0);
        assertEq(MandateVault(vault).owner(), wallet);
    }

    function test_create_vault__the_same_signature_after_the_wallet_was_created__holds() public {
        creator.create(owner);
        address vault = _create(_wrapped(address(creator), _creation(), _signed(OWNER_KEY)));
        assertEq(MandateVault(vault).owner(), wallet);
    }

    function test_create_vault__funded_by_the_wallets_authorization() public {
        usdc.mint(wallet, BUDGET);
        bytes memory authorization = _authorization(OWNER_KEY, wallet, _predicted(), BUDGET, _digest());
        Funding memory funding = Funding(BUDGET, 0, block.timestamp + 1 hours, authorization);
        bytes memory signature = _wrapped(address(creator), _creation(), _signed(OWNER_KEY));
        vm.prank(stranger);
        address vault = factory.createVault(terms, rules, signature, funding);
        assertEq(MandateVault(vault).status(), Status.Working);
    }

    // ------------------------------------------------------------------ signatures that are none

    function test_create_vault__signed_by_another_key__reverts_and_creates_no_wallet() public {
        _expectNo(_wrapped(address(creator), _creation(), _signed(STRANGER_KEY)));
        assertEq(wallet.code.length, 0);
    }

    function test_create_vault__a_creation_that_creates_nothing__reverts() public {
        _expectNo(_wrapped(address(new Witness()), "", _signed(OWNER_KEY)));
        _expectNo(_wrapped(thief, "", _signed(OWNER_KEY)));
    }

    function test_create_vault__an_ill_formed_wrapping__reverts() public {
        _expectNo(bytes.concat(hex"1234", ERC6492_MAGIC));
        _expectNo(abi.encodePacked(ERC6492_MAGIC));
        _expectNo(bytes.concat(abi.encode(address(creator)), ERC6492_MAGIC));
    }

    function test_create_vault__cancelled_while_the_wallet_is_created__reverts() public {
        Canceller canceller = new Canceller();
        terms.owner = address(canceller);
        canceller.prepare(factory, terms);
        bytes memory signature = _wrapped(address(canceller), abi.encodeCall(Canceller.cancel, ()), "");
        // It has code, so nothing is called, and it answers every signature with yes: the cancellation comes first.
        canceller.cancel();
        bytes32 digest = _digest();
        vm.prank(stranger);
        vm.expectRevert(abi.encodeWithSelector(ErrorsLib.TermsWereCancelled.selector, digest));
        factory.createVault(terms, rules, signature, _noFunding());
    }

    // ------------------------------------------------------------------ creation inside the consent to it

    /// @dev The outer signature's call is createVault with the same terms.
    function _nested() private view returns (bytes memory) {
        bytes memory inner = _wrapped(address(creator), _creation(), _signed(OWNER_KEY));
        bytes memory create = abi.encodeCall(factory.createVault, (terms, rules, inner, _noFunding()));
        return _wrapped(address(factory), create, _signed(OWNER_KEY));
    }

    function test_create_vault__created_while_consent_is_asked_for__is_one_vault_and_no_error() public {
        address vault = _create(_nested());
        assertEq(vault, _predicted());
        assertEq(MandateVault(vault).owner(), wallet);
        assertEq(factory.vaultCode(), "");
    }

    function test_create_vault__created_while_consent_is_asked_for__is_funded_once() public {
        usdc.mint(wallet, 3 * BUDGET);
        bytes memory authorization = _authorization(OWNER_KEY, wallet, _predicted(), BUDGET, _digest());
        Funding memory funding = Funding(BUDGET, 0, block.timestamp + 1 hours, authorization);
        bytes memory signature = _nested();
        vm.prank(thief);
        address vault = factory.createVault(terms, rules, signature, funding);
        assertEq(MandateVault(vault).status(), Status.Working);
        assertEq(MandateVault(vault).totals().deposited, BUDGET);
    }

    function test_create_vault__another_vault_created_while_consent_is_asked_for__both_keep_their_terms() public {
        terms.nonce = 7;
        address other = _predicted();
        bytes memory inner = _wrapped(address(creator), _creation(), _signed(OWNER_KEY));
        bytes memory create = abi.encodeCall(factory.createVault, (terms, rules, inner, _noFunding()));
        terms.nonce = 8;
        address vault = _create(_wrapped(address(factory), create, _signed(OWNER_KEY)));
        assertEq(MandateVault(vault).termsDigest(), _digest());
        assertTrue(vault != other && factory.isVault(vault) && factory.isVault(other));
    }

    // ------------------------------------------------------------------ whose name the call bears

    function test_the_call_of_a_signature__bears_the_validators_name_alone() public {
        Witness witness = new Witness();
        Erc6492Validator validator = Erc6492Validator(factory.validator());
        validator.isValidSignature(wallet, _digest(), _wrapped(address(witness), hex"12345678", ""));
        assertEq(witness.caller(), address(validator));
    }

    function test_a_signature__can_neither_list_an_adapter_nor_move_anybodys_money() public {
        bytes memory listing = abi.encodeCall(MandateVaultFactory.listAdapter, (address(hostile)));
        _expectNo(_wrapped(address(factory), listing, _signed(OWNER_KEY)));
        assertFalse(factory.isAdapter(address(hostile)));

        vm.prank(owner);
        usdc.approve(address(factory), type(uint256).max);
        bytes memory theft = abi.encodeWithSignature("transferFrom(address,address,uint256)", owner, thief, USD);
        _expectNo(_wrapped(address(usdc), theft, _signed(OWNER_KEY)));
        assertEq(usdc.balanceOf(thief), 0);
    }

    function test_a_signature__cannot_initialize_or_fund_a_vault() public {
        terms.owner = owner;
        MandateVault vault = _createEmpty();
        terms.owner = wallet;
        bytes memory data = abi.encodeCall(MandateVault.fund, (_pull(BUDGET)));
        _expectNo(_wrapped(address(vault), data, _signed(OWNER_KEY)));
        assertEq(vault.status(), Status.Funding);
    }

    function test_is_valid_signature__without_the_magic__is_no() public {
        Erc6492Validator validator = Erc6492Validator(factory.validator());
        assertFalse(validator.isValidSignature(wallet, _digest(), abi.encode(address(creator), _creation(), "")));
    }
}

/// @notice A wallet that says yes to everything and cancels when it is told to.
contract Canceller {
    MandateVaultFactory private _factory;
    MandateTerms private _terms;

    function prepare(MandateVaultFactory factory_, MandateTerms calldata terms_) external {
        _factory = factory_;
        _terms = terms_;
    }

    function cancel() external {
        _factory.cancelTerms(_terms);
    }

    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) {
        return 0x1626ba7e;
    }
}
