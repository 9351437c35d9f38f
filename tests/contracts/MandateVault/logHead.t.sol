// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

/// @dev The head is computed here from what the chain logged, and compared with the vault's after every action.
contract LogHeadTest is Test {
    bytes32 private constant SLOT = bytes32(uint256(5));

    MandateVault internal vault;
    bytes32 private head;
    uint256 private logs;
    uint256 private height = BLOCK;
    uint256 private time = NOW;

    function setUp() public override {
        super.setUp();
        _addRule(address(relay), MockRelayAdapter.take.selector, NO_PIN, KIND_SPEND);
    }

    function _created() private {
        vault = _createWorking();
        head = _digest();
    }

    /// @dev Time and height of the next action, kept here: under via-ir block.number may be read before the roll.
    function _next() private {
        (height, time) = (height + 7, time + 100);
        vm.roll(height);
        vm.warp(time);
        vm.recordLogs();
    }

    function _chain() private {
        Vm.Log[] memory found = vm.getRecordedLogs();
        for (uint256 i; i < found.length; ++i) {
            if (found[i].emitter != address(vault)) continue;
            bytes32 content = keccak256(bytes.concat(abi.encodePacked(found[i].topics), found[i].data));
            head = keccak256(abi.encode(head, height, time, content));
            ++logs;
        }
    }

    function _assertHead(uint256 count) private {
        _chain();
        assertEq(logs, count);
        assertEq(vault.logHead(), head);
        assertEq(vm.load(address(vault), SLOT), head);
    }

    function test_logHead__of_a_vault_without_logs__is_the_digest() public {
        vault = _createEmpty();
        assertEq(vault.logHead(), _digest());
        assertEq(vm.load(address(vault), SLOT), _digest());
    }

    function test_logHead__creation_with_the_whole_budget__has_the_deposit() public {
        _next();
        _created();
        _assertHead(1);
    }

    function test_logHead__a_batch_of_three__has_each_call() public {
        _next();
        _created();
        _chain();
        _next();
        Call[] memory calls = _batch(_buy(USD), _sell(USD / 2), _buy(USD));
        vm.prank(agent);
        vault.executeBatch(calls);
        _assertHead(4);
    }

    function test_logHead__a_mark_that_stops__has_both() public {
        _next();
        _created();
        _chain();
        _next();
        for (uint256 i; i < 3; ++i) {
            _execute(vault, _buy(PER_TX));
        }
        vm.prank(operator);
        venue.setPrice(1);
        vm.prank(keeper);
        vault.mark();
        _assertHead(6);
    }

    function test_logHead__a_mark__has_it() public {
        _next();
        _created();
        _chain();
        _next();
        vm.prank(keeper);
        vault.mark();
        _assertHead(2);
    }

    function test_logHead__the_open_boards_first_spend__has_call_and_payee() public {
        terms.agent = address(0);
        _next();
        _created();
        _chain();
        _next();
        vm.prank(owner);
        vault.setAgent(agent);
        _execute(vault, _buy(1));
        _assertHead(4);
    }

    function test_logHead__what_adapters_log__is_not_in_it() public {
        _next();
        _created();
        _chain();
        _next();
        _execute(vault, _buy(USD));
        _assertHead(2);
    }

    function test_logHead__a_refused_action__leaves_it() public {
        _next();
        _created();
        _chain();
        _next();
        Call memory tooMuch = _buy(PER_TX + 1);
        vm.prank(agent);
        (bool done,) = address(vault).call(abi.encodeCall(vault.execute, (tooMuch)));
        assertTrue(!done);
        _assertHead(1);
    }

    function test_logHead__a_whole_life__has_every_log() public {
        _next();
        _created();
        _chain();

        _next();
        _execute(vault, _buy(50 * USD));
        _assertHead(2);

        _next();
        vm.prank(owner);
        vault.removeAgent();
        vm.prank(owner);
        vault.setAgent(stranger);
        vm.prank(agent);
        vault.setPayee(stranger);
        _assertHead(5);

        _next();
        usdc.mint(address(relay), 20 * USD);
        relay.pushProceeds(address(vault), 20 * USD);
        _assertHead(6);

        _next();
        vm.prank(owner);
        vault.stop("owner");
        _assertHead(7);

        _next();
        vm.prank(owner);
        vault.unwind(_batch(_sell(50 * USD)));
        _assertHead(8);

        _next();
        vm.prank(owner);
        vault.settle();
        _assertHead(9);

        _next();
        vm.prank(owner);
        vault.withdraw(address(usdc), owner, 10 * USD);
        _assertHead(10);
    }
}
