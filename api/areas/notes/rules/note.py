"""A note's frontmatter and the links that it makes (docs/notes.md).

Laws
- The keys stand in one order; a key whose value is not known is absent. `grade` alone may be null.
- What is linked to has a note of its own: a token's, or a hub's.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Final

from api.areas.notes.rules.facts import NoteFacts, NoteTier
from api.areas.notes.rules.names import HubKind, hub_file, hub_name, token_file
from api.areas.notes.rules.yaml_text import Scalar, block

COLLISION: Final = "collision"
MAKER_UPTIME: Final = 0.8  # of the looks that had a book with two sides
CACHE_S: Final = {NoteTier.FREE: 60, NoteTier.PRO: 10}
_LETTERS: Final = ((3.5, "A"), (2.5, "B"), (1.5, "C"), (0.5, "D"))


@dataclass(frozen=True, slots=True)
class NoteEdge:
    """A link of a note: `path` is the file that it leads to, without its ending. `kind` None:
    another token.
    """

    kind: HubKind | None
    name: str

    @property
    def path(self) -> str:
        return token_file(self.name) if self.kind is None else hub_file(self.kind, self.name)


def rendered_at(now: datetime, tier: NoteTier) -> datetime:
    """The beginning of the seconds for which the tier's notes are kept, so that a note whose facts
    did not change is the same note within them.
    """
    every = timedelta(seconds=CACHE_S[tier])
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return epoch + (now - epoch) // every * every


def frontmatter(facts: NoteFacts, tier: NoteTier, at: datetime) -> str:
    """Between its two lines of dashes."""
    keys: list[tuple[str, Scalar | Sequence[str] | Sequence[dict[str, str]]]] = [
        ("token", facts.token),
        ("type", "token"),
        ("grade", facts.grade),
        ("grade_worst", facts.grade_worst),
        ("identity", facts.identity),
        ("contracts", [{"chain": one.chain, "address": one.address} for one in facts.contracts]),
        ("exchanges", facts.exchanges),
        ("transfer", facts.transfer),
        ("asset_class", facts.asset_class),
        ("updated", at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")),
        ("source", "kg"),
        ("tier", str(tier)),
    ]
    if tier is NoteTier.PRO:
        keys += [
            ("grade_7d", letter_of(facts.gpa_7d)),
            ("one_price_actionable_pct", facts.one_price_actionable_pct),
            ("arb_hits_24h", facts.arb_hits_24h),
            ("mm_venues", maker_venues(facts)),
        ]
    keys.append(("simulated", facts.is_simulated or None))
    lines = [
        block(name, value)
        for name, value in keys
        if name == "grade" or not (value is None or value in ([], ()))
    ]
    return f"---\n{''.join(lines)}---\n"


def letter_of(gpa: float | None) -> str | None:
    """The letter that a mean of A 4, B 3, C 2, D 1, F 0 is nearest to; a half is the better one's."""
    if gpa is None:
        return None
    return next((letter for least, letter in _LETTERS if gpa >= least), "F")


def maker_venues(facts: NoteFacts) -> tuple[str, ...]:
    """Exchanges where somebody seems to make a market: in at least 80 % of 24 hours' looks the book
    of its tightest pair had two sides, and the median spread there is at most the median of those of
    all exchanges that list the token.
    """
    tightest = dict[str, tuple[float, float | None]]()
    for one in facts.venues:
        spread, best = one.median_spread_bps, tightest.get(one.exchange)
        if one.is_listed and spread is not None and (best is None or spread < best[0]):
            tightest[one.exchange] = spread, one.uptime
    if len(tightest) < 2:
        return ()
    usual = median(spread for spread, _ in tightest.values())
    return tuple(
        exchange
        for exchange, (spread, uptime) in sorted(tightest.items())
        if spread <= usual and uptime is not None and uptime >= MAKER_UPTIME
    )


def chains_of(facts: NoteFacts) -> tuple[str, ...]:
    """Every chain that a contract or a network is on."""
    return _each_once(
        [one.chain for one in facts.contracts] + [one.chain for one in facts.networks]
    )


def backers_of(facts: NoteFacts) -> tuple[str, ...]:
    """Whom verified claims name."""
    return _each_once(
        one.backer for one in facts.claims if one.is_verified and one.backer is not None
    )


def edges(facts: NoteFacts) -> tuple[NoteEdge, ...]:
    """The links of a note, each once, in its order."""
    return tuple(dict.fromkeys(_edges(facts)))


def _edges(facts: NoteFacts) -> Iterator[NoteEdge]:
    for chain in chains_of(facts):
        yield NoteEdge(HubKind.CHAIN, hub_name(HubKind.CHAIN, chain))
    if facts.asset_class is not None:
        yield NoteEdge(HubKind.CLASS, facts.asset_class)
    if facts.identity == COLLISION:
        yield NoteEdge(HubKind.FLAG, COLLISION)
    for token in facts.related:
        yield NoteEdge(None, token)
    for kind in (*(one.type for one in facts.warnings), *(one.kind for one in facts.events)):
        yield NoteEdge(HubKind.EVENT, kind)
    for backer in backers_of(facts):
        yield NoteEdge(HubKind.BACKER, backer)


def _each_once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
