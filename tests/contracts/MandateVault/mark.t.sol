// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

contract MarkTest is Test {
    MandateVault internal vault;

    function setUp() public override {
        super.setUp();
        vault = _createWorking();
    }

    function _mark(uint256 worth, uint64 asOfBlock) private {
        vm.prank(keeper);
        vault.mark(worth, asOfBlock, "evidence");
    }

    function test_mark__above_the_floor__is_recorded() public {
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Marked(FLOOR + 1, BLOCK, "evidence");
        _mark(FLOOR + 1, BLOCK);
        assertEq(vault.status(), Status.Working);
        assertEq(vault.totals().lastMarkBlock, BLOCK);
    }

    function test_mark__at_the_floor__stops_in_the_same_transaction() public {
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Marked(FLOOR, BLOCK, "evidence");
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Stopped(keeper, "stop_line", FLOOR, true);
        _mark(FLOOR, BLOCK);

        assertEq(vault.status(), Status.Stopped);
        assertEq(vault.agent(), address(0));
        assertEq(uint256(vault.stoppedAt()), NOW);
    }

    function test_mark__same_block_again__reverts() public {
        _mark(BUDGET, BLOCK);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MarkNotRising.selector, BLOCK, BLOCK));
        _mark(BUDGET, BLOCK);
    }

    function test_mark__next_block__passes() public {
        _mark(BUDGET, BLOCK - 1);
        _mark(BUDGET, BLOCK);
        assertEq(vault.totals().lastMarkBlock, BLOCK);
    }

    function test_mark__block_zero__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MarkNotRising.selector, uint64(0), uint64(0)));
        _mark(BUDGET, 0);
    }

    function test_mark__future_block__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MarkInFuture.selector, BLOCK + 1, BLOCK));
        _mark(BUDGET, BLOCK + 1);
    }

    function test_mark__256_blocks_old__passes() public {
        _mark(BUDGET, BLOCK - 256);
        assertEq(vault.totals().lastMarkBlock, BLOCK - 256);
    }

    function test_mark__257_blocks_old__reverts() public {
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MarkTooOld.selector, BLOCK - 257, BLOCK - 256));
        _mark(BUDGET, BLOCK - 257);
    }

    function test_mark__others__revert() public {
        address[4] memory others = [owner, agent, admin, stranger];
        for (uint256 i; i < others.length; ++i) {
            _expectRevert(abi.encodeWithSelector(ErrorsLib.NotKeeper.selector, others[i]));
            vm.prank(others[i]);
            vault.mark(0, BLOCK, "");
        }
    }

    function test_mark__while_funding__reverts() public {
        terms.nonce = 2;
        vault = _createEmpty();
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateNotFunded.selector, uint256(0), BUDGET));
        _mark(0, BLOCK);
    }

    function test_mark__after_a_stop__reverts() public {
        _stop(vault);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateStopped.selector, NOW));
        _mark(0, BLOCK);
    }

    function test_mark__after_the_end_and_not_settled__passes() public {
        vm.warp(ENDS_AT);
        _mark(BUDGET, BLOCK);
        assertEq(vault.totals().lastMarkBlock, BLOCK);
    }

    function test_mark__pauses_of_the_factory_do_not_gate_it() public {
        vm.prank(pauser);
        factory.pause();
        _mark(FLOOR, BLOCK);
        assertEq(vault.status(), Status.Stopped);
    }
}
