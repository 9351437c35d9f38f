// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

import {ReserveToken} from "../../../contracts/ReserveToken.sol";
import {DEAD, SEED_USDC} from "../../../contracts/libraries/ConstantsLib.sol";
import {MockUSDC} from "../../../contracts/mocks/MockUSDC.sol";
import {Proof} from "./Proof.sol";

/// @notice What the reserve token books is what moves, what it pays and mints is its share, rounded down, and what it
/// locks is what was paid above a share, rounded up.
/// @dev For every reserve, supply, holding and amount. What a division made is told by the answer of the function; why
/// its rounding keeps the price from falling is price.smt2. `check_reachable_*` must fail: see MandateVault.t.sol.
contract ReserveTokenProof is Proof {
    address private constant HOLDER = address(0xB0B);
    address private constant RECEIVER = address(0xCA11);
    address private constant ADMIN = address(0xAD);
    address private constant PAUSER = address(0x9A);

    /// @dev What is compared after a function.
    struct Snapshot {
        uint256 lock;
        uint256 reserve;
        uint256 owed;
        uint256 supply;
        uint256 balance;
    }

    MockUSDC private _usdc;
    ReserveToken private _token;

    function setUp() public {
        _usdc = new MockUSDC();
        _usdc.mint(address(this), SEED_USDC);
        // Halmos numbers new contracts one after another.
        _usdc.approve(address(uint160(address(_usdc)) + 1), SEED_USDC);
        _token = new ReserveToken(address(_usdc), 1 days, ADMIN, PAUSER, RECEIVER);
        vm.prank(HOLDER);
        _usdc.approve(address(_token), type(uint256).max);
    }

    // ------------------------------------------------------------------ solvency

    function check_booked__buy(uint256 amount) external {
        _anyState();
        Snapshot memory before = _snapshot();
        uint256 held = _token.balanceOf(RECEIVER);
        uint256 out = _buy(amount);
        before.lock = _lock();
        _assertBooked(before, amount, 0, out, 0);
        assert(out != 0 && _token.balanceOf(RECEIVER) == held + out);
    }

    function check_booked__redeem(uint256 amount) external {
        _anyState();
        Snapshot memory before = _snapshot();
        (uint256 held, uint256 cash) = (_token.balanceOf(HOLDER), _usdc.balanceOf(HOLDER));
        uint256 out = _redeem(amount);
        _assertBooked(before, 0, out, 0, amount);
        assert(out != 0 && _usdc.balanceOf(HOLDER) == cash + out);
        assert(_token.balanceOf(HOLDER) + amount == held);
    }

    function check_booked__convert(uint256 amount, bytes32 accountRef) external {
        _anyState();
        Snapshot memory before = _snapshot();
        uint256 held = _token.balanceOf(HOLDER);
        uint256 paid = _convert(amount, accountRef);
        assert(paid != 0 && accountRef != 0);
        assert(_lock() == before.lock);
        assert(_token.reserve() + paid == before.reserve);
        assert(_token.treasuryOwed() == before.owed + paid);
        assert(_usdc.balanceOf(address(_token)) == before.balance);
        assert(_token.totalSupply() + amount == before.supply);
        assert(_token.balanceOf(HOLDER) + amount == held);
    }

    function check_booked__payTreasury(address caller) external {
        _anyState();
        Snapshot memory before = _snapshot();
        address to = _token.treasury();
        uint256 cash = _usdc.balanceOf(to);
        uint256 paid = _payTreasury(caller);
        assert(paid == before.owed && paid != 0);
        assert(_token.treasuryOwed() == 0);
        assert(_lock() == before.lock);
        assert(_token.reserve() == before.reserve);
        assert(_token.totalSupply() == before.supply);
        assert(_usdc.balanceOf(address(_token)) + paid == before.balance);
        assert(_usdc.balanceOf(to) == cash + paid);
    }

    function check_booked__treasury_and_pause_move_nothing(address caller, address treasury, uint8 which) external {
        _anyState();
        Snapshot memory before = _snapshot();
        _govern(caller, treasury, which);
        _assertBooked(before, 0, 0, 0, 0);
    }

    /// @dev From a treasury and a proposal that can be paid, no call leads to one that cannot.
    function check_treasury__is_never_zero_the_token_usdc_or_dead(address caller, address treasury, uint8 which)
        external
    {
        _anyState();
        _govern(caller, treasury, which);
        (address proposed, uint64 eta) = _token.pendingTreasury();
        assert(_canBePaid(_token.treasury()));
        assert(eta == 0 || _canBePaid(proposed));
    }

    function check_reachable_buy(uint256 amount) external {
        _anyState();
        // One that the solver finds: in any state it does not in 300 s.
        vm.assume(_lock() == 0 && _token.reserve() == SEED_USDC && _token.totalSupply() == 100e18 && amount == 102e6);
        _buy(amount);
        assert(false);
    }

    function check_reachable_redeem(uint256 amount) external {
        _anyState();
        _redeem(amount);
        assert(false);
    }

    function check_reachable_convert(uint256 amount, bytes32 accountRef) external {
        _anyState();
        _convert(amount, accountRef);
        assert(false);
    }

    function check_reachable_payTreasury(address caller) external {
        _anyState();
        _payTreasury(caller);
        assert(false);
    }

    function check_reachable_treasury_and_pause(address caller, address treasury, uint8 which) external {
        _anyState();
        address before = _token.treasury();
        _govern(caller, treasury, which);
        assert(_token.treasury() == before);
    }

    // A revert is dropped in the next four: the code of the panic in mulDiv comes out of a multiplication, which the
    // solver would have to look into to see that it is not the code of a failed assert.

    function _buy(uint256 amount) private returns (uint256 out) {
        vm.prank(HOLDER);
        try _token.buy(amount, 0, RECEIVER) returns (uint256 minted) {
            out = minted;
        } catch {
            vm.assume(false);
        }
    }

    function _redeem(uint256 amount) private returns (uint256 out) {
        vm.prank(HOLDER);
        try _token.redeem(amount, 0) returns (uint256 paid) {
            out = paid;
        } catch {
            vm.assume(false);
        }
    }

    function _convert(uint256 amount, bytes32 accountRef) private returns (uint256 paid) {
        vm.prank(HOLDER);
        try _token.convert(amount, accountRef) returns (uint256 usdcPaid) {
            paid = usdcPaid;
        } catch {
            vm.assume(false);
        }
    }

    function _payTreasury(address caller) private returns (uint256 paid) {
        vm.prank(caller);
        try _token.payTreasury() returns (uint256 amount) {
            paid = amount;
        } catch {
            vm.assume(false);
        }
    }

    function _govern(address caller, address treasury, uint8 which) private {
        vm.warp(svm.createUint(32, "now"));
        vm.prank(caller);
        if (which == 0) _token.proposeTreasury(treasury);
        else if (which == 1) _token.changeTreasury();
        else if (which == 2) _token.cancelTreasuryProposal();
        else if (which == 3) _token.pause();
        else _token.unpause();
    }

    /// @dev USDC and reserve move by the same, so a reserve that was covered by the balance stays covered. Nothing here
    /// underflows unseen: a panic of arithmetic is a revert, and a revert states nothing.
    function _assertBooked(Snapshot memory before, uint256 usdcIn, uint256 usdcOut, uint256 minted, uint256 burnt)
        private
        view
    {
        assert(_lock() == before.lock);
        assert(_token.reserve() + usdcOut == before.reserve + usdcIn);
        assert(_token.treasuryOwed() == before.owed);
        assert(_usdc.balanceOf(address(_token)) + usdcOut == before.balance + usdcIn);
        assert(_token.totalSupply() + burnt == before.supply + minted);
    }

    // ------------------------------------------------------------------ price

    /// @dev 102 % of the share, rounded down. That this never lowers the price is arithmetic, for which price.smt2 is.
    function check_price__buy_is_the_share_at_102_percent_rounded_down(uint256 amount) external {
        _anyState();
        (uint256 reserve, uint256 supply) = (_token.reserve(), _token.totalSupply());
        uint256 out = _buy(amount);
        assert(out == this.quotient(amount, supply * 100, reserve * 102));
    }

    function check_price__redeem_is_the_share_of_what_is_unlocked_rounded_down(uint256 amount) external {
        _anyState();
        (uint256 unlocked, uint256 supply) = (_unlocked(), _token.totalSupply());
        uint256 out = _redeem(amount);
        assert(out == this.quotient(amount, unlocked, supply));
    }

    function check_price__convert_is_the_share_of_what_is_unlocked_rounded_down(uint256 amount, bytes32 accountRef)
        external
    {
        _anyState();
        (uint256 unlocked, uint256 supply) = (_unlocked(), _token.totalSupply());
        uint256 paid = _convert(amount, accountRef);
        assert(paid == this.quotient(amount, unlocked, supply));
    }

    /// @dev floor(a * b / c), by OpenZeppelin: that it is the floor is its own claim.
    function quotient(uint256 a, uint256 b, uint256 c) external pure returns (uint256) {
        return Math.mulDiv(a, b, c);
    }

    /// @dev ceil(a * b / c), the same.
    function quotientUp(uint256 a, uint256 b, uint256 c) external pure returns (uint256) {
        return Math.mulDiv(a, b, c, Math.Rounding.Ceil);
    }

    // ------------------------------------------------------------------ locks

    /// @dev Of the same reserve, supply and minted tokens as in the price proof: what is above their share is locked, from
    /// now on. Where nothing is above it the word stays.
    function check_locked__buy_locks_what_is_above_the_share_of_what_is_unlocked(uint256 amount) external {
        _anyState();
        (uint256 unlocked, uint256 supply, uint256 word) = (_unlocked(), _token.totalSupply(), _lock());
        (uint256 locked,) = _token.locked();
        uint256 share = this.quotientUp(_buy(amount), unlocked, supply);
        uint256 next = _lock();
        assert(next == word || uint120(next) + share == locked + amount);
        assert(next == word || uint40(next >> 120) == block.timestamp);
    }

    function check_locked__nothing_from_the_end_on() external {
        _anyState();
        (uint256 locked, uint256 until) = _token.locked();
        assert(block.timestamp * 1e9 < until || locked == 0);
    }

    function check_reachable_locked() external {
        _anyState();
        (uint256 locked,) = _token.locked();
        assert(locked == 0);
    }

    // ------------------------------------------------------------------ states

    function _anyState() private {
        address treasury = svm.createAddress("treasury");
        address proposed = svm.createAddress("proposed");
        vm.assume(_canBePaid(treasury) && _canBePaid(proposed));
        _store(9, uint256(uint160(treasury)));
        _store(10, uint256(uint160(proposed)) | (svm.createUint(40, "eta") << 160));
        vm.warp(svm.createUint(32, "time"));
        _store(
            11,
            svm.createUint(80, "locked") | (svm.createUint(32, "since") << 120) | (svm.createUint(64, "until") << 160)
        );
        _state(
            svm.createUint(80, "reserve"),
            svm.createUint(80, "owed"),
            svm.createUint(128, "supply"),
            svm.createUint(128, "held")
        );
        _usdc.mint(address(_token), svm.createUint(80, "donated"));
    }

    /// @dev The reserve and what is owed are covered to the last unit, which the constructor's 1 USDC would hide.
    function _state(uint256 reserve, uint256 owed, uint256 supply, uint256 held) private {
        vm.assume(reserve != 0 && supply != 0 && held <= supply);
        // Not paused, which is the lowest byte.
        _store(8, (reserve << 8) | (owed << 128));
        _store(2, supply);
        _store(uint256(keccak256(abi.encode(HOLDER, 0))), held);
        vm.prank(address(_token));
        require(_usdc.transfer(ADMIN, SEED_USDC));
        _usdc.mint(address(_token), reserve + owed);
        _usdc.mint(HOLDER, 2 ** 80);
    }

    function _canBePaid(address account) private view returns (bool) {
        return account != address(0) && account != address(_token) && account != address(_usdc) && account != DEAD;
    }

    function _store(uint256 slot, uint256 word) private {
        vm.store(address(_token), bytes32(slot), bytes32(word));
    }

    function _snapshot() private view returns (Snapshot memory) {
        return Snapshot(
            _lock(), _token.reserve(), _token.treasuryOwed(), _token.totalSupply(), _usdc.balanceOf(address(_token))
        );
    }

    function _unlocked() private view returns (uint256) {
        (uint256 locked,) = _token.locked();
        vm.assume(locked <= _token.reserve());
        return _token.reserve() - locked;
    }

    function _lock() private view returns (uint256) {
        return uint256(vm.load(address(_token), bytes32(uint256(11))));
    }
}
