// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./Stage.sol";

/// @title AgentHandler
/// @notice The agent, at its worst: every trick at every venue, amounts at the edges of every cap, batches, and a
/// second opinion from `check` before each action.
abstract contract AgentHandler is Stage {
    /// @notice One call at a hostile venue.
    function agentExecutes(uint256 at, uint256 trick, uint256 edge, uint256 amount) external step {
        uint256 index = at % ghosts.length;
        Call[] memory calls = new Call[](1);
        calls[0] = _hostileCall(index, trick, edge, amount);
        bool passed = _act("execute", index, calls, true, _isFail(trick));
        _tally(_trickName(trick), passed && !_isExit(calls[0]));
    }

    /// @notice Two or three calls in one batch, whose sum may be above a cap that each one keeps.
    function agentExecutesBatch(uint256 at, uint256 trick, uint256 edge, uint256 amount) external step {
        uint256 index = at % ghosts.length;
        Call[] memory calls = new Call[](2 + edge % 2);
        bool mayFail;
        for (uint256 i; i < calls.length; ++i) {
            uint256 part = uint256(keccak256(abi.encode(amount, i)));
            calls[i] = _hostileCall(index, trick >> (8 * i), edge >> (8 * i), part);
            if (part % 3 == 0) calls[i].maxSpend /= 2;
            mayFail = mayFail || _isFail(trick >> (8 * i)) || part % 3 == 0;
        }
        _act("executeBatch", index, calls, false, mayFail);
    }

    /// @notice The honest venues, so that there are positions with a price.
    function agentTrades(uint256 at, uint256 edge, uint256 amount) external step {
        uint256 index = at % ghosts.length;
        IAdapter where = _honest(edge >> 8);
        uint256 held = where.positionOf(address(ghosts[index].vault));
        bool sells = held != 0 && edge % 2 == 0;
        _trade(index, where, sells, sells ? _bound(amount, 1, held) : _amountAt(ghosts[index], edge >> 1, amount));
    }

    function _trade(uint256 index, IAdapter where, bool sells, uint256 size) private {
        address vault = address(ghosts[index].vault);
        (uint256 out, uint256 back) = (ledger.outflow(vault), ledger.inflow(vault));
        // What is so small that nothing would be bought, or paid, is the venue's own refusal, as is too great a loss.
        bool mayFail = where != adapter || (sells ? size * venue.priceE6() < USD : size * USD < venue.priceE6());
        Call[] memory calls = _asBatch(sells ? _exit(where, size) : _entry(where, size));
        (bool passed,) = _tryAction(index, calls, true, mayFail);
        _tally(_tradeName(where, sells), passed);
        if (!passed) return;
        (out, back) = (ledger.outflow(vault) - out, ledger.inflow(vault) - back);
        _bookAction(index, out);
        _bookGain(ghosts[index], address(where), out, back);
    }

    function _tradeName(IAdapter where, bool sells) private view returns (bytes32) {
        if (where == lending) return sells ? bytes32("lend back") : bytes32("lend");
        if (where == swaps) return sells ? bytes32("swap back") : bytes32("swap in");
        return sells ? bytes32("sell") : bytes32("buy");
    }

    /// @notice The agent asks for what no rule allows.
    function agentStrays(uint256 at, uint256 which, uint256 amount) external step {
        Ghost storage g = _vaultAt(at);
        Call memory call_ = Call(address(unvalued), 1, abi.encodeCall(unvalued.pullLater, (address(g.vault), amount)));
        if (which % 6 == 1) call_ = Call(address(usdc), 0, abi.encodeCall(usdc.transfer, (thief, amount)));
        if (which % 6 == 2) call_ = Call(address(usdc), 0, abi.encodeCall(usdc.approve, (thief, amount)));
        if (which % 6 == 3) {
            call_ = Call(address(g.vault), 0, abi.encodeCall(g.vault.withdraw, (address(usdc), thief, 1)));
        }
        if (which % 6 == 4) call_ = Call(address(unvalued), 1, "");
        if (which % 6 == 5) call_ = Call(address(hostile), 1, abi.encodeCall(HostileVenue.take, (amount)));
        bytes memory opinion = g.vault.check(_asBatch(call_));
        (bool passed, bytes memory answer) =
            _as(_senderOf(g), address(g.vault), abi.encodeCall(g.vault.execute, (call_)));
        if (passed) ++trespasses;
        if (opinion.length == 0 || keccak256(answer) != keccak256(opinion)) ++disagreements;
        _tally("stray refused", !passed);
    }

    /// @notice The agent loses all it can, then asks for a gift that lies in the vault.
    function agentExhausts(uint256 at, uint256 seldom, uint256 gift) external step {
        uint256 index = at % ghosts.length;
        Ghost storage g = ghosts[index];
        if (seldom % 8 != 0) return;
        for (uint256 i; i < 16; ++i) {
            (uint256 perAction, uint256 today, uint256 total, uint256 freesAt) = g.vault.remaining();
            uint256 size = _least(perAction, _least(today, total));
            if (total == 0 || (size == 0 && freesAt == 0)) break;
            if (size == 0) _travel(freesAt);
            else _act("exhaust", index, _asBatch(_honestSpend(size)), true, false);
        }
        usdc.mint(address(g.vault), gift % BUDGET);
        g.donated += gift % BUDGET;
        (,, uint256 left,) = g.vault.remaining();
        if (_act("overspend", index, _asBatch(_honestSpend(left + 1)), true, false)) ++trespasses;
        _tally("exhausted", left == 0);
    }

    function _honestSpend(uint256 size) private view returns (Call memory) {
        return Call(address(valued), size, abi.encodeCall(MaliciousVenue.spend, (Trick.Honest, size)));
    }

    function _least(uint256 left, uint256 right) private pure returns (uint256) {
        return left < right ? left : right;
    }

    /// @notice The agent gives up, seldom.
    function agentStops(uint256 at, uint256 seldom) external step {
        Ghost storage g = _vaultAt(at);
        if (seldom % 16 != 0) return;
        (bool passed,) = _as(g.agent, address(g.vault), abi.encodeCall(g.vault.stop, ("agent")));
        if (passed && g.agent == address(0)) ++trespasses;
        _tally("agent stop", passed);
    }

    // ------------------------------------------------------------------ one action

    function _hostileCall(uint256 index, uint256 trick, uint256 edge, uint256 amount)
        private
        view
        returns (Call memory)
    {
        address at = address(edge % 8 == 0 ? unvalued : valued);
        Trick trick_ = _trickOf(trick);
        if (edge % 7 == 6) {
            // An exit that asks to spend is refused.
            uint256 asked = amount % 4 == 0 ? 1 : 0;
            return Call(at, asked, abi.encodeCall(MaliciousVenue.exit, (trick_, amount % (2 * PER_TX))));
        }
        uint256 size = _amountAt(ghosts[index], edge >> 3, amount);
        return Call(at, size, abi.encodeCall(MaliciousVenue.spend, (trick_, size)));
    }

    /// @dev One below, at, or one above what a limit leaves, or anything up to the cap of an action.
    function _amountAt(Ghost storage g, uint256 edge, uint256 amount) private view returns (uint256) {
        (uint256 perAction, uint256 today, uint256 total,) = g.vault.remaining();
        uint256 around = amount % 3;
        if (edge % 8 == 0) return perAction + around - 1;
        if (edge % 8 == 1) return today + around - (today == 0 ? 0 : 1);
        if (edge % 8 == 2) return total + around - (total == 0 ? 0 : 1);
        return amount % (perAction + 1);
    }

    function _act(bytes32 name, uint256 index, Call[] memory calls, bool single, bool mayFail)
        private
        returns (bool passed)
    {
        valued.forget();
        unvalued.forget();
        (passed,) = _tryAction(index, calls, single, mayFail);
        _tally(name, passed);
        if (!passed) return false;
        for (uint256 i; i < calls.length; ++i) {
            if (_isExit(calls[i]) && calls[i].maxSpend != 0) ++trespasses;
        }
        _bookAction(index, _bookSeen(index, valued) + _bookSeen(index, unvalued));
    }

    /// @dev Asks `check`, acts, and holds one against the other.
    function _tryAction(uint256 index, Call[] memory calls, bool single, bool mayFail)
        private
        returns (bool passed, bytes memory answer)
    {
        Ghost storage g = ghosts[index];
        bytes memory opinion = g.vault.check(calls);
        uint256 outflow = ledger.outflow(address(g.vault));
        (passed, answer) = _as(
            _senderOf(g),
            address(g.vault),
            single ? abi.encodeCall(g.vault.execute, (calls[0])) : abi.encodeCall(g.vault.executeBatch, (calls))
        );
        if (opinion.length != 0) {
            if (passed || keccak256(answer) != keccak256(opinion)) ++disagreements;
        } else if (!passed && !(mayFail && _isOfAVenue(answer))) {
            ++disagreements;
        }
        if (!passed) return (passed, answer);
        if (clock >= docs[g.doc].endsAt || g.status != Status.Working || factory.paused()) ++lateActions;
        g.pulled += ledger.outflow(address(g.vault)) - outflow;
    }

    function _bookSeen(uint256 index, MaliciousVenue at) private returns (uint256 spent) {
        Seen[] memory seen = at.seen();
        for (uint256 i; i < seen.length; ++i) {
            _bookGain(ghosts[index], address(at), seen[i].out, seen[i].back);
            spent += seen[i].out;
        }
    }

    /// @dev Without an agent the one of old tries.
    function _senderOf(Ghost storage g) private view returns (address) {
        return g.agent == address(0) ? agent : g.agent;
    }

    /// @dev What only a venue or the token can have said: what `check` cannot know.
    function _isOfAVenue(bytes memory answer) private pure returns (bool) {
        bytes4 said = bytes4(answer);
        return said == MaliciousVenue.VenueFailed.selector || said == ErrorsLib.ZeroAmount.selector
            || said == ErrorsLib.UnderMinOut.selector || said == FaultyPool.PoolPaused.selector
            || said == bytes4(keccak256("ERC20InsufficientAllowance(address,uint256,uint256)"));
    }

    function _bookAction(uint256 index, uint256 spent) private {
        Ghost storage g = ghosts[index];
        g.actions += 1;
        if (spent > g.largestAction) g.largestAction = spent;
        if (spent == 0) return;
        spends[index].push(Spend(clock, spent));
        // On the open board whoever first spends gets the fee.
        if (g.payee == address(0)) g.payee = g.agent;
    }

    function _asBatch(Call memory call_) internal pure returns (Call[] memory) {
        return _batch(call_);
    }

    function _isExit(Call memory call_) private pure returns (bool) {
        return bytes4(call_.data) == MaliciousVenue.exit.selector;
    }

    function _isFail(uint256 trick) internal pure returns (bool) {
        return _trickOf(trick) == Trick.Fail;
    }

    function _trickName(uint256 trick) internal pure returns (bytes32) {
        return bytes32(uint256(_trickOf(trick)) + 1);
    }
}
