// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// @notice The part of the cheatcodes that the proofs use. Halmos answers them; forge never runs a proof.
interface ProofVm {
    function assume(bool condition) external pure;
    function warp(uint256 timestamp) external;
    function roll(uint256 blockNumber) external;
    function prank(address sender) external;
    function etch(address target, bytes calldata code) external;
    function load(address account, bytes32 slot) external view returns (bytes32);
    function store(address account, bytes32 slot, bytes32 value) external;
}

/// @notice Halmos's own: values that stand for every value of their type.
interface Symbols {
    function createUint(uint256 bits, string calldata name) external pure returns (uint256);
    function createUint256(string calldata name) external pure returns (uint256);
    function createAddress(string calldata name) external pure returns (address);
    function createBytes32(string calldata name) external pure returns (bytes32);
    function createBytes(uint256 length, string calldata name) external pure returns (bytes memory);
    function createBool(string calldata name) external pure returns (bool);
    function enableSymbolicStorage(address account) external;
}

/// @notice The ground of every proof. A function `check_*` holds for all its arguments, or Halmos shows those that
/// break it: `assert` states, `vm.assume` narrows, and a path that reverts states nothing.
abstract contract Proof {
    ProofVm internal constant vm = ProofVm(address(uint160(uint256(keccak256("hevm cheat code")))));
    Symbols internal constant svm = Symbols(address(uint160(uint256(keccak256("svm cheat code")))));
}
