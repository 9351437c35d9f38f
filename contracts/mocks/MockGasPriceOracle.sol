// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

/// @title MockGasPriceOracle
/// @notice The OP stack's GasPriceOracle as far as this project reads it, for the local chain, which has no layer 1.
/// @dev The code works when it is placed at the predeploy's address without storage.
contract MockGasPriceOracle {
    /// @notice Wei that a byte of an unsigned transaction costs on layer 1.
    uint256 public constant WEI_PER_BYTE = 1 gwei;

    /// @notice Upper bound of the layer-1 fee of an unsigned transaction of that many bytes, wei.
    function getL1FeeUpperBound(uint256 unsignedTxSize) external pure returns (uint256) {
        return unsignedTxSize * WEI_PER_BYTE;
    }
}
