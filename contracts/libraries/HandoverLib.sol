// SPDX-License-Identifier: MIT
pragma solidity 0.8.30;

import {HANDOVER_DELAY, HANDOVER_WINDOW} from "./ConstantsLib.sol";
import {ErrorsLib} from "./ErrorsLib.sol";

/// @notice Who holds an office, and who is to hold it.
struct Handover {
    address holder;
    address proposed;
    /// Unix second from which the proposed account can accept. 0: nothing is pending.
    uint64 eta;
}

/// @title HandoverLib
/// @notice The change of an office in two steps, slow enough for every owner to leave before it.
///
/// ```
///   proposed            eta = +48 h                         eta + 7 days
///      |--- too early ---|------ the new holder accepts ------|--- expired
/// ```
///
/// One proposal is pending at a time. An expired one stays pending until it is cancelled, so that every end of a
/// proposal is in the log.
library HandoverLib {
    /// @notice Begins a change.
    function propose(Handover storage self, address proposed) internal returns (uint64 eta) {
        if (proposed == address(0)) revert ErrorsLib.BadAddress(proposed);
        if (self.eta != 0) revert ErrorsLib.ProposalPending(self.proposed, self.eta);
        eta = uint64(block.timestamp) + HANDOVER_DELAY;
        self.proposed = proposed;
        self.eta = eta;
    }

    /// @notice Completes a change; the caller is the proposed account.
    function accept(Handover storage self) internal returns (address previous) {
        uint64 eta = self.eta;
        if (eta == 0 || msg.sender != self.proposed) revert ErrorsLib.NotProposed(msg.sender);
        if (block.timestamp < eta) revert ErrorsLib.ProposalTooEarly(eta);
        if (block.timestamp > eta + HANDOVER_WINDOW) revert ErrorsLib.ProposalExpired(eta + HANDOVER_WINDOW);
        previous = self.holder;
        self.holder = msg.sender;
        _clear(self);
    }

    /// @notice Drops a change.
    function cancel(Handover storage self) internal returns (address dropped) {
        if (self.eta == 0) revert ErrorsLib.NotProposed(address(0));
        dropped = self.proposed;
        _clear(self);
    }

    function _clear(Handover storage self) private {
        self.proposed = address(0);
        self.eta = 0;
    }
}
