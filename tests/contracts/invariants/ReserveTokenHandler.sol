// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";

import {ReserveToken} from "../../../contracts/ReserveToken.sol";
import "../base/Test.sol";
import {LedgerUSDC} from "./LedgerUSDC.sol";

/// @title ReserveTokenHandler
/// @notice Buyers, redeemers, converters, donors, a pauser, one who buys, waits for a gift and redeems, one who buys,
/// converts most and redeems the rest, and one who buys before another and redeems after. Time passes, from seconds to two
/// days. USDC freezes the treasury now and then. Its books are its own: they follow USDC, not the token.
contract ReserveTokenHandler is Test {
    ReserveToken public token;
    LedgerUSDC public ledger;

    /// @notice USDC that all holders had together at the start.
    uint256 public began;

    /// @dev Everything that was paid for tokens, the seed included, and everything that was paid out for them: to
    /// holders, as credit of a holder's account, to the treasury.
    uint256 public paid;
    uint256 public returned;
    uint256 public credited;
    uint256 public swept;
    uint256 public donated;

    /// @notice What a holder began with, was given and may have gained: its part of the 2 % that others paid while it
    /// held tokens, and of what others left locked, or to rounding, when they redeemed or converted. What it gave away is
    /// taken off.
    mapping(address holder => uint256) public entitled;

    /// @notice USDC that a holder's conversions were worth.
    mapping(address holder => uint256) public creditOf;

    /// @notice What must never happen, counted: the share, or that of what is unlocked, fell; the end of what is locked
    /// came nearer; somebody came out of a round trip richer; a gift moved the reserve; a holder's redemption or
    /// conversion, or a payment that the treasury can receive, was refused.
    uint256 public falls;
    uint256 public hastes;
    uint256 public profits;
    uint256 public shifts;
    uint256 public refusals;

    mapping(bytes32 action => uint256) public done;
    address[3] private _holders = [owner, stranger, thief];

    function build(ReserveToken token_, LedgerUSDC ledger_) external {
        (token, ledger, paid) = (token_, ledger_, USD);
        for (uint256 i; i < _holders.length; ++i) {
            ledger.mint(_holders[i], type(uint96).max);
            entitled[_holders[i]] = ledger.balanceOf(_holders[i]);
            began += ledger.balanceOf(_holders[i]);
            vm.prank(_holders[i]);
            ledger.approve(address(token), type(uint256).max);
        }
    }

    /// @dev The shares as fractions, so that no rounding hides a fall, and the price that is shown.
    modifier watched() {
        (uint256 reserve, uint256 supply, uint256 price) = (token.reserve(), token.totalSupply(), token.redeemPrice());
        (uint256 locked, uint256 until) = token.locked();
        _;
        (uint256 lockedNow, uint256 untilNow) = token.locked();
        if (token.reserve() * supply < reserve * token.totalSupply() || token.redeemPrice() < price) ++falls;
        if ((token.reserve() - lockedNow) * supply < (reserve - locked) * token.totalSupply()) ++falls;
        if (untilNow < until) ++hastes;
    }

    function buys(uint256 who, uint256 amount, uint256 recipient) external watched {
        _buy(_of(who), _sized(amount), _of(recipient));
    }

    function redeems(uint256 who, uint256 amount) external watched {
        address holder = _of(who);
        uint256 held = token.balanceOf(holder);
        if (held == 0) return;
        _redeem(holder, amount % 3 == 0 ? held : 1 + amount % held);
    }

    /// @notice Buys and redeems it all in one breath, with or without a gift to the token in between.
    function flips(uint256 who, uint256 amount, uint256 gift) external watched {
        address holder = _of(who);
        uint256 held = token.balanceOf(holder);
        uint256 before = ledger.balanceOf(holder);
        if (!_buy(holder, _sized(amount), holder)) return;
        if (gift % 2 == 0) _donate(_sized(gift));
        if (!_redeem(holder, token.balanceOf(holder) - held)) return;
        if (ledger.balanceOf(holder) > before) ++profits;
        ++done["flip"];
    }

    /// @notice Time passes: seconds, hours, up to two days.
    function waits(uint256 time) external watched {
        vm.warp(block.timestamp + (time % 3 == 0 ? time % 1 minutes : time % 2 days));
        ++done["wait"];
    }

    /// @notice Buys, another buys, and redeems it all in one breath.
    function holdsAroundAnothersPurchase(uint256 who, uint256 mine, uint256 theirs) external watched {
        (address holder, address other) = (_of(who), _of(who % 3 + 1));
        uint256 held = token.balanceOf(holder);
        uint256 before = ledger.balanceOf(holder);
        if (!_buy(holder, _sized(mine), holder)) return;
        _buy(other, _sized(theirs), other);
        if (!_redeem(holder, token.balanceOf(holder) - held)) return;
        if (ledger.balanceOf(holder) > before) ++profits;
        ++done["hold around"];
    }

    function converts(uint256 who, uint256 amount) external watched {
        address holder = _of(who);
        uint256 held = token.balanceOf(holder);
        if (held == 0) return;
        _convert(holder, amount % 5 == 0 ? held : 1 + amount % held);
    }

    /// @notice Buys, converts most of what is held, from half to all but a thousandth, and redeems the rest.
    function convertsMostAndRedeemsTheRest(uint256 who, uint256 amount, uint256 part) external watched {
        address holder = _of(who);
        uint256 before = fortuneOf(holder);
        _buy(holder, _sized(amount), holder);
        uint256 held = token.balanceOf(holder);
        if (held == 0 || !_convert(holder, held * (500 + part % 500) / 1_000)) return;
        if (!_redeem(holder, token.balanceOf(holder))) return;
        if (fortuneOf(holder) > before) ++profits;
        ++done["convert most, redeem rest"];
    }

    /// @notice Anyone has the treasury paid, which passes unless nothing is owed or USDC has frozen it.
    function paysTreasury(uint256 who) external watched {
        (uint256 owed, address treasury) = (credited - swept, token.treasury());
        uint256 before = ledger.balanceOf(treasury);
        vm.prank(_of(who));
        (bool passed,) = address(token).call(abi.encodeCall(token.payTreasury, ()));
        if (passed != (owed != 0 && !ledger.isFrozen(treasury))) ++refusals;
        uint256 got = ledger.balanceOf(treasury) - before;
        if (got != (passed ? owed : 0)) ++refusals;
        swept += got;
        if (passed) ++done["pay treasury"];
    }

    /// @notice USDC freezes and thaws the treasury.
    function freezes(uint256 way) external watched {
        address treasury = token.treasury();
        // Most of the time it is not.
        if (ledger.isFrozen(treasury) == (way % 4 == 0)) return;
        ledger.setFrozen(treasury, way % 4 == 0);
        ++done["freeze"];
    }

    function donates(uint256 amount) external watched {
        _donate(_sized(amount));
        ++done["donate"];
    }

    function transfers(uint256 from, uint256 to, uint256 amount) external watched {
        amount %= token.balanceOf(_of(from)) + 1;
        (uint256 reserve, uint256 supply) = (token.reserve(), token.totalSupply());
        entitled[_of(from)] -= Math.mulDiv(amount, reserve, supply);
        entitled[_of(to)] += Math.mulDiv(amount, reserve, supply, Math.Rounding.Ceil);
        vm.prank(_of(from));
        assertTrue(token.transfer(_of(to), amount));
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
        (uint256 reserve, uint256 supply) = (token.reserve(), token.totalSupply());
        vm.prank(holder);
        (passed,) = address(token).call(abi.encodeCall(token.buy, (amount, 0, recipient)));
        if (passed != mayPass) ++shifts;
        if (!passed) return false;
        paid += amount;
        entitled[holder] -= amount;
        entitled[recipient] += amount;
        _shareMarkup(recipient, amount, reserve, supply);
        ++done["buy"];
    }

    /// @dev What was paid above the share is divided among all tokens. `recipient` had paid it, the others gain.
    function _shareMarkup(address recipient, uint256 amount, uint256 reserve, uint256 supply) private {
        uint256 minted = token.totalSupply() - supply;
        _share(recipient, amount - Math.mulDiv(minted, reserve, supply));
    }

    /// @dev What the share in the whole reserve was above what `holder` got for these tokens, burned by now.
    function _shareLeft(address holder, uint256 amount, uint256 got, uint256 reserve, uint256 supply) private {
        _share(holder, Math.mulDiv(amount, reserve, supply, Math.Rounding.Ceil) - got);
    }

    /// @dev USDC that all tokens gain but those of `from`.
    function _share(address from, uint256 amountUsdc) private {
        uint256 supply = token.totalSupply();
        for (uint256 i; i < _holders.length; ++i) {
            if (_holders[i] == from) continue;
            uint256 held = token.balanceOf(_holders[i]);
            entitled[_holders[i]] += Math.mulDiv(held, amountUsdc, supply, Math.Rounding.Ceil);
        }
    }

    /// @dev Paused or not, whoever is frozen, a holder's conversion passes if it is worth one unit. The credit is counted
    /// by the share before it, not by what the token says.
    function _convert(address holder, uint256 amount) private returns (bool passed) {
        (uint256 locked,) = token.locked();
        (uint256 reserve, uint256 supply) = (token.reserve(), token.totalSupply());
        uint256 worth = Math.mulDiv(amount, reserve - locked, supply);
        vm.prank(holder);
        (passed,) = address(token).call(abi.encodeCall(token.convert, (amount, "account")));
        if (passed != (worth != 0)) ++refusals;
        if (!passed) return false;
        credited += worth;
        creditOf[holder] += worth;
        _shareLeft(holder, amount, worth, reserve, supply);
        ++done["convert"];
    }

    /// @dev Paused or not, a holder's redemption passes if it is worth one unit.
    function _redeem(address holder, uint256 amount) private returns (bool passed) {
        uint256 worth = token.quoteRedeem(amount);
        (uint256 reserve, uint256 supply) = (token.reserve(), token.totalSupply());
        uint256 before = ledger.balanceOf(holder);
        vm.prank(holder);
        (passed,) = address(token).call(abi.encodeCall(token.redeem, (amount, 0)));
        if (passed != (worth != 0)) ++refusals;
        if (!passed) return false;
        uint256 got = ledger.balanceOf(holder) - before;
        if (got != worth) ++refusals;
        returned += got;
        _shareLeft(holder, amount, got, reserve, supply);
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

    function holders() external view returns (address[3] memory) {
        return _holders;
    }

    /// @notice USDC, credit, and what the tokens redeem for when nothing is locked any more, in USDC base units.
    function fortuneOf(address holder) public view returns (uint256) {
        uint256 backing = Math.mulDiv(token.balanceOf(holder), token.reserve(), token.totalSupply());
        return ledger.balanceOf(holder) + creditOf[holder] + backing;
    }

    function sumOfBalances() external view returns (uint256 sum) {
        sum = token.balanceOf(0x000000000000000000000000000000000000dEaD);
        for (uint256 i; i < _holders.length; ++i) {
            sum += token.balanceOf(_holders[i]);
        }
    }

    /// @notice What must have happened in a run that is worth something.
    function doors() external pure returns (bytes32[12] memory) {
        return [
            bytes32("buy"),
            "redeem",
            "flip",
            "wait",
            "hold around",
            "convert",
            "convert most, redeem rest",
            "pay treasury",
            "freeze",
            "donate",
            "transfer",
            "pause"
        ];
    }

    function actions() external pure returns (bytes4[] memory list) {
        list = new bytes4[](13);
        list[0] = this.buys.selector;
        list[1] = this.redeems.selector;
        list[2] = this.flips.selector;
        list[3] = this.converts.selector;
        list[4] = this.donates.selector;
        list[5] = this.transfers.selector;
        list[6] = this.pauses.selector;
        list[7] = this.trespasses.selector;
        list[8] = this.convertsMostAndRedeemsTheRest.selector;
        list[9] = this.paysTreasury.selector;
        list[10] = this.freezes.selector;
        list[11] = this.waits.selector;
        list[12] = this.holdsAroundAnothersPurchase.selector;
    }
}
