// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

import {Erc6492Validator} from "../../../contracts/Erc6492Validator.sol";
import "../base/Test.sol";

/// @notice An honest router with a callback, as many pools have: it pulls what it is paid, pays it on, and tells whoever
/// the trade names before it is done.
contract CallbackRouter {
    IERC20 private immutable USDC;

    constructor(address usdc) {
        USDC = IERC20(usdc);
    }

    function swap(uint256 amountIn, address pool, address told) external {
        require(USDC.transferFrom(msg.sender, pool, amountIn));
        Accomplice(told).onSwap(msg.sender, amountIn);
    }
}

/// @notice An honest lender: what it owes an account it pays to that account, whoever asks.
contract Lender {
    IERC20 private immutable USDC;
    mapping(address account => uint256) public owed;

    constructor(address usdc) {
        USDC = IERC20(usdc);
    }

    function lend(uint256 amount) external {
        owed[msg.sender] += amount;
        require(USDC.transferFrom(msg.sender, address(this), amount));
    }

    function repay(address account, uint256 amount) external {
        owed[account] -= amount;
        require(USDC.transfer(account, amount));
    }
}

/// @notice The agent's: in the middle of each trade it has the lender pay the vault as much as the trade took.
contract Accomplice {
    Lender private immutable LENDER;

    constructor(address lender) {
        LENDER = Lender(lender);
    }

    function onSwap(address vault, uint256 amount) external {
        LENDER.repay(vault, amount);
    }
}

/// @notice A venue whose receiver stands in a dynamic argument.
contract BatchRouter {
    IERC20 private immutable USDC;

    constructor(address usdc) {
        USDC = IERC20(usdc);
    }

    function exit(address[] calldata path) external {
        require(USDC.transfer(path[path.length - 1], 1e6));
    }
}

/// @notice Pitfalls 24 to 32: spending that is hidden, the grace cut short, offices beyond their rights, the project's own
/// contracts as targets, decoys, and money where nobody values it.
contract DoorAttacksTest is Test {
    MandateVault internal vault;
    CallbackRouter internal router;
    Lender internal lender;
    Accomplice internal accomplice;
    BatchRouter internal batches;

    function setUp() public override {
        super.setUp();
        router = new CallbackRouter(address(usdc));
        lender = new Lender(address(usdc));
        accomplice = new Accomplice(address(lender));
        batches = new BatchRouter(address(usdc));
        usdc.mint(address(batches), BUDGET);
        _addRule(address(router), CallbackRouter.swap.selector, NO_PIN, KIND_SPEND);
        _addRule(address(lender), Lender.lend.selector, NO_PIN, KIND_SPEND);
        _addRule(address(batches), BatchRouter.exit.selector, 1, KIND_EXIT);
        vault = _createWorking();
    }

    function _tryAs(address who, bytes memory data) private returns (bool passed, bytes memory answer) {
        vm.prank(who);
        (passed, answer) = address(vault).call(data);
    }

    // ------------------------------------------------------------------ 24 money pushed in while a call runs

    function _lendForThreeDays() private {
        for (uint256 i; i < 9; ++i) {
            if (i % 3 == 0) vm.warp(NOW + (i / 3 + 1) * 1 days);
            _execute(vault, Call(address(lender), PER_TX, abi.encodeCall(Lender.lend, (PER_TX))));
        }
        vm.warp(NOW + 5 days);
    }

    function _swapForTheThief() private view returns (Call memory) {
        return Call(address(router), PER_TX, abi.encodeCall(CallbackRouter.swap, (PER_TX, thief, address(accomplice))));
    }

    function test_pitfall_24__the_vaults_own_money_pushed_back_in_each_call__does_not_hide_what_leaves() public {
        _lendForThreeDays();
        for (uint256 i; i < 3; ++i) {
            _execute(vault, _swapForTheThief());
        }
        bytes memory reason = abi.encodeWithSelector(ErrorsLib.OverDailyCap.selector, PER_TX, uint256(0));
        assertEq(vault.check(_batch(_swapForTheThief())), reason);
        _expectRevert(reason);
        _execute(vault, _swapForTheThief());
        assertEq(usdc.balanceOf(thief), DAILY);
    }

    function test_pitfall_24__a_call_that_ends_with_the_balance_it_began_with__has_spent_all_the_same() public {
        _lendForThreeDays();
        uint256 balance = usdc.balanceOf(address(vault));
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Executed(9, address(router), CallbackRouter.swap.selector, PER_TX, PER_TX, balance);
        _execute(vault, _swapForTheThief());
        (, uint256 today, uint256 total,) = vault.remaining();
        assertEq(today, DAILY - PER_TX);
        assertEq(total, balance);
    }

    // ------------------------------------------------------------------ 25 a second key in the grace

    function test_pitfall_25__second_key_that_was_set_in_the_last_second__does_not_end_the_grace() public {
        vm.warp(ENDS_AT - 1);
        vm.prank(owner);
        vault.setAgent(stranger);
        vm.warp(ENDS_AT);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.SettleGrace.selector, GRACE_END));
        vm.prank(stranger);
        vault.stop("second key");
    }

    function test_pitfall_25__second_key__can_not_be_set_in_the_grace() public {
        vm.warp(ENDS_AT);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, ENDS_AT));
        vm.prank(owner);
        vault.setAgent(stranger);
    }

    function test_pitfall_25__price_that_falls_to_the_floor_in_the_grace__lets_nobody_but_the_keeper_stop() public {
        _execute(vault, _buy(PER_TX));
        usdc.mint(address(vault), 1);
        vm.warp(NOW + 1 days);
        _execute(vault, _buy(PER_TX));
        _execute(vault, _buy(PER_TX));
        vm.prank(operator);
        venue.setPrice(1);
        vm.warp(ENDS_AT);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.MandateEnded.selector, ENDS_AT));
        vm.prank(owner);
        vault.enforceStopLine();
        vm.prank(keeper);
        vault.mark();
        assertEq(vault.status(), Status.Stopped);
    }

    // ------------------------------------------------------------------ 26 the keeper as a seller

    function test_pitfall_26__keeper_at_a_bad_price__sells_nothing() public {
        _execute(vault, _buy(PER_TX));
        vm.prank(operator);
        venue.setPrice(1);
        _stop(vault);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotOwner.selector, keeper));
        vm.prank(keeper);
        vault.unwind(_batch(_sell(PER_TX)));
        assertEq(venue.positionOf(address(vault)), PER_TX);
    }

    // ------------------------------------------------------------------ 27 the contract's word

    function test_pitfall_27__stop_by_a_party__can_not_pass_for_the_stop_line() public {
        address[3] memory parties = [owner, agent, keeper];
        for (uint256 i; i < parties.length; ++i) {
            _expectRevert(abi.encodeWithSelector(ErrorsLib.ReservedReason.selector, bytes32("stop_line")));
            vm.prank(parties[i]);
            vault.stop("stop_line");
        }
    }

    // ------------------------------------------------------------------ 28 the zero address

    function test_pitfall_28__zero_address_in_a_simulation__is_nobody() public {
        vm.prank(owner);
        vault.removeAgent();
        bytes[3] memory entries = [
            abi.encodeCall(vault.stop, ("nobody")),
            abi.encodeCall(vault.execute, (_buy(1))),
            abi.encodeCall(vault.executeBatch, (_batch(_buy(1))))
        ];
        for (uint256 i; i < entries.length; ++i) {
            (bool passed, bytes memory answer) = _tryAs(address(0), entries[i]);
            assertFalse(passed);
            assertEq(answer, abi.encodeWithSelector(ErrorsLib.NoAgent.selector));
        }
    }

    function test_pitfall_28__zero_address__is_not_the_payee_of_the_open_board() public {
        terms.agent = address(0);
        vault = _createWorking();
        assertEq(vault.payee(), address(0));
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotPayee.selector, address(0)));
        vm.prank(address(0));
        vault.setPayee(thief);
    }

    function test_pitfall_28__without_an_agent__everybody_is_told_the_same() public {
        vm.prank(owner);
        vault.removeAgent();
        bytes memory reason = abi.encodeWithSelector(ErrorsLib.NoAgent.selector);
        assertEq(vault.check(_batch(_buy(1))), reason);
        address[3] memory callers = [agent, stranger, keeper];
        for (uint256 i; i < callers.length; ++i) {
            (, bytes memory answer) = _tryAs(callers[i], abi.encodeCall(vault.execute, (_buy(1))));
            assertEq(answer, reason);
        }
    }

    // ------------------------------------------------------------------ 29 the house's own contracts

    function _expectForbidden(address target, bytes4 selector) private {
        _clearRules();
        _addRule(target, selector, NO_PIN, KIND_SPEND);
        _expectRevert(abi.encodeWithSelector(ErrorsLib.ForbiddenTarget.selector, uint256(0), target));
        vm.prank(owner);
        factory.createVault(terms, rules, "", _noFunding());
    }

    function test_pitfall_29__validator__is_no_target() public {
        _expectForbidden(factory.validator(), Erc6492Validator.isValidSignature.selector);
    }

    function test_pitfall_29__validator_with_an_allowance__would_spend_it_for_whoever_signs() public {
        // Why it is none: the call that a signature names is made by the validator, allowance and all.
        address validator = factory.validator();
        vm.prank(stranger);
        usdc.approve(validator, PER_TX);
        usdc.mint(stranger, PER_TX);
        bytes memory steal = abi.encodeCall(usdc.transferFrom, (stranger, thief, PER_TX));
        bytes memory wrapped = bytes.concat(
            abi.encode(address(usdc), steal, bytes("")),
            bytes32(0x6492649264926492649264926492649264926492649264926492649264926492)
        );
        Erc6492Validator(validator).isValidSignature(address(0xDEAD), 0, wrapped);
        assertEq(usdc.balanceOf(thief), PER_TX);
    }

    function test_pitfall_29__implementation__is_no_target() public {
        _expectForbidden(factory.implementation(), MandateVault.receiveProceeds.selector);
    }

    function test_pitfall_29__implementation__takes_no_proceeds() public {
        address implementation = factory.implementation();
        uint256 held = usdc.balanceOf(address(relay));
        _expectRevert(abi.encodeWithSelector(ErrorsLib.NotAVault.selector, implementation));
        relay.pushProceeds(implementation, PER_TX);
        assertEq(usdc.balanceOf(address(relay)), held);
    }

    // ------------------------------------------------------------------ 30 an exit that spends

    function test_pitfall_30__exit_with_an_allowance__is_refused_before_it_runs() public {
        Call memory call_ = Call(address(hostile), 1, abi.encodeCall(HostileVenue.give, (0)));
        bytes memory reason = abi.encodeWithSelector(ErrorsLib.ExitNotFree.selector, uint256(1));
        assertEq(vault.check(_batch(call_)), reason);
        _expectRevert(reason);
        _execute(vault, call_);
        _expectRevert(reason);
        vm.prank(agent);
        vault.executeBatch(_batch(_take(1), call_));
    }

    // ------------------------------------------------------------------ 31 a pin inside a dynamic argument

    /// @dev The vault can't know types. The pinned word is the length of the array here, and the caller moves the array
    /// behind a decoy, so the pin holds and the thief is paid. Owners are not offered such a pin: the API refuses it.
    function test_pitfall_31__pin_on_a_word_of_a_dynamic_argument__is_a_decoy() public {
        bytes memory data = abi.encodePacked(
            BatchRouter.exit.selector,
            uint256(64),
            uint256(uint160(address(vault))),
            uint256(1),
            uint256(uint160(thief))
        );
        _execute(vault, Call(address(batches), 0, data));
        assertEq(usdc.balanceOf(thief), USD);
    }

    function test_pitfall_31__pin_on_a_static_address__holds() public {
        _expectRevert(
            abi.encodeWithSelector(
                ErrorsLib.RecipientNotVault.selector,
                address(hostile),
                HostileVenue.giveTo.selector,
                uint8(1),
                bytes32(uint256(uint160(thief)))
            )
        );
        _execute(vault, _giveTo(USD, thief));
    }

    // ------------------------------------------------------------------ 32 money where nobody values it

    function test_pitfall_32__what_the_relay_brings_home__is_not_counted_at_cost_as_well() public {
        for (uint256 i; i < 3; ++i) {
            _execute(vault, _take(PER_TX));
        }
        relay.pushProceeds(address(vault), 150 * USD);
        (uint256 worth, uint256 unvaluedOut) = vault.worth();
        assertEq(worth, BUDGET);
        assertEq(unvaluedOut, 150 * USD);
        relay.pushProceeds(address(vault), 150 * USD);
        (worth, unvaluedOut) = vault.worth();
        assertEq(worth, BUDGET);
        assertEq(unvaluedOut, 0);
    }

    function test_pitfall_32__one_unit_out_where_nobody_values_it__switches_no_stop_off() public {
        _execute(vault, _take(1));
        _execute(vault, _buy(PER_TX - 1));
        vm.warp(NOW + 1 days);
        _execute(vault, _buy(PER_TX));
        _execute(vault, _buy(PER_TX));
        vm.prank(operator);
        venue.setPrice(1);

        // 700 USDC of cash, the unit at cost, and positions of 299.999999 that are worth 299 base units.
        _expectEmit(address(vault));
        emit IMandateVaultEvents.Stopped(stranger, "stop_line", 700 * USD + 1 + 299, 1, true);
        vm.prank(stranger);
        vault.enforceStopLine();
        assertEq(vault.status(), Status.Stopped);
    }
}
