"""The mandate ledger: what a row is, how chain events become rows, and the fold that turns rows
into state.

Import from here; the pieces are in rows.py (row types), state.py (the state and its JSON),
fold.py (rows to state), reports.py (which rows report the same payment or refusal),
chain_rows.py (chain events to rows), agent_rows.py (what an agent sends) and cash.py (what a row
of a paper mandate does to its cash).

Laws
- Nothing in the ledger is changed. A correction is a row with `reverses_id`; a reversed row and its
  reversal count for nothing in the fold.
- `cash_delta_usdc_e6` alone moves cash. On testnet only chain rows carry one (docs/rules.md#rows).
- The ledger passes each new row through `priced` under the head's lock: the delta of a paper report
  and of a withdrawal depends on the cash that is there.
- Every fold gives the same state whether rows come one by one or all at once.
- Facts of the chain are believed only from rows that the agent did not write, whatever keys its
  payload carries.
"""

from core.mandate.rules.agent_rows import (
    after_stop_note,
    event_row,
    guard_refusal_note,
    refusal_note,
    stop_request_note,
)
from core.mandate.rules.cash import cancelled_note, priced, signed_rows, stop_row
from core.mandate.rules.chain_rows import expired_note, revert_note, row_from_event
from core.mandate.rules.fold import apply, effective, fold, fold_on
from core.mandate.rules.reports import ReportsByTx, is_paired
from core.mandate.rules.rows import LedgerRow, NewRow, ReportedBy, RowAuthor, RowKind
from core.mandate.rules.state import (
    EMPTY_STATE,
    ChainMark,
    MandateFacts,
    MandateState,
    Position,
    StateVersionError,
    TargetFlow,
    changes_to_json,
    state_from_json,
    state_to_json,
)

__all__ = [
    "EMPTY_STATE",
    "ChainMark",
    "LedgerRow",
    "MandateFacts",
    "MandateState",
    "NewRow",
    "Position",
    "ReportedBy",
    "ReportsByTx",
    "RowAuthor",
    "RowKind",
    "StateVersionError",
    "TargetFlow",
    "after_stop_note",
    "apply",
    "cancelled_note",
    "changes_to_json",
    "effective",
    "event_row",
    "expired_note",
    "fold",
    "fold_on",
    "guard_refusal_note",
    "is_paired",
    "priced",
    "refusal_note",
    "revert_note",
    "row_from_event",
    "signed_rows",
    "state_from_json",
    "state_to_json",
    "stop_request_note",
    "stop_row",
]
