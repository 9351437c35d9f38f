// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {ErrorsLib} from "../../../contracts/libraries/ErrorsLib.sol";
import {TickLib} from "../../../contracts/libraries/TickLib.sol";
import {Vm} from "../base/Vm.sol";

/// @notice The cheatcodes that read a file of numbers.
interface VmNumbers {
    function readFile(string calldata path) external view returns (string memory);
    function parseJsonUintArray(string calldata json, string calldata key) external pure returns (uint256[] memory);
    function parseJsonIntArray(string calldata json, string calldata key) external pure returns (int256[] memory);
}

/// @notice Quotes against those that Python computed with 200 digits (tests/vectors/ticks.py).
contract TickLibTest {
    Vm internal constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
    VmNumbers internal constant NUMBERS = VmNumbers(address(vm));
    int256 internal constant MAX = 887_272;

    function quoteDown(uint256 amount, int256 tick) external pure returns (uint256) {
        return TickLib.quoteDown(amount, tick);
    }

    function test_quoteDown__every_vector__is_not_above_it_and_less_than_a_millionth_of_a_millionth_below()
        public
        view
    {
        string memory json = NUMBERS.readFile("tests/vectors/ticks.json");
        int256[] memory ticks = NUMBERS.parseJsonIntArray(json, ".ticks");
        uint256[] memory amounts = NUMBERS.parseJsonUintArray(json, ".amounts");
        uint256[] memory quotes = NUMBERS.parseJsonUintArray(json, ".quotes");
        vm.assertLt(500, ticks.length);
        for (uint256 i; i < ticks.length; ++i) {
            uint256 quote = TickLib.quoteDown(amounts[i], ticks[i]);
            vm.assertLe(quote, quotes[i]);
            vm.assertLe(quotes[i] - quote, quotes[i] / 1e12 + 1);
        }
    }

    function test_quoteDown__at_tick_zero__is_the_amount() public pure {
        vm.assertEq(TickLib.quoteDown(123, 0), 123);
    }

    function test_quoteDown__beyond_the_last_tick__reverts() public {
        vm.expectRevert(_badTick());
        this.quoteDown(1, MAX + 1);
        vm.expectRevert(_badTick());
        this.quoteDown(1, -MAX - 1);
    }

    /// @dev A tick more is a ten-thousandth more, down to the rounding.
    function testFuzz_quoteDown__rises_by_a_ten_thousandth_with_each_tick(uint256 amount, int256 tick) public pure {
        tick = tick % MAX;
        amount = 1e24 + amount % 1e30;
        if (tick < 0) amount <<= 128;
        uint256 lower = TickLib.quoteDown(amount, tick);
        uint256 expected = lower + lower / 10_000;
        uint256 higher = TickLib.quoteDown(amount, tick + 1);
        vm.assertLe(higher > expected ? higher - expected : expected - higher, 2 + expected / 1e12);
    }

    /// @dev There and back brings no more than there was.
    function testFuzz_quoteDown__there_and_back__brings_no_more(uint256 amount, int256 tick) public pure {
        tick = tick % (MAX + 1);
        if (tick < 0) tick = -tick;
        amount = amount % 2 ** 128;
        vm.assertLe(TickLib.quoteDown(TickLib.quoteDown(amount, tick), -tick), amount);
        vm.assertLe(TickLib.quoteDown(TickLib.quoteDown(amount, -tick), tick), amount);
    }

    function _badTick() private pure returns (bytes memory) {
        return abi.encodeWithSelector(ErrorsLib.BadTerms.selector, bytes32("tick"), uint256(MAX) + 1, uint256(MAX));
    }
}
