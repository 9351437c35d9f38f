// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {MandateVault} from "../../../contracts/MandateVault.sol";
import {MandateVaultFactory, Offices} from "../../../contracts/MandateVaultFactory.sol";
import {TestVenue} from "../../../contracts/adapters/TestVenue.sol";
import {TestVenueAdapter} from "../../../contracts/adapters/TestVenueAdapter.sol";
import {X402Adapter} from "../../../contracts/adapters/X402Adapter.sol";
import {Call, Status, Totals} from "../../../contracts/interfaces/IMandateVault.sol";
import {IMandateVaultEvents} from "../../../contracts/interfaces/IMandateVaultEvents.sol";
import {
    KIND_COST,
    KIND_EXIT,
    KIND_SPEND,
    KIND_VALUED_SPEND,
    LOCK_SETTLE_GRACE,
    LOCK_WORKING,
    NO_PIN
} from "../../../contracts/libraries/ConstantsLib.sol";
import {ErrorsLib} from "../../../contracts/libraries/ErrorsLib.sol";
import {EventsLib} from "../../../contracts/libraries/EventsLib.sol";
import {RuleLib} from "../../../contracts/libraries/RuleLib.sol";
import {Funding, MandateTerms, Rule} from "../../../contracts/libraries/TermsLib.sol";
import {ERC1271Wallet} from "../../../contracts/mocks/ERC1271Wallet.sol";
import {FaultyUSDC} from "../../../contracts/mocks/FaultyUSDC.sol";
import {HostileVenue} from "../../../contracts/mocks/HostileVenue.sol";
import {MockRelayAdapter} from "../../../contracts/mocks/MockRelayAdapter.sol";
import {MockUSDC} from "../../../contracts/mocks/MockUSDC.sol";
import {Vm} from "./Vm.sol";

/// @notice The ground of every test: personas, a deployed house, one mandate, and words for what is done with it.
///
/// The mandate, unless a test changes `terms` before it creates the vault:
///   budget 1,000 USDC, 100 an action, 300 a rolling day, floor 800 (2,000 bps), fee 1,000 bps, 30 days.
/// Contracts are deployed from their artifacts, so that no test contract carries their code and all compile fast.
abstract contract Test {
    Vm internal constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));

    uint256 internal constant USD = 1e6;
    uint256 internal constant BUDGET = 1_000 * USD;
    uint256 internal constant PER_TX = 100 * USD;
    uint256 internal constant DAILY = 300 * USD;
    uint256 internal constant FLOOR = 800 * USD;
    uint64 internal constant NOW = 1_800_000_000;
    uint64 internal constant ENDS_AT = NOW + 30 days;
    uint64 internal constant GRACE_END = ENDS_AT + 1 days;
    uint64 internal constant BLOCK = 10_000;

    uint256 internal constant OWNER_KEY = 0xA11CE;
    uint256 internal constant AGENT_KEY = 0xA6E27;
    uint256 internal constant GUARD_KEY = 0x64A2D;
    uint256 internal constant STRANGER_KEY = 0x57A26;

    address internal owner = _persona("owner", OWNER_KEY);
    address internal agent = _persona("agent", AGENT_KEY);
    address internal guard = _persona("guard", GUARD_KEY);
    address internal stranger = _persona("stranger", STRANGER_KEY);
    address internal keeper = _persona("keeper", 0x4EE9);
    address internal admin = _persona("admin", 0xAD);
    address internal pauser = _persona("pauser", 0x9A);
    address internal keeperAdmin = _persona("keeperAdmin", 0x4A);
    address internal operator = _persona("operator", 0x09);
    address internal thief = _persona("thief", 0x7F);

    MockUSDC internal usdc;
    MandateVaultFactory internal factory;
    TestVenue internal venue;
    TestVenueAdapter internal adapter;
    X402Adapter internal x402;
    MockRelayAdapter internal relay;
    HostileVenue internal hostile;

    MandateTerms internal terms;
    Rule[] internal rules;

    function setUp() public virtual {
        vm.warp(NOW);
        vm.roll(BLOCK);
        _deployHouse("MockUSDC.sol");
        _draftTerms();
    }

    // ------------------------------------------------------------------ the house

    function _deployHouse(string memory token) internal {
        usdc = MockUSDC(vm.deployCode(token));
        Offices memory offices =
            Offices({admin: admin, pauser: pauser, keeperAdmin: keeperAdmin, keeper: keeper, guard: guard});
        factory = MandateVaultFactory(
            vm.deployCode("MandateVaultFactory.sol", abi.encode(address(usdc), uint48(3 days), offices))
        );
        venue = TestVenue(vm.deployCode("TestVenue.sol", abi.encode(address(usdc), operator, USD)));
        adapter = TestVenueAdapter(vm.deployCode("TestVenueAdapter.sol", abi.encode(address(usdc), address(venue))));
        x402 = X402Adapter(vm.deployCode("X402Adapter.sol", abi.encode(address(factory))));
        relay = MockRelayAdapter(vm.deployCode("MockRelayAdapter.sol", abi.encode(address(usdc))));
        hostile = HostileVenue(vm.deployCode("HostileVenue.sol", abi.encode(address(usdc))));

        vm.prank(operator);
        venue.setAdapter(address(adapter));
        vm.startPrank(admin);
        factory.listAdapter(address(adapter));
        factory.listAdapter(address(x402));
        factory.listAdapter(address(relay));
        vm.stopPrank();

        usdc.mint(owner, 10 * BUDGET);
        usdc.mint(address(venue), 100 * BUDGET);
        usdc.mint(address(hostile), 100 * BUDGET);
        usdc.mint(address(relay), 100 * BUDGET);
    }

    // ------------------------------------------------------------------ the terms

    function _draftTerms() internal {
        terms = MandateTerms({
            publicId: "m_4k2v7c3xqa",
            owner: owner,
            agent: agent,
            budgetUsdc: BUDGET,
            perTxCap: PER_TX,
            dailyCap: DAILY,
            stopFloor: FLOOR,
            stopFloorBps: 2_000,
            horizonDays: 30,
            endsAt: ENDS_AT,
            agentFeeBps: 1_000,
            approvalAbove: 0,
            onFloor: 0,
            allowedTargetsHash: 0,
            guardTargetsHash: keccak256("{}"),
            issuedAt: NOW,
            nonce: 1
        });
        _addRule(address(adapter), TestVenueAdapter.buy.selector, NO_PIN, KIND_VALUED_SPEND);
        _addRule(address(adapter), TestVenueAdapter.sell.selector, NO_PIN, KIND_EXIT);
        _addRule(address(x402), X402Adapter.pay.selector, NO_PIN, KIND_COST);
        _addRule(address(hostile), HostileVenue.take.selector, NO_PIN, KIND_SPEND);
        _addRule(address(hostile), HostileVenue.takeAndGive.selector, NO_PIN, KIND_SPEND);
        _addRule(address(hostile), HostileVenue.give.selector, NO_PIN, KIND_EXIT);
        _addRule(address(hostile), HostileVenue.giveTo.selector, 1, KIND_EXIT);
        _addRule(address(hostile), HostileVenue.reenter.selector, NO_PIN, KIND_EXIT);
        _addRule(address(hostile), HostileVenue.reenterView.selector, NO_PIN, KIND_EXIT);
        _addRule(address(hostile), HostileVenue.fail.selector, NO_PIN, KIND_EXIT);
    }

    /// @dev Keeps the rules sorted and their hash in the terms.
    function _addRule(address target, bytes4 selector, uint8 recipientWord, uint8 kind) internal {
        rules.push(Rule(target, selector, recipientWord, kind));
        for (uint256 i = rules.length - 1; i > 0; --i) {
            Rule memory lower = rules[i - 1];
            if (RuleLib.keyOf(lower.target, lower.selector) < RuleLib.keyOf(rules[i].target, rules[i].selector)) break;
            rules[i - 1] = rules[i];
            rules[i] = lower;
        }
        terms.allowedTargetsHash = keccak256(abi.encode(rules));
    }

    function _clearRules() internal {
        delete rules;
        terms.allowedTargetsHash = keccak256(abi.encode(rules));
    }

    function _digest() internal view returns (bytes32) {
        return factory.termsDigest(terms);
    }

    function _predicted() internal view returns (address) {
        return factory.predictVault(_digest());
    }

    // ------------------------------------------------------------------ signatures

    function _sign(uint256 key, bytes32 digest) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return abi.encodePacked(r, s, v);
    }

    function _typedDigest(bytes32 domainSeparator, bytes32 structHash) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(hex"1901", domainSeparator, structHash));
    }

    /// @dev A receive authorization that is valid now and for an hour.
    function _authorization(uint256 key, address from, address to, uint256 amount, bytes32 nonce)
        internal
        view
        returns (bytes memory)
    {
        bytes32 structHash = keccak256(
            abi.encode(
                usdc.RECEIVE_WITH_AUTHORIZATION_TYPEHASH(),
                from,
                to,
                amount,
                uint256(0),
                block.timestamp + 1 hours,
                nonce
            )
        );
        return _sign(key, _typedDigest(usdc.DOMAIN_SEPARATOR(), structHash));
    }

    function _noFunding() internal pure returns (Funding memory) {
        return Funding(0, 0, 0, "");
    }

    function _pull(uint256 amount) internal pure returns (Funding memory) {
        return Funding(amount, 0, 0, "");
    }

    function _authorizedFunding(uint256 key, uint256 amount) internal view returns (Funding memory) {
        return Funding(
            amount, 0, block.timestamp + 1 hours, _authorization(key, terms.owner, _predicted(), amount, _digest())
        );
    }

    // ------------------------------------------------------------------ vaults

    function _createEmpty() internal returns (MandateVault vault) {
        vm.prank(owner);
        vault = MandateVault(factory.createVault(terms, rules, "", _noFunding()));
        vm.label(address(vault), "vault");
        vm.prank(owner);
        usdc.approve(address(vault), type(uint256).max);
    }

    function _createWorking() internal returns (MandateVault vault) {
        vault = _createEmpty();
        vm.prank(owner);
        vault.deposit(BUDGET);
    }

    function _stop(MandateVault vault) internal {
        vm.prank(owner);
        vault.stop("owner_stop");
    }

    // ------------------------------------------------------------------ calls

    function _buy(uint256 amount) internal view returns (Call memory) {
        return Call(address(adapter), amount, abi.encodeCall(TestVenueAdapter.buy, (amount)));
    }

    function _sell(uint256 units) internal view returns (Call memory) {
        return Call(address(adapter), 0, abi.encodeCall(TestVenueAdapter.sell, (units)));
    }

    function _take(uint256 amount) internal view returns (Call memory) {
        return Call(address(hostile), amount, abi.encodeCall(HostileVenue.take, (amount)));
    }

    function _give(uint256 amount) internal view returns (Call memory) {
        return Call(address(hostile), 0, abi.encodeCall(HostileVenue.give, (amount)));
    }

    function _giveTo(uint256 amount, address to) internal view returns (Call memory) {
        return Call(address(hostile), 0, abi.encodeCall(HostileVenue.giveTo, (amount, to)));
    }

    function _reenter(bytes memory data) internal view returns (Call memory) {
        return Call(address(hostile), 0, abi.encodeCall(HostileVenue.reenter, (data)));
    }

    function _reenterView(bytes memory data) internal view returns (Call memory) {
        return Call(address(hostile), 0, abi.encodeCall(HostileVenue.reenterView, (data)));
    }

    function _batch(Call memory first) internal pure returns (Call[] memory calls) {
        calls = new Call[](1);
        calls[0] = first;
    }

    function _batch(Call memory first, Call memory second) internal pure returns (Call[] memory calls) {
        calls = new Call[](2);
        (calls[0], calls[1]) = (first, second);
    }

    function _batch(Call memory first, Call memory second, Call memory third)
        internal
        pure
        returns (Call[] memory calls)
    {
        calls = new Call[](3);
        (calls[0], calls[1], calls[2]) = (first, second, third);
    }

    function _execute(MandateVault vault, Call memory call_) internal returns (bytes memory) {
        vm.prank(agent);
        return vault.execute(call_);
    }

    /// @dev Creates by hand, so that the constructor's own revert is what the test sees.
    function _create(string memory artifact, bytes memory arguments) internal {
        bytes memory code = bytes.concat(vm.getCode(artifact), arguments);
        assembly ("memory-safe") {
            if iszero(create(0, add(code, 0x20), mload(code))) {
                returndatacopy(0, 0, returndatasize())
                revert(0, returndatasize())
            }
        }
    }

    // ------------------------------------------------------------------ expectations

    function _expectRevert(bytes memory data) internal {
        vm.expectRevert(data);
    }

    function _expectEmit(address emitter) internal {
        vm.expectEmit(true, true, true, true, emitter);
    }

    function assertEq(uint256 left, uint256 right) internal pure {
        vm.assertEq(left, right);
    }

    function assertEq(address left, address right) internal pure {
        vm.assertEq(left, right);
    }

    function assertEq(bytes32 left, bytes32 right) internal pure {
        vm.assertEq(left, right);
    }

    function assertEq(bytes memory left, bytes memory right) internal pure {
        vm.assertEq(left, right);
    }

    function assertEq(string memory left, string memory right) internal pure {
        vm.assertEq(left, right);
    }

    function assertEq(Status left, Status right) internal pure {
        vm.assertEq(uint256(left), uint256(right));
    }

    function assertTrue(bool condition) internal pure {
        vm.assertEq(condition, true);
    }

    function assertFalse(bool condition) internal pure {
        vm.assertEq(condition, false);
    }

    function _persona(string memory name, uint256 key) private returns (address account) {
        account = vm.addr(key);
        vm.label(account, name);
    }
}
