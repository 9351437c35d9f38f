// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import "../base/Test.sol";

/// @notice Measured workloads. `make gas` runs them with each call as a transaction of its own and reads the log.
/// @dev Without isolation, as in the ordinary run of all tests, they run too, and what they log means nothing.
abstract contract GasTest is Test {
    /// @notice Read by tests/contracts/gas/measure.py: one line for each measured transaction.
    // forge prints events of this name as `key: val`.
    // forge-lint: disable-next-line(mixed-case-function)
    event log_named_uint(string key, uint256 val);

    /// @dev Gas of the whole transaction, intrinsic and calldata included, net of refunds.
    function _record(string memory workload) internal {
        emit log_named_uint(workload, vm.lastCallGas().gasTotalUsed);
    }

    /// @dev Three rules, as a mandate for the test venue and x402 has them.
    function _draftThreeRules() internal {
        _clearRules();
        _addRule(address(adapter), TestVenueAdapter.buy.selector, NO_PIN, KIND_VALUED_SPEND);
        _addRule(address(adapter), TestVenueAdapter.sell.selector, NO_PIN, KIND_EXIT);
        _addRule(address(x402), X402Adapter.pay.selector, NO_PIN, KIND_COST);
    }
}
