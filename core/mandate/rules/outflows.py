"""What left the mandate's cash for the agent's actions: what caps are compared with.

Laws
- On testnet the chain's Executed rows count alone, all calls of one batch as one: no report uses up
  a day.
- On paper the agent's buys and moves count, with what they really moved.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from core.mandate.rules.fold import effective
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.limits import SpendWindow
from core.mandate.rules.moved import chain_fact, spent_and_received
from core.mandate.rules.rows import LedgerRow, RowKind
from core.mandate.rules.state import MandateFacts
from core.times import DAY_S


@dataclass(frozen=True, slots=True)
class Outflow:
    """What left, as one row says it or several of one batch. `at`: unix seconds; amount in USDC base
    units. `batch`: rows of the same one are one outflow; None: it is one by itself.
    """

    at: int
    amount_usdc_e6: int
    tx_hash: str | None
    batch: tuple[str | None, int | None] | None = field(default=None, compare=False)


def outflows(rows: Iterable[LedgerRow], facts: MandateFacts) -> tuple[Outflow, ...]:
    """Every outflow of the rows that count, in the order of the ledger."""
    return outflows_of(
        [taken for row in effective(rows) if (taken := taken_by(row, facts)) is not None]
    )


def taken_by(row: LedgerRow, facts: MandateFacts) -> Outflow | None:
    """What a row that counts says; None: nothing of outflows."""
    if row.kind not in (RowKind.MOVE, RowKind.BUY):
        return None
    at = int(row.occurred_at.timestamp())
    if facts.market_mode is MarketMode.PAPER:
        return Outflow(at, -row.cash_delta_usdc_e6, row.tx_hash)
    if (executed := chain_fact(row, "executed")) is not None:
        nonce = executed.get("nonce")
        batch = (row.tx_hash, nonce if isinstance(nonce, int) else None)
        return Outflow(at, spent_and_received(row)[0], row.tx_hash, batch)
    return None


def outflows_of(listed: Sequence[Outflow]) -> tuple[Outflow, ...]:
    """Of what rows say, in the order of the ledger, those above 0: the batches come first."""
    batches: dict[tuple[str | None, int | None], Outflow] = {}
    for one in listed:
        if one.batch is not None:
            before = batches.get(one.batch)
            amount = one.amount_usdc_e6 + (0 if before is None else before.amount_usdc_e6)
            batches[one.batch] = replace(one, amount_usdc_e6=amount)
    alone = [one for one in listed if one.batch is None]
    return tuple(one for one in [*batches.values(), *alone] if one.amount_usdc_e6 > 0)


def spend_window(rows: Iterable[LedgerRow], facts: MandateFacts) -> SpendWindow:
    """The rolling day of the contract (paper: of the record) from the rows of at least the last 24
    hours.
    """
    return SpendWindow.of((one.at, one.amount_usdc_e6) for one in outflows(rows, facts))


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
