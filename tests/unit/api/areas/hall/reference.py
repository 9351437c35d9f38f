"""The figures of one mandate, told slowly and with fractions: each row's effect from the words of
docs/hall.md, each window from all rows.

It shares no code with api.areas.hall but the shape of rows.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any

from core.mandate.rules.rows import NewRow, ReportedBy, RowKind

USDC = 1_000_000
NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass
class Point:
    """After one row: the worth before and after it, and what of the change came from outside."""

    day: date
    before: int
    after: int
    flow: int
    tx: str | None
    listed_before: int

    @property
    def result(self) -> int:
        return self.after - self.before - self.flow

    @property
    def share(self) -> Fraction:
        left = max(0, self.before + self.result)
        return Fraction(left, self.before) if self.before > 0 else Fraction(1)


class Reference:
    """The end is a point of its own: the last one, told again with every row that follows."""

    def __init__(
        self,
        rows: list[NewRow],
        listed: str,
        position_targets: set[str],
        fee_bps: int,
        ends_at: datetime = NEVER,
    ) -> None:
        self.listed, self.position_targets, self.fee_bps = listed, position_targets, fee_bps
        self.cash = self.at_listed = self.elsewhere = 0
        self.put_in = self.taken = 0
        self.points: list[Point] = []
        chain = [row for row in rows if row.reported_by is not ReportedBy.AGENT or row.block_hash]
        ends = (RowKind.STOP, RowKind.PAYOUT)
        place = next(
            (n for n, row in enumerate(chain) if row.kind in ends or row.occurred_at >= ends_at),
            None,
        )
        self.over = place is not None
        for row in chain if place is None else chain[:place]:
            self.point(row)
        if place is not None:
            self.end(chain[place:], ends_at)

    def point(self, row: NewRow) -> None:
        before, listed = self.worth(), self.at_listed
        flow = self.take(row)
        gift = self.gift(row)
        if gift:
            self.cash -= gift
            without = self.worth()
            self.cash += gift
            flow += self.worth() - without
        at = row.occurred_at.date()
        last = self.points[-1].day if self.points else at
        self.points.append(Point(max(at, last), before, self.worth(), flow, row.tx_hash, listed))

    def end(self, rows: list[NewRow], ends_at: datetime) -> None:
        """Worth at the end: cash then, and of each kind of position what is known of it now."""
        listed_most, before = self.at_listed, self.worth()
        marked = [n for n, point in enumerate(self.points) if point.tx == rows[0].tx_hash]
        if marked:  # a mark of the stop's own transaction, and nothing after it
            listed_most, before = self.points[-1].listed_before, self.points[-1].before
            self.points.pop()
        at = min(rows[0].occurred_at, ends_at).date()
        cash, elsewhere, measured = self.cash, self.elsewhere, None
        listed_back = elsewhere_back = 0
        for one in rows:
            self.cash += one.cash_delta_usdc_e6
            payload: Any = one.payload
            called = payload.get("unwound") or payload.get("proceeds")
            if called:
                name = (called.get("target") or called["adapter"]).lower()
                if name == self.listed:
                    listed_back += one.cash_delta_usdc_e6
                else:
                    elsewhere_back += one.cash_delta_usdc_e6
            if measured is None and (left := self.measured(one)) is not None:
                measured = left + listed_back
        known = max(measured or 0, listed_back)
        self.cash, self.at_listed = cash, min(listed_most, known)
        self.elsewhere = min(elsewhere, elsewhere_back)
        day = max([at, *(point.day for point in self.points)])
        self.points.append(Point(day, before, self.worth(), 0, None, 0))
        self.cash = self.at_listed = self.elsewhere = 0

    def measured(self, row: NewRow) -> int | None:
        payload: Any = row.payload
        told = payload.get("mark") or payload.get("stopped") or {}
        if told.get("worth_usdc") is None:
            return None
        worth, out = (int(told[k].replace(".", "")) for k in ("worth_usdc", "unvalued_out_usdc"))
        return max(0, worth - max(0, self.cash) - out)

    def worth(self) -> int:
        gross = max(0, self.cash) + self.at_listed + self.elsewhere
        gain = gross + self.taken - self.put_in
        owed = gain * self.fee_bps // 10_000 if gain > 0 else 0
        return max(0, gross - owed)

    def take(self, row: NewRow) -> int:
        self.cash += row.cash_delta_usdc_e6
        payload: Any = row.payload
        if row.kind is RowKind.DEPOSIT:
            self.put_in += row.cash_delta_usdc_e6
            return row.cash_delta_usdc_e6
        if row.kind is RowKind.WITHDRAW:
            self.taken -= row.cash_delta_usdc_e6
            return row.cash_delta_usdc_e6
        if payload.get("mark"):
            self.at_listed = self.measured(row) or 0
        return 0

    def gift(self, row: NewRow) -> int:
        payload: Any = row.payload
        called = payload.get("executed") or payload.get("proceeds") or payload.get("unwound")
        if called:
            return self.trade(called.get("target") or called["adapter"], row.cash_delta_usdc_e6)
        return 0

    def trade(self, target: str, change: int) -> int:
        """Of a call: income that no listed adapter bears out."""
        target = target.lower()
        if target == self.listed:
            self.at_listed = max(0, self.at_listed - change)
            return 0
        if change < 0:
            self.elsewhere -= change if target in self.position_targets else 0
            return 0
        back = min(change, self.elsewhere)
        self.elsewhere -= back
        return change - back

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
                base = Fraction(max(point.before + max(0, point.flow) for point in points))
                base = max(base, Fraction(worth[number]))
                for point in points:
                    share *= point.share
                least = min((p.before for p in points if p.result and p.before > 0), default=0)
                if share != 1 and least:
                    made_of = sum(point.result for point in points) / (share - 1)
                    base = min(base, max(Fraction(least), made_of))
                worth[number] = points[-1].after
            if one.over and of_day and of_day[-1] is one.points[-1]:
                worth[number] = 0
            capital += base
            grown += base * share
        if day > after and capital > 0:
            growth *= grown / capital
    out = sum(one.elsewhere for one in references)
    shown = [one for one in references if not one.over or one.elsewhere]
    total = sum(one.worth() for one in shown)
    return growth * Fraction(max(0, total - out), total) if out and total > 0 else growth
