"""Ledgers as the Hall reads them, told row by row: what chain, keeper and agent say of one mandate.

Amounts in whole USDC; `day` and `hour` are of 2026 from 1 January on.
"""

import json
from datetime import UTC, date, datetime, timedelta
from itertools import count
from typing import Any

from api.areas.hall.rules.days import Day, Days, DayTerms, MandateStanding, standing_of
from api.areas.hall.rules.standing import AgentRecord, MandateRecord, record_of
from api.areas.hall.rules.sums import CountedDay, grown, weight_of
from core.mandate.rules import events as ev
from core.mandate.rules.new_rows import row_from_event
from core.mandate.rules.rows import NewRow, ReportedBy, RowKind
from core.mandate.rules.state import position_rules
from core.mandate.rules.terms import Rule, RuleKind
from core.money import UsdcE6

USDC = 1_000_000
LISTED, OTHER, SERVICE = (f"0x{n:040x}" for n in (0xA1, 0xB2, 0xC3))
BUY, SELL = "0xd96a094a", "0xe4849b32"
RULES = (
    Rule(LISTED, BUY, 255, RuleKind.VALUED),
    Rule(LISTED, SELL, 255, RuleKind.EXIT),
    Rule(OTHER, BUY, 255, RuleKind.SPEND),
    Rule(OTHER, SELL, 255, RuleKind.EXIT),
    Rule(SERVICE, BUY, 255, RuleKind.COST),
)
OWNER, AGENT, KEEPER, TOKEN, VAULT = (f"0x{n:040x}" for n in range(0x10, 0x15))
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
_transactions = count(1)


def on(day: int) -> date:
    return (BEGAN + timedelta(days=day)).date()


class Told:
    """One mandate. `fee_bps`: the agent's share of the gain; `ends`: the day at whose noon it ends."""

    def __init__(self, budget: int = 1_000, fee_bps: int = 0, ends: int = 9_000) -> None:
        ends_at = BEGAN + timedelta(days=ends, hours=12)
        self.told = DayTerms(budget * USDC, fee_bps, position_rules(RULES), ends_at)
        self.rows: list[NewRow] = []
        self.unvalued = 0.0  # as the vault counts it
        self.at = BEGAN

    def on(self, day: int, hour: int = 12) -> "Told":
        self.at = BEGAN + timedelta(days=day, hours=hour)
        return self

    def says(self, event: Any, tx_hash: str | None = None) -> "Told":
        ref = ev.LogRef(
            84532,
            1,
            "0x" + "11" * 32,
            int(self.at.timestamp()),
            tx_hash or f"0x{next(_transactions):064x}",
            0,
            VAULT,
        )
        row = row_from_event(event, ref, KEEPER, OWNER, AGENT, usdc=TOKEN)
        assert row is not None
        self.rows.append(row)
        return self

    def deposit(self, amount: float) -> "Told":
        return self.says(ev.Deposited(OWNER, _e6(amount), 0, 0))

    def moved(self, target: str, spent: float) -> None:
        """Source: MandateVault._countUnvalued and receiveProceeds."""
        if target == OTHER:
            self.unvalued = max(0, self.unvalued + spent)

    def buy(self, amount: float, target: str = LISTED, tx_hash: str | None = None) -> "Told":
        self.moved(target, amount)
        return self.says(ev.Executed(1, target, BUY, _e6(amount), 0, 0), tx_hash)

    def sell(self, amount: float, target: str = LISTED, tx_hash: str | None = None) -> "Told":
        self.moved(target, -amount)
        return self.says(ev.Executed(1, target, SELL, 0, _e6(amount), 0), tx_hash)

    def proceeds(self, amount: float, adapter: str = OTHER) -> "Told":
        self.moved(adapter, -amount)
        return self.says(ev.ProceedsReceived(adapter, _e6(amount), 0))

    def mark(self, worth: float, tx_hash: str | None = None) -> "Told":
        return self.says(ev.Marked(_e6(worth), _e6(self.unvalued)), tx_hash)

    def mark_that_stops(self, worth: float) -> "Told":
        tx_hash = f"0x{next(_transactions):064x}"
        return self.mark(worth, tx_hash).stop(worth=worth, tx_hash=tx_hash)

    def stop(
        self,
        by: str = KEEPER,
        reason: str = "stop_line",
        worth: float | None = None,
        tx_hash: str | None = None,
    ) -> "Told":
        word = "0x" + reason.encode().ljust(32, b"\0").hex()
        measured = (_e6(worth), _e6(self.unvalued)) if worth is not None else (0, 0)
        return self.says(ev.Stopped(by, word, *measured, worth is not None), tx_hash)

    def unwind(self, amount: float, target: str = LISTED) -> "Told":
        self.moved(target, -amount)
        return self.says(ev.Unwound(OWNER, target, SELL, _e6(amount), 0))

    def settle(self, fee: float = 0) -> "Told":
        return self.says(ev.Settled(AGENT, 0, _e6(fee), 0))

    def withdraw(self, amount: float, balance: float = 0, token: str = TOKEN) -> "Told":
        return self.says(ev.Withdrawn(token, OWNER, _e6(amount), _e6(balance)))

    def report(self, kind: RowKind, amount: float) -> "Told":
        row = NewRow(
            kind=kind,
            reported_by=ReportedBy.AGENT,
            occurred_at=self.at,
            base_key="report",
            amount_usdc_e6=UsdcE6(_e6(amount)),
            payload={},
        )
        self.rows.append(row)
        return self

    def counted(self) -> tuple[MandateStanding, list[Day]]:
        days = Days(self.told, MandateStanding())
        for row in self.rows:
            days.add(row)
        return days.standing, list(days.changed.values())

    def counted_in_two(self, cut: int) -> tuple[MandateStanding, list[Day]]:
        """The same by two builds, what stood between them read from JSON."""
        first = Days(self.told, MandateStanding())
        for row in self.rows[:cut]:
            first.add(row)
        kept = standing_of(json.loads(json.dumps(first.standing.as_json())))
        known = first.changed.get(kept.last_day or on(0))
        second = Days(self.told, kept, known)
        for row in self.rows[cut:]:
            second.add(row)
        return second.standing, list((first.changed | second.changed).values())

    def record(self, mandate_id: int = 1, owner_id: int = 1, **other: Any) -> MandateRecord:
        standing, days = self.counted()
        ended = standing.ended_on
        values: dict[str, Any] = {
            "mandate_id": mandate_id,
            "owner_id": owner_id,
            "is_own": False,
            "is_working": standing.funded_on is not None and ended is None,
            "funded_on": standing.funded_on,
            "live_until": ended,
            "stopped_by": standing.stopped_by,
            "violations": 0,
            "out_usdc_e6": standing.out_usdc_e6,
            "worth_usdc_e6": standing.worth_usdc_e6,
            "is_readable": True,
            "days": [counted(day) for day in days],
        }
        return MandateRecord(**(values | other))

    def of_agent(self, today: int = 0) -> AgentRecord:
        """The record of an agent that has this mandate alone."""
        return record_of([self.record()], [], on(today))


def counted(day: Day) -> CountedDay:
    """A day of which all counts."""
    growth = day.path.growth
    weight = weight_of(day.result_usdc_e6, growth, day.least_usdc_e6, day.capital_usdc_e6)
    return CountedDay(
        day.day,
        day.result_usdc_e6,
        day.trades,
        weight,
        day.worth_usdc_e6,
        grown(weight, growth, 0),
        day.path,
        day.said_trades,
        day.said_result_usdc_e6,
        day.said_fees_usdc_e6,
    )


def _e6(amount: float) -> int:
    return round(amount * USDC)
