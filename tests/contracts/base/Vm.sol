// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// @notice The part of forge's cheatcodes that the tests use.
interface Vm {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    struct SignedDelegation {
        uint8 v;
        bytes32 r;
        bytes32 s;
        uint64 nonce;
        address implementation;
    }

    struct Gas {
        uint64 gasLimit;
        uint64 gasTotalUsed;
        uint64 gasMemoryUsed;
        int64 gasRefunded;
        uint64 gasRemaining;
    }

    function addr(uint256 privateKey) external pure returns (address);
    function sign(uint256 privateKey, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function label(address account, string calldata newLabel) external;
    function warp(uint256 timestamp) external;
    function roll(uint256 blockNumber) external;
    function chainId(uint256 newChainId) external;
    function deal(address account, uint256 balance) external;
    function signAndAttachDelegation(address implementation, uint256 privateKey)
        external
        returns (SignedDelegation memory);
    function etch(address target, bytes calldata code) external;
    function getCode(string calldata artifact) external view returns (bytes memory);
    function getDeployedCode(string calldata artifact) external view returns (bytes memory);
    function deployCode(string calldata artifact) external returns (address);
    function deployCode(string calldata artifact, bytes calldata arguments) external returns (address);
    function prank(address sender) external;
    function startPrank(address sender) external;
    function stopPrank() external;
    function expectRevert(bytes calldata data) external;
    function expectPartialRevert(bytes4 selector) external;
    function expectEmit(bool topic1, bool topic2, bool topic3, bool data, address emitter) external;
    function mockCallRevert(address callee, bytes calldata data, bytes calldata answer) external;
    function load(address account, bytes32 slot) external view returns (bytes32);
    function resetGasMetering() external;
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);
    function snapshotState() external returns (uint256 snapshotId);
    function revertToState(uint256 snapshotId) external returns (bool);
    function assertLt(uint256 left, uint256 right) external pure;
    function assertLe(uint256 left, uint256 right) external pure;
    function lastCallGas() external view returns (Gas memory);
    function assertEq(uint256 left, uint256 right) external pure;
    function assertEq(address left, address right) external pure;
    function assertEq(bytes32 left, bytes32 right) external pure;
    function assertEq(bool left, bool right) external pure;
    function assertEq(bytes calldata left, bytes calldata right) external pure;
    function assertEq(string calldata left, string calldata right) external pure;
}
