// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {IMandateVaultFactory} from "./interfaces/IMandateVaultFactory.sol";
import {ErrorsLib} from "./libraries/ErrorsLib.sol";

/// @title RecordAnchor
/// @notice The root of all mandates' records, hour by hour: what a block holds, nobody can write later.
///
/// - An epoch is an hour: unix seconds / 3600. It is posted once, after it has ended, and never
///   after a later one. The keeper leaves none out, and readers count one that is missing.
/// - The keeper that the factory names may post; this contract has no office of its own to hand over.
/// - A post names the root before it, so that two posters who know different pasts cannot take turns.
/// - START is never posted: it is the root of no post yet, and the root before the first alone.
/// - Nothing here says that a root is true. The leaves are checked by whoever reads a record (docs/record.md).
contract RecordAnchor {
    /// @notice An epoch was posted.
    event Anchored(uint64 indexed epoch, bytes32 root, bytes32 rootBefore);

    /// @notice The epoch was posted before, or a later one was.
    error EpochNotAfter(uint64 epoch, uint64 last);
    /// @notice The epoch has not ended yet.
    error EpochNotOver(uint64 epoch, uint256 endsAt);
    /// @notice The root is the one that stands for no post.
    error RootIsStart();
    /// @notice The poster knows another past.
    error OtherRootBefore(bytes32 rootBefore, bytes32 root);

    /// @notice The root before the first post.
    bytes32 public constant START = keccak256("record-anchor:v1");

    IMandateVaultFactory public immutable FACTORY;

    /// @notice The newest epoch that was posted, and its root.
    uint64 public epoch;
    bytes32 public root = START;

    constructor(address factory) {
        if (factory.code.length == 0) revert ErrorsLib.BadAddress(factory);
        FACTORY = IMandateVaultFactory(factory);
        epoch = uint64(block.timestamp / 1 hours) - 1;
    }

    /// @notice Posts an epoch.
    function post(uint64 epoch_, bytes32 root_, bytes32 rootBefore) external {
        if (msg.sender != FACTORY.keeper()) revert ErrorsLib.NotKeeper(msg.sender);
        if (epoch_ <= epoch) revert EpochNotAfter(epoch_, epoch);
        uint256 endsAt = (uint256(epoch_) + 1) * 1 hours;
        if (block.timestamp < endsAt) revert EpochNotOver(epoch_, endsAt);
        if (rootBefore != root) revert OtherRootBefore(rootBefore, root);
        if (root_ == START) revert RootIsStart();
        (epoch, root) = (epoch_, root_);
        emit Anchored(epoch_, root_, rootBefore);
    }
}
