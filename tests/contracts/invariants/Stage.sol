// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "./Markets.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IMandateVault} from "../../../contracts/interfaces/IMandateVault.sol";
import {IMandateVaultFactory} from "../../../contracts/interfaces/IMandateVaultFactory.sol";
import {LedgerUSDC} from "./LedgerUSDC.sol";
import {MaliciousVenue, Seen, Trick} from "./MaliciousVenue.sol";

/// @notice One action of the agent: when, and what left the vault by it.
struct Spend {
    uint256 at;
    uint256 amount;
}

/// @notice What the test knows of a vault without asking it: booked from what actors did and what the token moved.
struct Ghost {
    MandateVault vault;
    uint256 doc;
    uint256 deposited;
    uint256 donated;
    uint256 spent;
    uint256 received;
    uint256 withdrawn;
    uint256 feePaid;
    uint256 unvaluedOut;
    /// What left the vault in the agent's transactions, by the token's books.
    uint256 pulled;
    uint256 largestAction;
    uint256 actions;
    uint256 marks;
    uint256 stoppedAt;
    Status status;
    address agent;
    address payee;
}

/// @notice What a reader of the logs knows of a vault.
struct Replay {
    uint256 deposited;
    uint256 spent;
    uint256 received;
    uint256 withdrawn;
    uint256 feePaid;
    uint256 unvaluedOut;
    uint256 actions;
    /// The newest mark: worth, its part at cost, and how many there were.
    uint256 lastMark;
    uint256 markedOut;
    uint256 marks;
    /// The balance that the newest event of USDC named, and what the token moved past the vault since.
    uint256 balance;
    Status status;
    address agent;
    address payee;
    uint256 created;
}

/// @title Stage
/// @notice The house, five documents of three owners, a clock, the ghost books and the replay of the logs.
///
/// Actors call through `_as`, which never reverts: what the contracts refuse is an answer too, and is judged.
abstract contract Stage is Markets {
    uint256 internal constant DOCS = 5;
    uint256 internal constant NEIGHBOUR_KEY = 0x2E16;

    LedgerUSDC public ledger;
    LedgerUSDC public airdrop;
    MandateVaultFactory public twin;
    MaliciousVenue public valued;
    MaliciousVenue public unvalued;
    address internal neighbour = vm.addr(NEIGHBOUR_KEY);
    ERC1271Wallet internal wallet;

    MandateTerms[DOCS] internal docs;
    Ghost[] internal ghosts;
    mapping(uint256 vaultIndex => Spend[]) internal spends;
    mapping(address vault => Replay) internal replays;
    mapping(uint256 doc => bool) internal isOpened;
    mapping(uint256 doc => bool) internal isCancelled;

    uint256 internal clock = NOW;
    uint256 internal height = BLOCK;

    // Every breach is counted where it is seen. All must stay 0.
    uint256 public trespasses;
    uint256 public forgeries;
    uint256 public regressions;
    uint256 public lateActions;
    uint256 public disagreements;
    uint256 public wrongRefusals;
    uint256 public strayVaults;
    uint256 public foreignEvents;

    /// @notice How often an action went through, by its name.
    mapping(bytes32 action => uint256) public done;

    function setUp() public override {
        vm.warp(NOW);
        vm.roll(BLOCK);
        _deployHouse("LedgerUSDC.sol");
        ledger = LedgerUSDC(address(usdc));
        airdrop = LedgerUSDC(vm.deployCode("LedgerUSDC.sol"));
        wallet = new ERC1271Wallet(owner);
        Offices memory offices =
            Offices({admin: admin, pauser: pauser, keeperAdmin: keeperAdmin, keeper: keeper, guard: guard});
        twin = MandateVaultFactory(
            vm.deployCode("MandateVaultFactory.sol", abi.encode(address(usdc), uint48(3 days), offices))
        );
        valued = _newVenue();
        unvalued = _newVenue();
        vm.prank(admin);
        factory.listAdapter(address(valued));
        _deployMarkets();
        _draftDocs();
        valued.setEntries(_vaultEntries(address(valued)), _factoryEntries(address(valued)));
        unvalued.setEntries(_vaultEntries(address(unvalued)), _factoryEntries(address(unvalued)));
        _fundActors();
        _open(0, OWNER_KEY);
    }

    function _newVenue() private returns (MaliciousVenue made) {
        made = MaliciousVenue(vm.deployCode("MaliciousVenue.sol", abi.encode(address(usdc), thief, address(factory))));
        usdc.mint(address(made), 1_000 * BUDGET);
    }

    // ------------------------------------------------------------------ the documents

    function _draftDocs() private {
        _draftTerms();
        _clearRules();
        _addMarketRules();
        _addRule(address(valued), MaliciousVenue.spend.selector, NO_PIN, KIND_VALUED_SPEND);
        _addRule(address(valued), MaliciousVenue.exit.selector, NO_PIN, KIND_EXIT);
        _addRule(address(unvalued), MaliciousVenue.spend.selector, NO_PIN, KIND_SPEND);
        _addRule(address(unvalued), MaliciousVenue.exit.selector, NO_PIN, KIND_EXIT);

        for (uint256 i; i < DOCS; ++i) {
            docs[i] = terms;
            docs[i].nonce = i;
            // A line near enough to be crossed: a loss of 5 %.
            (docs[i].stopFloorBps, docs[i].stopFloor) = (500, 950 * USD);
        }
        // The open board: no agent, no caps but the budget, all of the gain to the agent, two days.
        docs[1].agent = address(0);
        (docs[1].perTxCap, docs[1].dailyCap) = (BUDGET, BUDGET);
        (docs[1].agentFeeBps, docs[1].endsAt) = (10_000, NOW + 2 days);
        // A neighbour's small mandate of odd numbers and without a fee.
        docs[2].owner = neighbour;
        (docs[2].budgetUsdc, docs[2].perTxCap, docs[2].dailyCap) = (1_000_003, 77_777, 333_331);
        (docs[2].stopFloorBps, docs[2].stopFloor, docs[2].agentFeeBps) = (10_000, 0, 0);
        docs[2].endsAt = NOW + 9 days;
        // The day is tighter than the action, and the end is near.
        (docs[3].perTxCap, docs[3].dailyCap, docs[3].endsAt) = (DAILY, PER_TX, NOW + 5 days);
        // A contract wallet.
        docs[4].owner = address(wallet);
    }

    function _fundActors() private {
        address[3] memory owners = [owner, neighbour, address(wallet)];
        for (uint256 i; i < owners.length; ++i) {
            usdc.mint(owners[i], 1_000 * BUDGET);
            for (uint256 d; d < DOCS; ++d) {
                address vault = factory.predictVault(factory.termsDigest(docs[d]));
                vm.prank(owners[i]);
                usdc.approve(vault, type(uint256).max);
            }
        }
    }

    function _keyOf(uint256 doc) internal view returns (uint256) {
        return docs[doc].owner == neighbour ? NEIGHBOUR_KEY : OWNER_KEY;
    }

    /// @dev Opens the vault by the owner's signature and pays the whole budget in, before any sequence begins.
    function _open(uint256 doc, uint256 key) private {
        vm.recordLogs();
        MandateTerms memory document = docs[doc];
        address vault = factory.createVault(document, rules, _sign(key, factory.termsDigest(document)), _noFunding());
        _bookVault(doc, vault);
        vm.prank(document.owner);
        MandateVault(vault).deposit(document.budgetUsdc);
        _bookDeposit(ghosts.length - 1, document.budgetUsdc);
        _end();
    }

    // ------------------------------------------------------------------ a step

    /// @dev The clock is the test's own, so that it holds whatever the runner does with the chain's.
    modifier step() {
        vm.warp(clock);
        vm.roll(height);
        vm.recordLogs();
        _;
        _end();
    }

    function _end() private {
        _replayLogs();
        for (uint256 i; i < ghosts.length; ++i) {
            Ghost storage g = ghosts[i];
            uint256 stoppedAt = g.vault.stoppedAt();
            if (g.vault.status() < g.status) ++regressions;
            if (g.stoppedAt != 0 && stoppedAt != g.stoppedAt) ++regressions;
            if (stoppedAt != 0 && g.vault.agent() != address(0)) ++regressions;
            g.status = g.vault.status();
            g.stoppedAt = stoppedAt;
            if (stoppedAt != 0 || g.status == Status.Settled) g.agent = address(0);
        }
    }

    /// @dev Only forward, and never beyond all ends at once: a base chain's two seconds a block.
    function _travel(uint256 to) internal {
        if (to <= clock || to > GRACE_END + 2) return;
        height += (to - clock) / 2;
        clock = to;
        vm.warp(clock);
        vm.roll(height);
    }

    function _as(address who, address target, bytes memory data) internal returns (bool passed, bytes memory answer) {
        vm.prank(who);
        (passed, answer) = target.call(data);
        _keepLogs(passed);
    }

    /// @dev The recorder also holds the logs of what was reverted; a chain does not.
    function _keepLogs(bool passed) internal {
        if (passed) _replayLogs();
        else vm.getRecordedLogs();
    }

    function _tally(bytes32 action, bool passed) internal {
        if (passed) ++done[action];
    }

    function _vaultAt(uint256 seed) internal view returns (Ghost storage) {
        return ghosts[seed % ghosts.length];
    }

    function _trickOf(uint256 word) internal pure returns (Trick) {
        return Trick(uint8(word) % (uint8(type(Trick).max) + 1));
    }

    function _bound(uint256 value, uint256 low, uint256 high) internal pure returns (uint256) {
        return low + value % (high - low + 1);
    }

    // ------------------------------------------------------------------ the ghost books

    function _bookVault(uint256 doc, address vault) internal {
        isOpened[doc] = true;
        if (vault != factory.predictVault(factory.termsDigest(docs[doc])) || !factory.isVault(vault)) ++strayVaults;
        Ghost storage g = ghosts.push();
        (g.vault, g.doc) = (MandateVault(vault), doc);
        (g.agent, g.payee) = (docs[doc].agent, docs[doc].agent);
    }

    function _bookDeposit(uint256 index, uint256 amount) internal {
        ghosts[index].deposited += amount;
    }

    /// @dev While Funding donations leave first, then deposits; afterwards it is a withdrawal.
    function _bookWithdrawal(Ghost storage g, uint256 amount, bool wasFunding) internal {
        if (!wasFunding) {
            g.withdrawn += amount;
            return;
        }
        uint256 fromDonations = amount < g.donated ? amount : g.donated;
        g.donated -= fromDonations;
        g.deposited -= amount - fromDonations;
    }

    function _bookGain(Ghost storage g, address at, uint256 spent, uint256 received) internal {
        g.spent += spent;
        g.received += received;
        if (at != address(unvalued)) return;
        g.unvaluedOut += spent;
        g.unvaluedOut -= received < g.unvaluedOut ? received : g.unvaluedOut;
    }

    // ------------------------------------------------------------------ the replay of the logs

    function _replayLogs() private {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i; i < logs.length; ++i) {
            if (logs[i].emitter == address(factory)) _replayCreation(logs[i]);
            else if (replays[logs[i].emitter].created != 0) _replayMoney(replays[logs[i].emitter], logs[i]);
        }
    }

    function _replayCreation(Vm.Log memory log) private {
        if (log.topics[0] != EventsLib.VaultCreated.selector) return;
        Replay storage r = replays[address(uint160(uint256(log.topics[1])))];
        (address agent_,,,) = abi.decode(log.data, (address, string, MandateTerms, Rule[]));
        r.created += 1;
        (r.agent, r.payee) = (agent_, agent_);
    }

    function _replayMoney(Replay storage r, Vm.Log memory log) private {
        bytes32 topic = log.topics[0];
        if (topic == IMandateVaultEvents.Deposited.selector) {
            (, r.deposited, r.balance) = abi.decode(log.data, (uint256, uint256, uint256));
            if (r.deposited == docs[_docOf(log.emitter)].budgetUsdc) r.status = Status.Working;
        } else if (topic == IMandateVaultEvents.Executed.selector) {
            (uint256 spent, uint256 received, uint256 balance) = abi.decode(log.data, (uint256, uint256, uint256));
            r.actions = uint256(log.topics[1]) + 1;
            _replayFlow(r, address(uint160(uint256(log.topics[2]))), spent, received, balance);
        } else if (topic == IMandateVaultEvents.Unwound.selector) {
            (uint256 received, uint256 balance) = abi.decode(log.data, (uint256, uint256));
            _replayFlow(r, address(uint160(uint256(log.topics[2]))), 0, received, balance);
        } else if (topic == IMandateVaultEvents.ProceedsReceived.selector) {
            (uint256 received, uint256 balance) = abi.decode(log.data, (uint256, uint256));
            // What an adapter of no valued positions brings was out where nobody values it.
            address from = address(uint160(uint256(log.topics[1])));
            _replayFlow(r, from == address(relay) ? address(unvalued) : address(0), 0, received, balance);
        } else if (topic == IMandateVaultEvents.Withdrawn.selector) {
            (uint256 amount, uint256 balance) = abi.decode(log.data, (uint256, uint256));
            if (log.topics[1] == bytes32(uint256(uint160(address(usdc))))) _replayWithdrawal(r, amount, balance);
        } else if (topic == IMandateVaultEvents.Settled.selector) {
            (, uint256 fee, uint256 balance) = abi.decode(log.data, (uint256, uint256, uint256));
            (r.feePaid, r.balance) = (r.feePaid + fee, balance);
            (r.status, r.agent) = (Status.Settled, address(0));
        } else {
            _replayState(r, log);
        }
    }

    function _replayState(Replay storage r, Vm.Log memory log) private {
        bytes32 topic = log.topics[0];
        if (topic == IMandateVaultEvents.AgentSet.selector) {
            r.agent = address(uint160(uint256(log.topics[1])));
        } else if (topic == IMandateVaultEvents.AgentRemoved.selector) {
            r.agent = address(0);
        } else if (topic == IMandateVaultEvents.PayeeChanged.selector) {
            r.payee = address(uint160(uint256(log.topics[2])));
        } else if (topic == IMandateVaultEvents.Marked.selector) {
            (r.lastMark, r.markedOut) = abi.decode(log.data, (uint256, uint256));
            ++r.marks;
        } else if (topic == IMandateVaultEvents.Stopped.selector) {
            (r.status, r.agent) = (Status.Stopped, address(0));
        } else {
            ++foreignEvents;
        }
    }

    function _replayFlow(Replay storage r, address at, uint256 spent, uint256 received, uint256 balance) private {
        r.spent += spent;
        r.received += received;
        r.balance = balance;
        if (at != address(unvalued)) return;
        r.unvaluedOut += spent;
        r.unvaluedOut -= received < r.unvaluedOut ? received : r.unvaluedOut;
    }

    function _replayWithdrawal(Replay storage r, uint256 amount, uint256 balance) private {
        r.balance = balance;
        if (r.status != Status.Funding) r.withdrawn += amount;
        else if (r.deposited > balance) r.deposited = balance;
    }

    function _docOf(address vault) private view returns (uint256) {
        for (uint256 d; d < DOCS; ++d) {
            if (factory.predictVault(factory.termsDigest(docs[d])) == vault) return d;
        }
        return DOCS;
    }

    // ------------------------------------------------------------------ what a caller without rights may try

    /// @dev Every entry of a vault that changes state, and every view that is guarded. None may answer in the middle of
    /// another one.
    function _vaultEntries(address at) internal view returns (bytes[] memory entries) {
        Call memory spend = Call(at, 0, abi.encodeCall(MaliciousVenue.spend, (Trick.KeepAllowance, 0)));
        Call memory exit = Call(at, 0, abi.encodeCall(MaliciousVenue.exit, (Trick.Honest, 0)));
        entries = new bytes[](23);
        entries[0] = abi.encodeCall(IMandateVault.execute, (spend));
        entries[1] = abi.encodeCall(IMandateVault.executeBatch, (_batch(spend, exit)));
        entries[2] = abi.encodeCall(IMandateVault.deposit, (1));
        entries[3] = abi.encodeCall(IMandateVault.depositWithAuthorization, (owner, 1, 0, type(uint64).max, 0, ""));
        entries[4] = abi.encodeCall(IMandateVault.withdraw, (address(usdc), thief, 1));
        entries[5] = abi.encodeCall(IMandateVault.setAgent, (thief));
        entries[6] = abi.encodeCall(IMandateVault.removeAgent, ());
        entries[7] = abi.encodeCall(IMandateVault.setPayee, (thief));
        entries[8] = abi.encodeCall(IMandateVault.mark, ());
        entries[9] = abi.encodeCall(IMandateVault.stop, ("thief"));
        entries[10] = abi.encodeCall(IMandateVault.unwind, (_batch(exit)));
        entries[11] = abi.encodeCall(IMandateVault.initialize, (_noFunding()));
        entries[12] = abi.encodeCall(IMandateVault.fund, (_pull(1)));
        entries[13] = abi.encodeCall(IMandateVault.receiveProceeds, (1));
        // The two that anyone may call when their time has come, so a thief's table leaves them out.
        entries[14] = abi.encodeCall(IMandateVault.enforceStopLine, ());
        entries[15] = abi.encodeCall(IMandateVault.settle, ());
        // The guarded views: in the middle of a call they would tell of a state that is none.
        entries[16] = abi.encodeCall(IMandateVault.remaining, ());
        entries[17] = abi.encodeCall(IMandateVault.check, (_batch(exit)));
        entries[18] = abi.encodeCall(IMandateVault.requireExecutable, (_batch(exit)));
        entries[19] = abi.encodeCall(IMandateVault.worth, ());
        entries[20] = abi.encodeCall(IMandateVault.feeOwed, ());
        entries[21] = abi.encodeCall(IMandateVault.lock, ());
        entries[22] = abi.encodeCall(IMandateVault.totals, ());
    }

    /// @dev Every entry of the factory that needs an office.
    function _factoryEntries(address at) internal view returns (bytes[] memory entries) {
        entries = new bytes[](14);
        entries[0] = abi.encodeCall(IMandateVaultFactory.proposeKeeper, (thief));
        entries[1] = abi.encodeCall(IMandateVaultFactory.proposeGuard, (thief));
        entries[2] = abi.encodeCall(IMandateVaultFactory.acceptKeeper, ());
        entries[3] = abi.encodeCall(IMandateVaultFactory.acceptGuard, ());
        entries[4] = abi.encodeCall(IMandateVaultFactory.cancelKeeperProposal, ());
        entries[5] = abi.encodeCall(IMandateVaultFactory.cancelGuardProposal, ());
        entries[6] = abi.encodeCall(IMandateVaultFactory.pause, ());
        entries[7] = abi.encodeCall(IMandateVaultFactory.unpause, ());
        entries[8] = abi.encodeCall(IMandateVaultFactory.listAdapter, (at));
        entries[9] = abi.encodeCall(IMandateVaultFactory.delistAdapter, (at));
        entries[10] = abi.encodeCall(IMandateVaultFactory.cancelTerms, (docs[0]));
        entries[11] = abi.encodeCall(IMandateVaultFactory.createVault, (terms, rules, "", _noFunding()));
        entries[12] = abi.encodeWithSignature("grantRole(bytes32,address)", keccak256("PAUSER_ROLE"), thief);
        entries[13] = abi.encodeWithSignature("beginDefaultAdminTransfer(address)", thief);
    }

    // ------------------------------------------------------------------ what the invariants read

    function vaultCount() external view returns (uint256) {
        return ghosts.length;
    }

    function ghost(uint256 index) external view returns (Ghost memory) {
        return ghosts[index];
    }

    function replay(uint256 index) external view returns (Replay memory) {
        return replays[address(ghosts[index].vault)];
    }

    function spendsOf(uint256 index) external view returns (Spend[] memory) {
        return spends[index];
    }

    function termsOf(uint256 index) external view returns (MandateTerms memory) {
        return docs[ghosts[index].doc];
    }

    function house() external view returns (MandateVaultFactory) {
        return factory;
    }

    /// @notice Puts the chain at the test's time.
    function sync() external {
        vm.warp(clock);
        vm.roll(height);
    }
}
