// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {ReserveToken} from "../../../contracts/ReserveToken.sol";
import "../base/Test.sol";
import {LedgerUSDC} from "./LedgerUSDC.sol";

/// @title ReserveTokenHandler
/// @notice Buyers, redeemers, converters, donors, a pauser, and one who buys, waits for a gift and redeems. Its books
/// are its own: they follow USDC, not the token.
contract ReserveTokenHandler is Test {
    ReserveToken public token;
    LedgerUSDC public ledger;

    /// @dev Everything that was paid for tokens, the seed included, and everything that was paid out for them.
    uint256 public paid;
    uint256 public returned;
    uint256 public donated;

    /// @notice What must never happen, counted: the share fell; somebody came out of a round trip richer; a gift or a
    /// conversion moved the reserve; a holder's redemption was refused.
    uint256 public falls;
    uint256 public profits;
    uint256 public shifts;
    uint256 public refusals;

    mapping(bytes32 action => uint256) public done;
    address[3] private _holders = [owner, stranger, thief];

    function build(ReserveToken token_, LedgerUSDC ledger_) external {
        (token, ledger, paid) = (token_, ledger_, USD);
        for (uint256 i; i < _holders.length; ++i) {
            ledger.mint(_holders[i], type(uint96).max);
            vm.prank(_holders[i]);
            ledger.approve(address(token), type(uint256).max);
        }
    }

    /// @dev The share as a fraction, so that no rounding hides a fall, and the price that is shown.
    modifier watched() {
        (uint256 reserve, uint256 supply, uint256 price) = (token.reserve(), token.totalSupply(), token.redeemPrice());
        _;
        if (token.reserve() * supply < reserve * token.totalSupply() || token.redeemPrice() < price) ++falls;
    }

    function buys(uint256 who, uint256 amount, uint256 recipient) external watched {
        _buy(_of(who), _sized(amount), _of(recipient));
    }

    function redeems(uint256 who, uint256 amount, uint256 recipient) external watched {
        address holder = _of(who);
        uint256 held = token.balanceOf(holder);
        if (held == 0) return;
        _redeem(holder, amount % 3 == 0 ? held : 1 + amount % held, _of(recipient));
    }

    /// @notice Buys and redeems it all in one breath, with or without a gift to the token in between.
    function flips(uint256 who, uint256 amount, uint256 gift) external watched {
        address holder = _of(who);
        uint256 held = token.balanceOf(holder);
        uint256 before = ledger.balanceOf(holder);
        if (!_buy(holder, _sized(amount), holder)) return;
        if (gift % 2 == 0) _donate(_sized(gift));
        if (!_redeem(holder, token.balanceOf(holder) - held, holder)) return;
        if (ledger.balanceOf(holder) > before) ++profits;
        ++done["flip"];
    }

    function converts(uint256 who, uint256 amount) external watched {
        address holder = _of(who);
        uint256 held = token.balanceOf(holder);
        if (held == 0) return;
        uint256 reserve = token.reserve();
        vm.prank(holder);
        token.convert(1 + amount % held, "account");
        if (token.reserve() != reserve) ++shifts;
        ++done["convert"];
    }

    function donates(uint256 amount) external watched {
        _donate(_sized(amount));
        ++done["donate"];
    }

    function transfers(uint256 from, uint256 to, uint256 amount) external watched {
        uint256 held = token.balanceOf(_of(from));
        vm.prank(_of(from));
        assertTrue(token.transfer(_of(to), amount % (held + 1)));
        ++done["transfer"];
    }

    function pauses(uint256 way) external watched {
        bool isPaused = token.paused();
        // Most of the time it is not.
        if (isPaused == (way % 4 == 0)) return;
        vm.prank(isPaused ? admin : pauser);
        isPaused ? token.unpause() : token.pause();
        ++done["pause"];
    }

    /// @notice Who may not, tries what officers may.
    function trespasses(uint256 who) external watched {
        bytes[4] memory calls = [
            abi.encodeCall(token.pause, ()),
            abi.encodeCall(token.proposeTreasury, (thief)),
            abi.encodeCall(token.changeTreasury, ()),
            abi.encodeWithSignature("mint(address,uint256)", thief, 1e18)
        ];
        for (uint256 i; i < calls.length; ++i) {
            vm.prank(_of(who));
            (bool passed,) = address(token).call(calls[i]);
            if (passed) ++profits;
        }
    }

    // ------------------------------------------------------------------ parts

    function _buy(address holder, uint256 amount, address recipient) private returns (bool passed) {
        bool mayPass = !token.paused() && token.quoteBuy(amount) != 0;
        vm.prank(holder);
        (passed,) = address(token).call(abi.encodeCall(token.buy, (amount, 0, recipient)));
        if (passed != mayPass) ++shifts;
        if (!passed) return false;
        paid += amount;
        ++done["buy"];
    }

    /// @dev Paused or not, a holder's redemption passes if it is worth one unit.
    function _redeem(address holder, uint256 amount, address recipient) private returns (bool passed) {
        uint256 worth = token.quoteRedeem(amount);
        uint256 before = ledger.balanceOf(recipient);
        vm.prank(holder);
        (passed,) = address(token).call(abi.encodeCall(token.redeem, (amount, 0, recipient)));
        if (passed != (worth != 0)) ++refusals;
        if (!passed) return false;
        uint256 got = ledger.balanceOf(recipient) - before;
        if (got != worth) ++refusals;
        returned += got;
        ++done["redeem"];
    }

    function _donate(uint256 amount) private {
        (uint256 price, uint256 reserve) = (token.redeemPrice(), token.reserve());
        ledger.mint(address(token), amount);
        donated += amount;
        if (token.redeemPrice() != price || token.reserve() != reserve) ++shifts;
    }

    /// @dev Dust, everyday sums, and more USDC than there is.
    function _sized(uint256 word) private pure returns (uint256) {
        if (word % 5 == 0) return 1 + word % 100;
        return 1 + word % (word % 7 == 0 ? 1e16 : 10_000 * USD);
    }

    function _of(uint256 who) private view returns (address) {
        return _holders[who % 3];
    }

    function sumOfBalances() external view returns (uint256 sum) {
        sum = token.balanceOf(0x000000000000000000000000000000000000dEaD);
        for (uint256 i; i < _holders.length; ++i) {
            sum += token.balanceOf(_holders[i]);
        }
    }

    /// @notice What must have happened in a run that is worth something.
    function doors() external pure returns (bytes32[7] memory) {
        return [bytes32("buy"), "redeem", "flip", "convert", "donate", "transfer", "pause"];
    }

    function actions() external pure returns (bytes4[] memory list) {
        list = new bytes4[](8);
        list[0] = this.buys.selector;
        list[1] = this.redeems.selector;
        list[2] = this.flips.selector;
        list[3] = this.converts.selector;
        list[4] = this.donates.selector;
        list[5] = this.transfers.selector;
        list[6] = this.pauses.selector;
        list[7] = this.trespasses.selector;
    }
}
