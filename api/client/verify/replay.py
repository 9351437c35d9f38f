"""Sums: of the record's rows, of the vault's logs replayed without the record, and the vault's own
at the record's last block.

rows -- fold --> state      == head.totals
logs -- fold --> state      == the rows', and == totals(), status(), agent(), remaining(), balanceOf() of the vault
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from api.client.verify.expected import ChainLogs
from api.client.verify.findings import Report, UncheckedError
from api.client.verify.node import Block, Node
from api.client.verify.row_forms import POSITIONS_VOID
from api.client.verify.terms_check import RecordSubject
from core.canonical import canonical_json
from core.mandate.rules.cash import priced
from core.mandate.rules.fold import effective, fold, fold_on
from core.mandate.rules.lifecycle import OF_VAULT
from core.mandate.rules.limits import SpendWindow, left_today_usdc_e6
from core.mandate.rules.record import totals_of
from core.mandate.rules.reports import ReportsByTx
from core.mandate.rules.rows import LedgerRow, NewRow
from core.mandate.rules.state import EMPTY_STATE, MandateFacts, MandateState
from core.money import usdc_text

MOVED = (
    "status",
    "cash_usdc",
    "deposited_usdc",
    "spent_usdc",
    "received_usdc",
    "withdrawn_usdc",
    "paid_out_usdc",
    "paused",
)


# rows that are folded again after reversals, all together: each costs some ten microseconds
MOST_FOLDED_AGAIN: Final = 2_000_000

Before = Callable[[LedgerRow, MandateState], None]


def fold_rows(
    rows: Sequence[LedgerRow],
    expected: Mapping[str, NewRow],
    facts: MandateFacts,
    report: Report,
    before: Before = lambda row, state: None,
) -> MandateState:
    """The fold of the rows; each row's cash delta, and what a paper stop gave back, is compared
    with what it had to be when it was written.

    `before` sees each row with the state before it; a reversal's is of no use.

    Errors: UncheckedError when blocks were taken back so often that it would take too long.
    """
    state, reports, is_stale, again = EMPTY_STATE, ReportsByTx(), False, 0
    for index, row in enumerate(rows):
        if row.reverses_id is not None:
            before(row, state)
            # a reversal changes the past: fold again before the next row, once for all that come
            # together
            is_stale = True
            continue
        if is_stale:
            reports, is_stale, again = ReportsByTx(), False, again + index
            if again > MOST_FOLDED_AGAIN:
                raise UncheckedError("sums", "blocks were taken back too often to fold again")
            state = fold_on(EMPTY_STATE, effective(rows[:index]), facts, reports)
        before(row, state)
        _compare_cash(row, priced(_unpriced(row, expected), state, facts), report)
        state = fold_on(state, [row], facts, reports)
    return fold(rows, facts) if is_stale else state


def _unpriced(row: LedgerRow, expected: Mapping[str, NewRow]) -> NewRow:
    """The row before the ledger put in what its cash was then."""
    if POSITIONS_VOID not in row.payload:
        return expected.get(row.base_key, row)
    payload = {key: value for key, value in row.payload.items() if key != POSITIONS_VOID}
    return replace(row, payload=payload)


def _compare_cash(row: LedgerRow, wanted: NewRow, report: Report) -> None:
    if row.cash_delta_usdc_e6 != wanted.cash_delta_usdc_e6:
        name = "row.cash_delta" if row.base_key.startswith("log:") else "row.cash_without_proof"
        report.say(
            name,
            row.seq,
            f"moves {usdc_text(row.cash_delta_usdc_e6)} of cash, it had to be "
            f"{usdc_text(wanted.cash_delta_usdc_e6)}",
        )
    stated, given = (one.payload.get(POSITIONS_VOID) for one in (row, wanted))
    if stated is not given and canonical_json(stated) != canonical_json(given):
        report.say("row.payload", row.seq, f"says {stated} is void, it had to be {given}")


def proven_state(
    rows: Sequence[LedgerRow], proven: Collection[int], state: MandateState, facts: MandateFacts
) -> tuple[list[LedgerRow], MandateState]:
    """The rows that are proven and still count, and their fold; `state` is that of all rows."""
    counted = [row for row in effective(rows) if row.seq in proven]
    return counted, (state if len(counted) == len(rows) else fold(counted, facts))


def replay_logs(
    expected: Iterable[NewRow], facts: MandateFacts, kept: list[LedgerRow] | None = None
) -> MandateState:
    """The fold of the vault's logs alone; the rows that they make are added to `kept`."""
    state, reports = EMPTY_STATE, ReportsByTx()
    for seq, wanted in enumerate(expected, start=1):
        row = priced(wanted, state, facts)
        if not isinstance(row, LedgerRow) or kept is not None:
            row = _row(row, seq)
        state = fold_on(state, [row], facts, reports)
        if kept is not None:
            kept.append(row)
    return state


def _row(row: NewRow, seq: int) -> LedgerRow:
    values = {name: getattr(row, name) for name in NewRow.__dataclass_fields__}
    return LedgerRow(
        **values,
        id=seq,
        mandate_id=0,
        seq=seq,
        incarnation=1,
        reverses_id=None,
        prev_hash="",
        row_hash="",
        created_at=row.occurred_at,
    )


def compare_head(head: Mapping[str, Any], state: MandateState, report: Report) -> None:
    for name, value in totals_of(state).items():
        if canonical_json(head["totals"].get(name)) != canonical_json(value):
            text = f"{name}: the head says {head['totals'].get(name)}, the rows give {value}"
            report.say("head.totals", None, text)
    for name in head["totals"].keys() - totals_of(state).keys():
        report.say("head.totals", None, f"{name}: no such total")


def compare_replay(rows: MandateState, logs: MandateState, report: Report) -> None:
    folded, given = totals_of(rows), totals_of(logs)
    for name in MOVED:
        if folded[name] != given[name]:
            text = f"{name}: the rows give {folded[name]}, the vault's logs {given[name]}"
            report.say("replay.sum", None, text)


def compare_vault(
    subject: RecordSubject,
    found: ChainLogs,
    state: MandateState,
    window: SpendWindow,
    node: Node,
    at: Block,
    report: Report,
) -> None:
    """The rows' state against the vault's own views at the record's last block.

    Errors: UncheckedError when that state is gone.
    """
    vault = found.vault
    node.contracts["usdc"] = found.usdc
    totals = node.ask("the vault's totals", lambda: node.reader.totals(vault, at.hash))
    status = node.ask("the vault's status", lambda: node.reader.status(vault, at.hash))
    remaining = node.ask("the vault's limits", lambda: node.reader.remaining(vault, at.hash))
    balance = node.ask("the vault's balance", lambda: node.reader.usdc_balance(vault, at.hash))
    sums = {
        "deposited": (state.deposited_usdc_e6, totals.deposited),
        "spent": (state.spent_usdc_e6, totals.spent),
        "received": (state.received_usdc_e6, totals.received),
        "withdrawn": (state.withdrawn_usdc_e6, totals.withdrawn),
        "out where no adapter values it": (state.unvalued_out_usdc_e6, totals.unvalued_out),
        "fee paid": (state.paid_out_usdc_e6, totals.fee_paid),
    }
    for name, (folded, own) in sums.items():
        if folded != own:
            text = f"{name}: the rows give {usdc_text(folded)}, the vault {usdc_text(own)}"
            report.say("vault.sum", None, text)
    if OF_VAULT[status] is not state.status:
        text = f"the rows give {state.status.value}, the vault {status.word}"
        report.say("vault.status", None, text)
    left = left_today_usdc_e6(window, subject.terms.daily_cap, at.at)
    if left != remaining.today:
        report.say(
            "vault.window",
            None,
            f"left for the day: the rows give {usdc_text(left)}, the vault "
            f"{usdc_text(remaining.today)}",
        )
    if balance < state.cash_usdc_e6:
        report.say(
            "vault.balance",
            None,
            f"the rows give {usdc_text(state.cash_usdc_e6)}, the vault holds {usdc_text(balance)}",
        )
    elif balance > state.cash_usdc_e6:
        report.remarks.append(
            f"{usdc_text(balance - state.cash_usdc_e6)} USDC in the vault were given by "
            "others and are no part of the mandate"
        )
    measured = node.ask("the vault's worth", lambda: node.reader.worth(vault, at.hash))
    worth, at_cost = (None, None) if measured is None else map(usdc_text, measured)
    report.figures["worth"] = {"usdc": worth, "at_cost_usdc": at_cost, "block": at.number}
    report.figures["vault"] = {
        key: usdc_text(value) for key, value in asdict(totals).items() if key != "nonce"
    }
    report.figures |= {"balance_usdc": usdc_text(balance), "left_today_usdc": usdc_text(left)}
