"""The figures of one mandate, told slowly and with fractions: each row's effect from the words of
docs/hall.md, each window from all rows.

It shares no code with core.hall but the shape of rows.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

from core.mandate.rules.ledger import NewRow, ReportedBy, RowKind

USDC = 1_000_000


@dataclass
class Point:
    """After one row: the worth before and after it, and what of the change came from outside."""

    day: date
    before: int
    after: int
    flow: int
    had_at_end: int = 0  # once it is over

    @property
    def result(self) -> int:
        return self.after - self.before - self.flow

    @property
    def base(self) -> int:
        """What a result is a share of: after the end at least what there was at the end."""
        return max(self.before, self.had_at_end) if self.result else self.before

    @property
    def share(self) -> Fraction:
        left = max(0, self.base + self.result)
        return Fraction(left, self.base) if self.base > 0 else Fraction(1)


class Reference:
    def __init__(
        self, rows: list[NewRow], listed: str, position_targets: set[str], fee_bps: int
    ) -> None:
        self.listed, self.position_targets, self.fee_bps = listed, position_targets, fee_bps
        self.cash = self.at_listed = self.elsewhere = self.written_off = 0
        self.put_in = self.taken = self.fees = 0
        self.doubtful = self.had_at_end = 0  # at listed adapters at the end, unmarked; worth then
        self.traded: datetime | None = None  # when at a listed one, with no mark after it
        self.over = False
        self.over_from: int | None = None  # the place of the point that ended it
        self.points: list[Point] = []
        for row in rows:
            if row.reported_by is not ReportedBy.AGENT or row.block_hash is not None:
                before = self.worth()
                flow = self.take(row)
                gift = self.gift(row)
                if gift:
                    self.cash -= gift
                    without = self.worth()
                    self.cash += gift
                    flow += self.worth() - without
                at = row.occurred_at.date()
                last = self.points[-1].day if self.points else at
                point = Point(max(at, last), before, self.worth(), flow, self.had_at_end)
                self.points.append(point)
                if self.over and self.over_from is None:
                    self.over_from = len(self.points) - 1

    def worth(self) -> int:
        gross = max(0, self.cash) + self.at_listed + self.elsewhere
        gain = gross + self.taken + self.fees - self.put_in
        owed = gain * self.fee_bps // 10_000 if gain > 0 else 0
        return max(0, gross - max(0, owed - self.fees))

    def take(self, row: NewRow) -> int:
        self.cash += row.cash_delta_usdc_e6
        payload: Any = row.payload
        if row.kind is RowKind.DEPOSIT:
            self.put_in += row.cash_delta_usdc_e6
            return row.cash_delta_usdc_e6
        if row.kind is RowKind.WITHDRAW:
            self.taken -= row.cash_delta_usdc_e6
            return row.cash_delta_usdc_e6
        if row.kind is RowKind.PAYOUT:
            self.fees -= row.cash_delta_usdc_e6
        told = payload.get("mark") or payload.get("stopped") or {}
        if told.get("worth_usdc"):
            self.mark(int(told["worth_usdc"].replace(".", "")))
        if row.kind in (RowKind.PAYOUT, RowKind.STOP) and not self.over:
            self.end(row.occurred_at)
        return 0

    def mark(self, worth: int) -> None:
        at_listed = max(0, worth - self.cash - self.elsewhere - self.written_off)
        self.at_listed = min(at_listed, self.at_listed) if self.over else at_listed
        self.traded = None

    def end(self, at: datetime) -> None:
        self.over, self.written_off, self.elsewhere = True, self.elsewhere, 0
        if self.traded is not None and at < self.traded + timedelta(minutes=10):
            self.doubtful, self.at_listed = self.at_listed, 0
        self.had_at_end = self.worth()

    def gift(self, row: NewRow) -> int:
        payload: Any = row.payload
        if "executed" in payload or "proceeds" in payload:
            called = payload.get("executed") or payload["proceeds"]
            target = called.get("target") or called["adapter"]
            if "executed" in payload and target == self.listed:
                self.traded = row.occurred_at
            return self.trade(target, row.cash_delta_usdc_e6)
        return 0

    def trade(self, target: str, change: int) -> int:
        """Of a call: income that no listed adapter bears out."""
        target = target.lower()
        if target == self.listed:
            beyond = max(0, change - self.at_listed)
            self.at_listed = max(0, self.at_listed - change)
            if not self.over:
                return 0
            back = min(beyond, self.doubtful)
            self.doubtful -= back
            return beyond - back
        if change < 0:
            self.elsewhere -= change if target in self.position_targets else 0
            return 0
        back = min(change, self.elsewhere)
        self.elsewhere -= back
        found = min(change - back, self.written_off)
        self.written_off -= found
        return change - back - found

    def is_over_at(self, point: Point) -> bool:
        place = next(n for n, one in enumerate(self.points) if one is point)
        return self.over_from is not None and place >= self.over_from

    # Windows: the points after a day, all of them

    def net(self, after: date) -> int:
        return sum(point.result for point in self.points if point.day > after) - self.elsewhere

    def path(self, after: date) -> list[Fraction]:
        """The value of 1 after each row, and at last without what is elsewhere."""
        values = [Fraction(1)]
        for point in self.points:
            if point.day > after:
                values.append(values[-1] * point.share)
        if self.elsewhere and self.worth() > 0:
            left = max(0, self.worth() - self.elsewhere)
            values.append(values[-1] * Fraction(left, self.worth()))
        return values

    def fall(self, after: date) -> Fraction:
        values = self.path(after)
        return max(
            (
                1 - later / earlier
                for place, earlier in enumerate(values)
                for later in values[place:]
                if earlier > 0
            ),
            default=Fraction(0),
        )


def growth_together(references: list[Reference], after: date) -> Fraction:
    """Of all mandates: each day's return is that of each, by its capital; days multiply."""
    growth, worth = Fraction(1), dict.fromkeys(range(len(references)), 0)
    for day in sorted({point.day for one in references for point in one.points}):
        capital, grown = Fraction(0), Fraction(0)
        for number, one in enumerate(references):
            of_day = [point for point in one.points if point.day == day]
            points = [point for point in of_day if point.flow or point.result]
            base, share = Fraction(worth[number]), Fraction(1)
            if points:
                base = Fraction(max(point.base + max(0, point.flow) for point in points))
                base = max(base, Fraction(worth[number]))
                for point in points:
                    share *= point.share
                least = min((p.base for p in points if p.result and p.base > 0), default=0)
                if share != 1 and least:
                    made_of = sum(point.result for point in points) / (share - 1)
                    base = min(base, max(Fraction(least), made_of))
                worth[number] = points[-1].after
            if of_day and one.is_over_at(of_day[-1]):
                worth[number] = 0
            capital += base
            grown += base * share
        if day > after and capital > 0:
            growth *= grown / capital
    out = sum(one.elsewhere for one in references)
    shown = [one for one in references if not one.over or one.elsewhere]
    total = sum(one.worth() for one in shown)
    return growth * Fraction(max(0, total - out), total) if out and total > 0 else growth
