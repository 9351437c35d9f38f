// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract PayTest is Test {
    MandateVault internal vault;

    bytes32 internal constant RESOURCE = keccak256("https://example.org/resource");
    bytes32 internal constant NONCE = "nonce";
    uint64 internal constant DEADLINE = NOW + 60;

    struct Payment {
        address payTo;
        uint256 amount;
        bytes32 resourceHash;
        bytes32 nonce;
        uint64 deadline;
    }

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
    }

    function _payment() private view returns (Payment memory) {
        return Payment(stranger, 2 * USD, RESOURCE, NONCE, DEADLINE);
    }

    function _signed(uint256 key, address payer, Payment memory p) private view returns (bytes memory) {
        return _sign(key, x402.paymentDigest(payer, p.payTo, p.amount, p.resourceHash, p.nonce, p.deadline));
    }

    function _call(Payment memory p, bytes memory signature) private view returns (Call memory) {
        return Call(
            address(x402),
            p.amount,
            abi.encodeCall(X402Adapter.pay, (p.payTo, p.amount, p.resourceHash, p.nonce, p.deadline, signature))
        );
    }

    function _guarded(Payment memory p) private view returns (Call memory) {
        return _call(p, _signed(GUARD_KEY, address(vault), p));
    }

    // ------------------------------------------------------------------ what it does

    function test_pay__with_the_guards_signature__pays_exactly_the_amount() public {
        Call memory call_ = _guarded(_payment());
        _expectEmit(address(x402));
        emit EventsLib.X402Paid(address(vault), stranger, 2 * USD, RESOURCE);
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Executed(0, address(x402), X402Adapter.pay.selector, 2 * USD, 0, BUDGET - 2 * USD);
        _execute(vault, call_);

        assertEq(usdc.balanceOf(stranger), 2 * USD);
        assertEq(usdc.balanceOf(address(x402)), 0);
        assertTrue(x402.isNonceUsed(address(vault), NONCE));
        (uint256 worth,) = vault.worth();
        assertEq(worth, BUDGET - 2 * USD);
        assertEq(vault.totals().unvaluedOut, 0);
    }

    function test_pay__caps_apply_as_to_any_call() public {
        Payment memory p = _payment();
        p.amount = PER_TX + 1;
        Call memory call_ = _guarded(p);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.OverPerTxCap.selector, PER_TX + 1, PER_TX));
        _execute(vault, call_);
    }

    // ------------------------------------------------------------------ the nonce

    function test_pay__nonce_again__reverts() public {
        Call memory call_ = _guarded(_payment());
        _execute(vault, call_);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NonceUsed.selector, address(vault), NONCE));
        _execute(vault, call_);
    }

    function test_pay__another_nonce__pays_again() public {
        _execute(vault, _guarded(_payment()));
        Payment memory p = _payment();
        p.nonce = "another";
        _execute(vault, _guarded(p));
        assertEq(usdc.balanceOf(stranger), 4 * USD);
    }

    function test_pay__another_vault__has_its_own_nonces() public {
        _execute(vault, _guarded(_payment()));
        terms.nonce = 2;
        vault = _createWorking();
        _execute(vault, _guarded(_payment()));
        assertEq(usdc.balanceOf(stranger), 4 * USD);
    }

    // ------------------------------------------------------------------ the deadline

    function test_pay__in_the_last_second__passes() public {
        Call memory call_ = _guarded(_payment());
        vm.warp(DEADLINE);
        _execute(vault, call_);
        assertEq(usdc.balanceOf(stranger), 2 * USD);
    }

    function test_pay__one_second_later__reverts() public {
        Call memory call_ = _guarded(_payment());
        vm.warp(DEADLINE + 1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.DeadlinePassed.selector, DEADLINE));
        _execute(vault, call_);
    }

    // ------------------------------------------------------------------ the signature

    function test_pay__signed_by_another_key__reverts() public {
        Call memory call_ = _call(_payment(), _signed(AGENT_KEY, address(vault), _payment()));
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadSignature.selector, guard));
        _execute(vault, call_);
    }

    function test_pay__signed_for_another_vault__reverts() public {
        Call memory call_ = _call(_payment(), _signed(GUARD_KEY, stranger, _payment()));
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadSignature.selector, guard));
        _execute(vault, call_);
    }

    function test_pay__any_field_changed__reverts() public {
        bytes memory signature = _signed(GUARD_KEY, address(vault), _payment());
        Payment[5] memory changed;
        for (uint256 i; i < 5; ++i) {
            changed[i] = _payment();
        }
        changed[0].payTo = thief;
        changed[1].amount += 1;
        changed[2].resourceHash = 0;
        changed[3].nonce = 0;
        changed[4].deadline += 1;
        for (uint256 i; i < 5; ++i) {
            _expectRevert(abi.encodeWithSelector(ErrorsLib.BadSignature.selector, guard));
            _execute(vault, _call(changed[i], signature));
        }
    }

    function test_pay__signed_for_another_chain__reverts() public {
        Call memory call_ = _guarded(_payment());
        vm.chainId(1);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadSignature.selector, guard));
        _execute(vault, call_);
    }

    function test_pay__the_guard_is_read_live() public {
        Call memory old = _guarded(_payment());
        vm.prank(keeperAdmin);
        factory.proposeGuard(stranger);
        vm.warp(NOW + 48 hours);
        vm.prank(stranger);
        factory.acceptGuard();

        Payment memory p = _payment();
        p.deadline = NOW + 72 hours;
        old = _guarded(p);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadSignature.selector, stranger));
        _execute(vault, old);
        _execute(vault, _call(p, _signed(STRANGER_KEY, address(vault), p)));
        assertEq(usdc.balanceOf(stranger), 2 * USD);
    }

    function test_paymentDigest__is_the_eip712_hash() public view {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("Mandate Wallet x402"),
                keccak256("1"),
                block.chainid,
                address(x402)
            )
        );
        bytes32 structHash = keccak256(
            abi.encode(
                keccak256(
                    "X402Payment(address vault,address payTo,uint256 amount,bytes32 resourceHash,bytes32 nonce,uint64 deadline)"
                ),
                address(vault),
                stranger,
                2 * USD,
                RESOURCE,
                NONCE,
                DEADLINE
            )
        );
        assertEq(
            x402.paymentDigest(address(vault), stranger, 2 * USD, RESOURCE, NONCE, DEADLINE),
            _typedDigest(domain, structHash)
        );
    }

    // ------------------------------------------------------------------ arguments

    function test_pay__nothing__reverts() public {
        Payment memory p = _payment();
        p.amount = 0;
        Call memory call_ = _guarded(p);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ZeroAmount.selector));
        _execute(vault, call_);
    }

    function test_pay__to_the_vault_itself__reverts() public {
        Payment memory p = _payment();
        p.payTo = address(vault);
        Call memory call_ = _guarded(p);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.SelfPayment.selector, address(vault)));
        _execute(vault, call_);
    }

    function test_pay__to_the_adapter__reverts() public {
        Payment memory p = _payment();
        p.payTo = address(x402);
        Call memory call_ = _guarded(p);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.SelfPayment.selector, address(x402)));
        _execute(vault, call_);
    }

    function test_constructor__factory_without_code__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.BadAddress.selector, stranger));
        new X402Adapter(stranger);
    }
}
