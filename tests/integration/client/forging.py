"""A forger of records: alters what it is told to, then seals the ledger again as a cheat would,
hashes, numbers and totals included.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from core.canonical import canonical_json
from core.errors import MandateError
from core.mandate.rules.fold import fold
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.record import row_hash, row_of_line, totals_of
from core.mandate.rules.rows import LedgerRow
from core.mandate.rules.state import MandateFacts, PositionRules

Line = dict[str, Any]


@dataclass
class Forgery:
    """A record in pieces; rows are found by what they are, so that a test reads as what it does."""

    first: Line
    rows: list[Line]
    head: Line
    anchors: list[Line] = field(default_factory=list)

    @classmethod
    def of(cls, lines: Sequence[bytes]) -> "Forgery":
        first, *rest, last = map(json.loads, lines)
        anchors = [line for line in rest if "anchor" in line]
        return cls(first, [line for line in rest if "body" in line], last["head"], anchors)

    @property
    def bodies(self) -> list[Line]:
        return [row["body"] for row in self.rows]

    def body(self, word: str, number: int = 0) -> Line:
        """The body of the n-th row whose kind, key or payload has the word; reversals left out."""
        found = [
            body
            for body in self.bodies
            if body["reverses_seq"] is None and (word == body["kind"] or _says(body, word))
        ]
        return found[number]

    def index(self, body: Line) -> int:
        return next(index for index, one in enumerate(self.bodies) if one is body)

    def reversal(self) -> Line:
        return next(body for body in self.bodies if body["reverses_seq"] is not None)

    def drop(self, body: Line) -> None:
        del self.rows[self.index(body)]

    def insert(self, body: Line, at: int | None = None) -> None:
        line = {"body": body, "prev_hash": "", "row_hash": ""}
        self.rows.insert(len(self.rows) if at is None else at, line)

    def seal(self) -> None:
        """Number, chain and sum up again."""
        moved = {body["seq"]: index for index, body in enumerate(self.bodies, start=1)}
        before = self.first["genesis_hash"]
        for index, row in enumerate(self.rows, start=1):
            body = row["body"]
            if body["reverses_seq"] in moved:
                body["reverses_seq"] = body["payload"]["reverses_seq"] = moved[body["reverses_seq"]]
            body["seq"] = index
            row["prev_hash"] = before
            row["row_hash"] = before = row_hash(before, canonical_json(body))
        facts = MandateFacts(
            market_mode=MarketMode(self.first["market_mode"]),
            budget_usdc_e6=int(self.first["terms"]["budgetUsdc"]),
            positions=PositionRules(),
        )
        self.head["totals"] = totals_of(fold(self._readable(), facts))
        self.head |= {"seq": len(self.rows), "row_hash": before}

    def _readable(self) -> list[LedgerRow]:
        rows = []
        for row in self.rows:
            with suppress(MandateError):
                rows.append(row_of_line(row))
        return rows

    def lines(self) -> list[bytes]:
        lines = (self.first, *self.rows, *self.anchors, {"head": self.head})
        return [_written(line) for line in lines]


def _says(body: Line, word: str) -> bool:
    return word in body["payload"] or body["base_key"].startswith(f"{word}:")


def _written(line: Line) -> bytes:
    """As a cheat would: canonical wherever that can be."""
    return (
        json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    )
