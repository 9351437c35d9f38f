"""The tables of docs/operations/growth.md and retention.md, made of what `make growth` measured."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from tests.bench.growth_load import (
    EVER,
    FIRST,
    NO_JOBS,
    ROOT,
    SIZES,
    STATE,
    GrowingTable,
    Load,
    growing_tables,
)

FOLDER: Final = ROOT / "docs" / "operations"
GIGA: Final = 1e9
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
    """Something that grows until `limit`. `grows_with`: the figure of a Load that it follows."""

    name: str
    value: Callable[[Costs, Load], float]
    limit: float
    unit: str
    grows_with: str
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
        "s a look",
        "vaults",
        "`RPC_REQUESTS_PER_S`, with a node of your own; vaults near their floor are read first whatever the others take",
    ),
    Part(
        "the keeper's look, one core",
        _looks_s,
        60,
        "s a look",
        "vaults",
        "a faster core; then a keeper for each factory, since one keeper is one process",
    ),
    Part(
        "judgements (`vault_mark`), one a vault and minute",
        _disk_of("vault_mark"),
        500,
        "GB",
        "vaults",
        "`KEEPER_MARK_RETENTION_DAYS`: 7 in place of 90 is a thirteenth",
    ),
    Part(
        "the ledgers of mandates (`mandate_event`)",
        _disk_of("mandate_event"),
        1_000,
        "GB",
        "vaults",
        "a larger disk: the record is kept for ever",
    ),
    Part(
        "one indexer, at ten times the mean",
        _indexer_cores,
        0.7,
        "cores",
        "vaults",
        "nothing to turn: one process writes the record; behind by minutes at a peak, it catches up by ranges",
    ),
    Part(
        "calls, at five times the mean",
        _api_cores,
        8,
        "cores",
        "agents",
        "more API processes behind a proxy; `DAILY_CEILING`",
    ),
    Part(
        "Postgres at that peak",
        _database_cores,
        16,
        "cores",
        "agents",
        "a larger machine; then reads to replicas",
    ),
    Part(
        "the whole database",
        _disk,
        2_000,
        "GB",
        "agents",
        "judgements and ledgers first, which have lines of their own here; then a larger disk: what is kept for ever stays",
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


def retention(costs: Costs) -> str:
    def rows() -> Iterator[Sequence[str]]:
        by_size = sorted(growing_tables(), key=lambda one: -costs.disk(one, FIRST, 1))
        for one in by_size:
            kept = {EVER: "for ever", STATE: "one a thing"}.get(one.kept, f"{one.kept} days")
            by = {"-": "", "writer": "whoever writes the next"}.get(one.by, f"`{one.by}`")
            yield (
                f"`{one.table}`",
                one.makes,
                number(one.rows_a_year(FIRST)),
                number(costs.bytes_of(one)),
                kept,
                by,
                size(costs.disk(one, FIRST, 1)),
            )

    heads = ("table", "a row", "rows a year", "bytes a row", "kept", "job", "disk after a year")
    whole = f"All together {size(costs.whole(FIRST, 1))}."
    return f"{table(heads, rows())}\n\n{whole}"


def measured_costs(costs: Costs) -> str:
    names = (
        ("an empty block, indexer", "block_ms", "block_db_ms"),
        ("a ledger's row in a block, indexer", "event_ms", "event_db_ms"),
        ("a look at a vault, keeper", "look_ms", "look_db_ms"),
        ("a read with a key, API", "call_ms", "call_db_ms"),
    )
    heads = ("what", "CPU of the process, ms", "CPU of Postgres, ms")
    figures = costs.figures
    told = f"Measured on {figures['measured_on']} ({figures['machine']})."
    rows = ((what, number(costs[own]), number(costs[theirs])) for what, own, theirs in names)
    return f"{told}\n\n{table(heads, rows)}"


def sizes(costs: Costs) -> str:
    heads = ("part", "limit", *(one.name for one in SIZES), "reached at")

    def rows() -> Iterator[Sequence[str]]:
        for part in first_to_break(costs):
            values = [part.value(costs, load) for load in SIZES]
            yield (
                part.name,
                f"{number(part.limit)} {part.unit}",
                *(f"**{number(v)}**" if v > part.limit else number(v) for v in values),
                reached(part, costs),
            )

    loads = table(
        ("size", "agents", "vaults", "years", "calls a second, peak", "database"),
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
    return f"{loads}\n\n{table(heads, rows())}"


def first_to_break(costs: Costs) -> Sequence[Part]:
    """By the size at which they break; then those that do not, the nearest to its limit first."""
    largest = SIZES[-1]
    return sorted(
        PARTS,
        key=lambda part: (share_at_limit(part, costs), -part.value(costs, largest) / part.limit),
    )


def share_at_limit(part: Part, costs: Costs) -> float:
    """Where between the first size and the largest, as of `between`, the limit is met: 0 to 1;
    infinite when the largest is within it.
    """
    if part.value(costs, SIZES[-1]) <= part.limit:
        return inf
    if part.value(costs, SIZES[0]) > part.limit:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (
            (low, middle) if part.value(costs, between(middle)) > part.limit else (middle, high)
        )
    return high


def reached(part: Part, costs: Costs) -> str:
    """The size at which the limit is met; years grow along."""
    share = share_at_limit(part, costs)
    if share == inf:
        return "not by then"
    if share == 0:
        return "before the first year ends"
    load = between(share)
    many = number(round(getattr(load, part.grows_with), -2))
    return f"{many} {part.grows_with}, year {load.years}"


def between(share: float) -> Load:
    """A size between the first and the largest, by equal ratios."""
    first, largest = SIZES[0], SIZES[-1]

    def of(name: str) -> float:
        low, high = float(getattr(first, name)), float(getattr(largest, name))
        return float(low * (high / low) ** share)

    return Load(
        name="between",
        agents=round(of("agents")),
        vaults=round(of("vaults")),
        pairs=first.pairs,
        years=max(1, round(of("years"))),
    )


def turns(costs: Costs) -> str:
    lines = [
        f"{place}. **{part.name}** ({reached(part, costs)}): {part.turn}."
        for place, part in enumerate(first_to_break(costs), start=1)
    ]
    return "\n".join(lines)


def largest_tables(costs: Costs) -> str:
    load = SIZES[-1]
    ordered = sorted(growing_tables(), key=lambda one: -costs.disk(one, load, load.years))
    rows = (
        (
            f"`{one.table}`",
            number(one.standing(load, load.years)),
            size(costs.disk(one, load, load.years)),
        )
        for one in ordered[:12]
    )
    return table(("table", "rows", "disk"), rows)


SECTIONS: Final[Mapping[str, Mapping[str, Callable[[Costs], str]]]] = {
    "retention.md": {"tables": retention},
    "growth.md": {
        "costs": measured_costs,
        "sizes": sizes,
        "turns": turns,
        "largest": largest_tables,
    },
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


def stale(figures: Mapping[str, Any]) -> list[str]:
    """Pages that do not say what the figures come to."""
    return [page for page in SECTIONS if (FOLDER / page).read_text() != _filled(page, figures)]


def jobs_named() -> set[str]:
    """Slow jobs that the file of tables says something is dropped by."""
    return {one.by for one in growing_tables() if one.by not in NO_JOBS}
