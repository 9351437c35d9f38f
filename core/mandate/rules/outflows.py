"""What left the mandate's cash for the agent's actions: what caps are compared with.

Laws
- On testnet the chain's Executed rows count, all calls of one batch as one; a report counts only
  while the chain has no row of its transaction, and is then not proven.
- On paper the agent's buys and moves count, with what they really moved.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from core.mandate.rules.fold import effective
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.limits import SpendWindow
from core.mandate.rules.moved import chain_fact, spent_and_received
from core.mandate.rules.rows import LedgerRow, ReportedBy, RowKind
from core.mandate.rules.state import MandateFacts
from core.times import DAY_S


@dataclass(frozen=True, slots=True)
class Outflow:
    """`at`: unix seconds; amount in USDC base units, above 0; `is_proven`: the chain says so, or
    the mandate is paper.
    """

    at: int
    amount_usdc_e6: int
    tx_hash: str | None
    is_proven: bool


def outflows(rows: Iterable[LedgerRow], facts: MandateFacts) -> tuple[Outflow, ...]:
    """Every outflow of the rows that count, in the order of the ledger."""
    counted = [row for row in effective(rows) if row.kind in (RowKind.MOVE, RowKind.BUY)]
    if facts.market_mode is MarketMode.PAPER:
        return _present(
            [Outflow(_second(row), -row.cash_delta_usdc_e6, row.tx_hash, True) for row in counted]
        )
    executed = _batches([row for row in counted if chain_fact(row, "executed")])
    proven = {outflow.tx_hash for outflow in executed}
    reported = [
        row
        for row in counted
        if row.reported_by is ReportedBy.AGENT
        and (row.tx_hash is None or row.tx_hash not in proven)
    ]
    return _present(
        [
            *executed,
            *(
                Outflow(_second(row), row.amount_usdc_e6 or 0, row.tx_hash, False)
                for row in reported
            ),
        ]
    )


def spend_window(rows: Iterable[LedgerRow], facts: MandateFacts) -> SpendWindow:
    """The rolling day of the contract (paper: of the record) from the rows of at least the last 24
    hours.
    """
    return SpendWindow.of(
        [
            (outflow.at, outflow.amount_usdc_e6)
            for outflow in outflows(rows, facts)
            if outflow.is_proven
        ]
    )


def busiest_day(spends: Sequence[Outflow], start_at: int, end_at: int) -> tuple[int, int | None]:
    """The most that left in any 24 hours that end with an outflow in [start_at, end_at), and when
    they ended.

    A window (at - 86400, at] may begin before start_at. Without an outflow: (0, None).
    """
    ordered = sorted(spends, key=lambda one: one.at)
    most, ended = 0, None
    within = first = 0
    for place, one in enumerate(ordered, start=1):
        within += one.amount_usdc_e6
        while ordered[first].at <= one.at - DAY_S:
            within -= ordered[first].amount_usdc_e6
            first += 1
        is_whole = place == len(ordered) or ordered[place].at > one.at  # its second's last
        if is_whole and start_at <= one.at < end_at and within > most:
            most, ended = within, one.at
    return most, ended


def _batches(rows: Sequence[LedgerRow]) -> list[Outflow]:
    sums: dict[tuple[str | None, int | None], int] = {}
    newest: dict[tuple[str | None, int | None], LedgerRow] = {}
    for row in rows:
        nonce = row.payload["executed"].get("nonce")
        key = (row.tx_hash, nonce if isinstance(nonce, int) else None)
        sums[key] = sums.get(key, 0) + spent_and_received(row)[0]
        newest[key] = row
    return [Outflow(_second(newest[key]), sums[key], key[0], True) for key in sums]


def _present(listed: Iterable[Outflow]) -> tuple[Outflow, ...]:
    return tuple(outflow for outflow in listed if outflow.amount_usdc_e6 > 0)


def _second(row: LedgerRow) -> int:
    return int(row.occurred_at.timestamp())
