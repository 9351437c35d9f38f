"""What grows, and how fast at a size of the service: tests/spec/growth.tsv read, its arithmetic, and the tables
of docs/operations/growth.md and retention.md that come of it and of what `make growth` measured.

A row of the file: a table, what makes a row of it, how many a unit, how long rows are kept (days, `ever`,
or `state` for a table that follows how many things there are, and not how long), and the slow job
that drops them (`writer`: whoever writes the next one).
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.bench.place import ROOT

SPEC: Final = ROOT / "tests" / "spec" / "growth.tsv"
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


# Costs, and what they come to

FOLDER: Final = ROOT / "docs" / "operations"
GIGA: Final = 1e9
LARGE: Final = 250e6  # bytes after a first year
DAY_S: Final = 86_400
PEAK_CALLS, PEAK_EVENTS = 5, 10  # times the mean of a day
READS_A_LOOK: Final = 2  # status and worth of a vault
CALLS_PER_S: Final = 2_000  # RPC_REQUESTS_PER_S


@dataclass(frozen=True, slots=True)
class Costs:
    figures: Mapping[str, Any]

    def __getitem__(self, name: str) -> float:
        return float(self.figures["costs"][name])

    def bytes_of(self, one: GrowingTable) -> float:
        return float(self.figures["bytes_a_row"][one.table])

    def disk(self, one: GrowingTable, load: Load, years: float) -> float:
        return one.standing(load, years) * self.bytes_of(one)

    def whole(self, load: Load, years: float) -> float:
        return sum(self.disk(one, load, years) for one in growing_tables())


@dataclass(frozen=True, slots=True)
class Part:
    """Something that grows until `limit`, and what an operator turns then."""

    name: str
    value: Callable[[Costs, Load], float]
    limit: float
    unit: str
    turn: str


def _looks_s(costs: Costs, load: Load) -> float:
    return load.vaults * costs["look_ms"] / 1_000


def _reads_s(costs: Costs, load: Load) -> float:
    return load.vaults * READS_A_LOOK / CALLS_PER_S


def _indexer_cores(costs: Costs, load: Load) -> float:
    events = load.vaults * load.actions_a_day * 1.5 / DAY_S * PEAK_EVENTS
    return (events * costs["event_ms"] + costs["block_ms"] / 2) / 1_000


def _calls_a_s(load: Load) -> float:
    return load.agents * load.active_share * load.calls_a_day / DAY_S * PEAK_CALLS


def _api_cores(costs: Costs, load: Load) -> float:
    return _calls_a_s(load) * costs["call_ms"] / 1_000


def _database_cores(costs: Costs, load: Load) -> float:
    events = load.vaults * load.actions_a_day * 1.5 / DAY_S * PEAK_EVENTS
    looks = load.vaults / max(_looks_s(costs, load), 1.0)
    return (
        _calls_a_s(load) * costs["call_db_ms"]
        + events * costs["event_db_ms"]
        + looks * costs["look_db_ms"]
    ) / 1_000


def _disk_of(table: str) -> Callable[[Costs, Load], float]:
    def value(costs: Costs, load: Load) -> float:
        (one,) = (one for one in growing_tables() if one.table == table)
        return costs.disk(one, load, load.years) / GIGA

    return value


def _disk(costs: Costs, load: Load) -> float:
    return costs.whole(load, load.years) / GIGA


PARTS: Final = (
    Part(
        "reading every vault from the nodes, at `RPC_REQUESTS_PER_S` 2,000",
        _reads_s,
        60,
        "s per round",
        "`RPC_REQUESTS_PER_S`, with a node of your own; vaults near their floor are read first",
    ),
    Part(
        "judging every vault, one core",
        _looks_s,
        60,
        "s per round",
        "a faster core; then a keeper for each factory, since one keeper is one process",
    ),
    Part(
        "judgements (`vault_mark`), one per vault and minute",
        _disk_of("vault_mark"),
        500,
        "GB",
        "`KEEPER_MARK_RETENTION_DAYS`: 7 instead of 90 needs a thirteenth",
    ),
    Part(
        "the ledgers of mandates (`mandate_event`)",
        _disk_of("mandate_event"),
        1_000,
        "GB",
        "a larger disk: the record is kept for ever",
    ),
    Part(
        "one indexer, at ten times the mean",
        _indexer_cores,
        0.7,
        "cores",
        "nothing: one process writes the record; after a peak it catches up by ranges",
    ),
    Part(
        "calls, at five times the mean",
        _api_cores,
        8,
        "cores",
        "more API processes behind a proxy; `DAILY_CEILING`",
    ),
    Part(
        "Postgres at that peak",
        _database_cores,
        16,
        "cores",
        "a larger machine; then reads to replicas",
    ),
    Part(
        "the whole database",
        _disk,
        2_000,
        "GB",
        "shorter retention of judgements; then a larger disk",
    ),
)


# Text


def number(value: float) -> str:
    """Three figures that count, with commas; 0 stays 0."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def size(octets: float) -> str:
    for unit, many in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if octets >= many:
            return f"{number(octets / many)} {unit}"
    return f"{number(octets)} B"


def table(heads: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def is_in_the_page(one: GrowingTable, costs: Costs) -> bool:
    """Large, or dropped after some days; tests/spec/growth.tsv has the others."""
    return one.kept not in (EVER, STATE) or costs.disk(one, FIRST, 1) >= LARGE


def retention(costs: Costs) -> str:
    tables = growing_tables()
    largest = sorted(
        (one for one in tables if is_in_the_page(one, costs)),
        key=lambda one: -costs.disk(one, FIRST, 1),
    )
    rows = (
        (
            f"`{one.table}`",
            one.makes,
            number(one.rows_a_year(FIRST)),
            number(costs.bytes_of(one)),
            {EVER: "for ever", STATE: "one per thing"}.get(one.kept, f"{one.kept} days"),
            "" if one.by in NO_JOBS else f"`{one.by}`",
            size(costs.disk(one, FIRST, 1)),
        )
        for one in largest
    )
    heads = ("table", "a row", "rows a year", "bytes a row", "kept", "job", "disk after a year")
    whole = costs.whole(FIRST, 1)
    rest = whole - sum(costs.disk(one, FIRST, 1) for one in largest)
    return (
        f"{table(heads, rows)}\n\n{len(tables) - len(largest)} smaller tables: {size(rest)}. "
        f"All together {size(whole)}."
    )


def measured_costs(costs: Costs) -> str:
    names = (
        ("an empty block, indexer", "block_ms", "block_db_ms"),
        ("a ledger's row in a block, indexer", "event_ms", "event_db_ms"),
        ("judging a vault, keeper", "look_ms", "look_db_ms"),
        ("a read with a key, API", "call_ms", "call_db_ms"),
    )
    heads = ("what", "CPU of the process, ms", "CPU of Postgres, ms")
    figures = costs.figures
    told = f"Measured on {figures['measured_on']} ({figures['machine']})."
    rows = ((what, number(costs[own]), number(costs[theirs])) for what, own, theirs in names)
    return f"{told}\n\n{table(heads, rows)}"


def sizes(costs: Costs) -> str:
    loads = table(
        ("size", "agents", "vaults", "years", "calls per second, peak", "database"),
        (
            (
                load.name,
                f"{load.agents:,}",
                f"{load.vaults:,}",
                str(load.years),
                number(_calls_a_s(load)),
                size(costs.whole(load, load.years)),
            )
            for load in SIZES
        ),
    )
    rows = (
        (part.name, f"{number(part.limit)} {part.unit}", *_at_sizes(part, costs), part.turn)
        for part in first_to_break(costs)
    )
    heads = ("part", "limit", *(one.name for one in SIZES), "what to change")
    return f"{loads}\n\n{table(heads, rows)}"


def _at_sizes(part: Part, costs: Costs) -> Iterator[str]:
    for load in SIZES:
        value = part.value(costs, load)
        yield f"**{number(value)}**" if value > part.limit else number(value)


def first_to_break(costs: Costs) -> Sequence[Part]:
    """Those that are furthest beyond their limit at the largest size come first."""
    return sorted(PARTS, key=lambda part: -part.value(costs, SIZES[-1]) / part.limit)


SECTIONS: Final[Mapping[str, Mapping[str, Callable[[Costs], str]]]] = {
    "retention.md": {"tables": retention},
    "growth.md": {"costs": measured_costs, "sizes": sizes},
}


def _filled(page: str, figures: Mapping[str, Any]) -> str:
    content = (FOLDER / page).read_text()
    for name, section in SECTIONS[page].items():
        begin, end = f"<!-- {name}: make growth -->", f"<!-- end of {name} -->"
        before, found, rest = content.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"{page} has no place for {name}")
        content = f"{before}{begin}\n\n{section(Costs(figures))}\n\n{end}{after}"
    return content


def write(figures: Mapping[str, Any]) -> None:
    for page in SECTIONS:
        content = _filled(page, figures)
        (FOLDER / page).write_text(content)


def with_new_tables(figures: Mapping[str, Any], bytes_a_row: Mapping[str, float]) -> dict[str, Any]:
    """The same figures, with those of tables that had none, without those of tables that are gone."""
    kept = {name: figures["bytes_a_row"].get(name, octets) for name, octets in bytes_a_row.items()}
    return {**figures, "bytes_a_row": kept}


def stale(figures: Mapping[str, Any]) -> list[str]:
    """Pages that do not say what the figures come to."""
    return [page for page in SECTIONS if (FOLDER / page).read_text() != _filled(page, figures)]


def jobs_named() -> set[str]:
    """Slow jobs that the file of tables says something is dropped by."""
    return {one.by for one in growing_tables() if one.by not in NO_JOBS}
