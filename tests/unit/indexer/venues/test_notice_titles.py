"""How notices are classified: precision and recall of each class, on titles that were written and
labelled without sight of the classifier (titles/README.md).
"""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from core.market.facts import NoticeKind, NoticeScope
from indexer.venues.quirks.titles import MAX_TITLE, bases_in, kind_of, scope_of
from tests.each import each

TITLES: Final = Path(__file__).parent / "titles"
LEAST_PRECISION, LEAST_RECALL = 0.99, 0.95
MOST_OTHER_SCOPES, MOST_OTHER_BASES = 0.01, 0.01
KNOWN: Final = frozenset("VEGA T W A S NFT ON AAAQ ST".split())  # noqa: SIM905 (a sentence of tickers)


def rows(name: str) -> Iterator[dict[str, str]]:
    with (TITLES / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def figures(read: Iterable[tuple[str, str]]) -> dict[str, tuple[int, float, float, int]]:
    """Of (labelled, classified) by class: titles, precision, recall, unsure ones."""
    pairs = list(read)
    labelled, classified = Counter(one for one, _ in pairs), Counter(one for _, one in pairs)
    right = Counter(one for one, other in pairs if one == other)
    unsure = Counter(one for one, other in pairs if other == NoticeKind.UNSURE)
    return {
        one: (n, right[one] / max(1, classified[one]), right[one] / n, unsure[one])
        for one, n in sorted(labelled.items())
    }


@each("name", ["first.tsv", "second.tsv"])
def test_titles__of_each_class__are_told_from_their_neighbours(name: str) -> None:
    read = [(row["exchange"], row["kind"], str(kind_of(row["title"]))) for row in rows(name)]
    found = figures((kind, classified) for _, kind, classified in read)
    for kind, (n, precision, recall, unsure) in found.items():
        print(
            f"{name} {kind:20} {n:4} precision {precision:.3f} recall {recall:.3f} unsure {unsure}"
        )
    for exchange in sorted({one for one, _, _ in read}):
        of_it = [(kind, classified) for one, kind, classified in read if one == exchange]
        right = sum(kind == classified for kind, classified in of_it)
        print(f"{name} {exchange:20} {len(of_it):4} right {right / len(of_it):.3f}")
    assert {kind for kind, (n, *_) in found.items() if n >= 35} == set(NoticeKind) - {"unsure"}
    short = {
        kind: one
        for kind, one in found.items()
        if one[1] < LEAST_PRECISION or one[2] < LEAST_RECALL
    }
    assert short == {}


@each("name", ["first.tsv", "second.tsv"])
def test_titles__name_their_business_and_their_coins(name: str) -> None:
    every = list(rows(name))
    known = frozenset(base for row in every for base in row["bases"].split(",")) - {"-"}
    other_scope = [row["title"] for row in every if scope_of(row["title"]) != row["scope"]]
    other_bases = [
        row["title"]
        for row in every
        if (",".join(bases_in(row["title"], known)) or "-") != row["bases"]
    ]
    assert len(other_scope) <= MOST_OTHER_SCOPES * len(every), other_scope
    assert len(other_bases) <= MOST_OTHER_BASES * len(every), other_bases


@each(
    ("title", "kind", "bases"),
    [
        ("베가(VEGA) 거래유의종목 지정 해제", NoticeKind.OTHER, "VEGA"),
        ("The ST tag of Vega (VEGA) has been removed", NoticeKind.OTHER, "VEGA"),
        ("Special Treatment of Vega (VEGA) lifted", NoticeKind.OTHER, "VEGA"),
        (
            "Exchange Will Remove the Monitoring Tag for VEGA on 2026-12-01",
            NoticeKind.OTHER,
            "VEGA",
        ),
        ("Delisting of Threshold (T)", NoticeKind.DELIST, "T"),
        ("웜홀(W) 거래지원 종료 안내", NoticeKind.DELIST, "W"),
        ("Will Delist Vaulta (A) and Sonic (S)", NoticeKind.DELIST, "A,S"),
        ("에이피이엔에프티(NFT) 거래지원 종료 안내", NoticeKind.DELIST, "NFT"),
        ("Will Delist Orochi Network (ON) on December 1", NoticeKind.DELIST, "ON"),
        ("베가(VEGA) 입출금 일시 중지 안내", NoticeKind.SUSPEND, "VEGA"),
        ("베가(VEGA) 입금 중지 안내", NoticeKind.SUSPEND, "VEGA"),
        ("Special Treatment (ST) tag for AAAQ", NoticeKind.ST_TAG, "AAAQ"),
        ("센티오(ST) 거래지원 종료 안내 (UTC)", NoticeKind.DELIST, "ST"),
        ("Will Add the ST Tag to AAAQ and Remove It From VEGA", NoticeKind.UNSURE, "AAAQ,VEGA"),
        (
            "Delisting of Vega (VEGA) | 베가(VEGA) 거래지원 종료 2024-01-02",
            NoticeKind.DELIST,
            "VEGA",
        ),
    ],
)
def test_a_known_case(title: str, kind: NoticeKind, bases: str) -> None:
    assert (kind_of(title), ",".join(bases_in(title, KNOWN))) == (kind, bases)


@each(
    "letters",
    ["(", "A/BTC ", "Delist A ", "A and ", "(A,", "[", "거래 지원이 ", "trading for ", "가(A)"],
)
def test_a_title_of_ten_thousand_letters__is_read_at_its_start(letters: str) -> None:
    title = letters * (10_000 // len(letters))
    assert kind_of(title) is kind_of(title[:MAX_TITLE])
    assert scope_of(title) is NoticeScope.SPOT
    assert set(bases_in(title, KNOWN)) <= {"A"}
