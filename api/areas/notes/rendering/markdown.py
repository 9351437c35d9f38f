"""Notes as markdown, from the templates beside this file (docs/notes.md).

Laws
- Equal facts, tier and time give equal bytes.
- What a template writes is escaped for markdown unless it is Markdown already, so that a text from
  outside is never anything but that text (api/areas/notes/rules/markdown_text.py).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any, Final
from urllib.parse import quote

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template

from api.areas.notes.rules import figures, note
from api.areas.notes.rules.facts import NoteContract, NoteFacts, NoteGroup, NoteTier, NoteVenue
from api.areas.notes.rules.markdown_text import Markdown, code, escaped, link, wikilink
from api.areas.notes.rules.names import HubKind, hub_file, token_file
from api.areas.notes.rules.yaml_text import block
from core.listings.rules import EXCHANGES
from core.times import instant_text

SAME_TIME: Final = timedelta(hours=1)
TEMPLATES: Final = Path(__file__).parent / "templates"

_INCLUDE: Final = re.compile(r'^\{% include "([a-z_.]+)" %\}\n', re.MULTILINE)
_EVENTS: Final = {
    "deposit_opened": "deposits opened",
    "deposit_closed": "deposits closed",
    "deposit_unknown": "deposits became unknown",
    "withdraw_opened": "withdrawals opened",
    "withdraw_closed": "withdrawals closed",
    "withdraw_unknown": "withdrawals became unknown",
    "st_tag": "special-treatment tag",
    "caution_designation": "caution designation",
    "delist_notice": "delisting notice",
    "suspend_notice": "suspension notice",
    "resume_notice": "resumption notice",
    "delisting_confirmed": "delisting confirmed",
}
_HUBS: Final = {
    HubKind.CHAIN: "Tokens with a contract or a network on this chain.",
    HubKind.CLASS: "Tokens of this class, as exchanges say.",
    HubKind.FLAG: "Tickers that several assets have: compare contracts.",
    HubKind.EVENT: "Tokens whose notes mention this event.",
    HubKind.BACKER: "Tokens whose backer this is, by a verified claim.",
}


def note_text(facts: NoteFacts, tier: NoteTier, at: datetime) -> str:
    """A token's note. `at`: when its facts were read."""
    priced = [one for one in facts.venues if one.price_usd is not None and one.is_listed]
    values = {
        "front": Markdown(note.frontmatter(facts, tier, at)),
        "facts": facts,
        "is_pro": tier is NoteTier.PRO,
        "chains": note.chains_of(facts),
        "backers": note.backers_of(facts),
        "blocks": contract_blocks(facts),
        "makers": note.maker_venues(facts),
        "priced": priced,
        "dispersion": _dispersion(priced),
        "verified": [one for one in facts.claims if one.is_verified],
        "unverified": [one for one in facts.claims if not one.is_verified],
    }
    return _template("note").render(values)


def hub_text(kind: HubKind, name: str, tokens: Sequence[str], at: datetime) -> str:
    """The note that tokens with this chain, class, flag, event or backer lead to."""
    label = event_words(name) if kind is HubKind.EVENT else name
    front = {"name": name, "type": str(kind), "updated": instant_text(at), "source": "kg"}
    values = {
        "front": _front(front),
        "name": label,
        "says": Markdown(_HUBS[kind]),
        "tokens": tokens,
    }
    return _template("hub").render(values)


def index_text(tokens: Iterable[str], count: int, at: datetime) -> str:
    """Tokens by how they begin. `count`: of all that have a note, also of those that are not here."""
    ordered = sorted(tokens)
    letters = [(letter, list(group)) for letter, group in groupby(ordered, lambda one: one[:1])]
    front = _front({"type": "index", "updated": instant_text(at), "source": "kg"})
    return _template("index").render(front=front, count=count, shown=len(ordered), letters=letters)


def contract_blocks(
    facts: NoteFacts,
) -> list[tuple[NoteGroup | None, list[NoteContract]]]:
    """The contracts of each asset that has the ticker: those of a group follow one another, and the
    first of them is the group's id.
    """
    groups = {one.id: one for one in facts.groups}
    found: list[tuple[NoteGroup | None, list[NoteContract]]] = []
    for one in facts.contracts:
        group = groups.get(f"{one.chain}:{one.address}")
        if group is not None or not found:
            found.append((group, []))
        found[-1][1].append(one)
    return found


def event_words(kind: str) -> str:
    return _EVENTS.get(kind, kind.replace("_", " "))


def _dispersion(venues: Iterable[NoteVenue]) -> float | None:
    """Of prices that were seen within an hour of the newest."""
    seen = [(one.price_usd, one.sampled_at) for one in venues if one.price_usd and one.sampled_at]
    newest = max((at for _, at in seen), default=None)
    prices = [price for price, at in seen if newest is not None and at > newest - SAME_TIME]
    usual = median(prices) if len(prices) > 1 else 0
    return (max(prices) - min(prices)) / usual if usual > 0 else None


def _front(pairs: Mapping[str, str]) -> Markdown:
    lines = "".join(block(name, value) for name, value in pairs.items())
    return Markdown(f"---\n{lines}---\n")


def _finalized(value: Any) -> Any:
    return value if isinstance(value, Markdown) else escaped(str(value))


@lru_cache(maxsize=256)
def _venue(exchange: str) -> Markdown:
    """`BN (binance)`: the code that screens show, and the id that calls take; never a link."""
    known = EXCHANGES.get(exchange)
    return escaped(exchange) if known is None else Markdown(f"{known.code} ({known.id})")


@lru_cache(maxsize=1_024)
def _at(at: datetime | None) -> Markdown:
    return Markdown("" if at is None else instant_text(at))


@lru_cache(maxsize=1_024)
def _bare(text: str) -> Markdown:
    """As part of a URL."""
    return Markdown(quote(text, safe=""))


def _depth(one: NoteVenue) -> Markdown:
    if one.bid_2_usd is None or one.ask_2_usd is None:
        return Markdown("")
    return Markdown(figures.whole(min(one.bid_2_usd, one.ask_2_usd)))


def _joined(parts: Iterable[Markdown]) -> Markdown:
    return Markdown(", ".join(parts))


def _hub_link(kind: HubKind, name: str) -> Markdown:
    return wikilink(hub_file(kind, name), event_words(name) if kind is HubKind.EVENT else name)


def _token_link(ticker: str) -> Markdown:
    return wikilink(token_file(ticker), ticker)


_FILTERS: Final = {
    "all_words": lambda names: _joined(escaped(one.replace("_", " ")) for one in names),
    "at": _at,
    "backer_link": lambda name: _hub_link(HubKind.BACKER, name),
    "bare": _bare,
    "bps": lambda value: Markdown(figures.bps(value)),
    "chain_link": lambda name: _hub_link(HubKind.CHAIN, name),
    "class_link": lambda name: _hub_link(HubKind.CLASS, name),
    "code": code,
    "codes": lambda exchanges: _joined(map(_venue, exchanges)),
    "codes_of": lambda texts: _joined(map(code, texts)),
    "day": lambda at: Markdown(at.date().isoformat()),
    "depth": _depth,
    "event_link": lambda name: _hub_link(HubKind.EVENT, name),
    "linked": link,
    "number": lambda value: Markdown(figures.number(value)),
    "percent": lambda value: Markdown(figures.percent(value)),
    "token_link": _token_link,
    "transfer": lambda value: Markdown(figures.transfer(value)),
    "venue": _venue,
    "whole": lambda value: Markdown(figures.whole(value)),
    "words": lambda text: text.replace("_", " "),
}


class _Environment(Environment):
    """Facts are dataclasses: an attribute that they lack is a defect, and no item of theirs."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        return getattr(obj, attribute)


def _source(name: str) -> str:
    """A template with what it includes in its place, since a note is written by the thousand."""
    text = (TEMPLATES / name).read_text()
    return _INCLUDE.sub(lambda found: _source(found[1]), text)


@cache
def _template(name: str) -> Template:
    environment = _Environment(
        loader=FunctionLoader(_source),
        autoescape=False,  # this is markdown: `finalize` escapes it
        finalize=_finalized,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(_FILTERS)
    return environment.get_template(f"{name}.md.jinja")
