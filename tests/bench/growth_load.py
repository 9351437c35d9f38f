"""What grows, and how fast at a size of the service: tests/spec/growth.tsv read, and its arithmetic.

A row of the file: a table, what makes a row of it, how many a unit, how long rows are kept (days, `ever`,
or `state` for a table that follows how many things there are, and not how long), and the slow job
that drops them (`writer`: whoever writes the next one).
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "tests" / "spec" / "growth.tsv"
EVER, STATE = "ever", "state"
NO_JOBS: Final = ("-", "writer")
BLOCK_S: Final = 2  # of Base
DAYS: Final = 365


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A size of the service. `years`: how long it has run at that size."""

    name: str
    agents: int
    vaults: int
    pairs: int
    years: int
    active_share: float = 0.3  # of agents, on a day
    calls_a_day: int = 200  # of an active agent
    writes_a_day: int = 5
    paid_reads_a_day: int = 10
    actions_a_day: int = 20  # of a vault that works
    mandates_a_vault: int = 5  # and year
    signals_a_day: int = 500

    def a_year(self) -> Mapping[str, float]:
        """How many of each unit there are in a year; of what is a stock, how many there are."""
        active = self.agents * self.active_share
        return {
            "one": 1,
            "minute": 1_440 * DAYS,
            "hour": 24 * DAYS,
            "day": DAYS,
            "block": DAYS * 86_400 / BLOCK_S,
            "account": self.agents,
            "agent day": active * DAYS,
            "write": active * self.writes_a_day * DAYS,
            "paid read": active * self.paid_reads_a_day * DAYS,
            "work": active * DAYS * 0.5,
            "vault": self.vaults,
            "mandate": self.vaults * self.mandates_a_vault,
            "vault day": self.vaults * DAYS,
            "vault minute": self.vaults * 1_440 * DAYS,
            "action": self.vaults * self.actions_a_day * DAYS,
            "signal": self.signals_a_day * DAYS,
            "pair": self.pairs,
            "pair minute": self.pairs * 1_440 * DAYS,
            "pair hour": self.pairs * 24 * DAYS,
            "pair 2h": self.pairs * 12 * DAYS,
        }


FIRST = Load(name="first year", agents=10_000, vaults=1_000, pairs=6_000, years=1)
SIZES: Final = (
    FIRST,
    Load(name="grown", agents=100_000, vaults=10_000, pairs=6_000, years=3),
    Load(name="largest", agents=1_000_000, vaults=100_000, pairs=6_000, years=10),
)


@dataclass(frozen=True, slots=True)
class GrowingTable:
    table: str
    unit: str
    factor: float
    kept: str
    by: str
    makes: str

    def rows_a_year(self, load: Load) -> float:
        return load.a_year()[self.unit] * self.factor

    def standing(self, load: Load, years: float) -> float:
        """Rows that stand after so many years at that size."""
        if self.kept == STATE:
            return self.rows_a_year(load)
        if self.kept == EVER:
            return self.rows_a_year(load) * years
        return self.rows_a_year(load) * min(years, int(self.kept) / DAYS)


def growing_tables() -> Sequence[GrowingTable]:
    with SPEC.open() as file:
        return [
            GrowingTable(
                row["table"],
                row["unit"],
                float(row["factor"]),
                row["kept"],
                row["by"],
                row["makes"],
            )
            for row in csv.DictReader(file, delimiter="\t")
        ]
