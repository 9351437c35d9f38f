"""Cursors: opaque, bound to their list and filters, and stable while the list grows."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.kernel.operation import Call, Refusal
from api.kernel.pagination import Page, Paged, page_of
from api.kernel.validation import command_of
from core.errors import InvalidParameterError
from tests.each import each

CALL = cast("Call", SimpleNamespace(deps=SimpleNamespace(pepper=b"p" * 32)))


class Query(Paged):
    status: str | None = None


def page(cursor: str | None = None, name: str = "mandates.list", **fields: Any) -> Page:
    return page_of(CALL, name, Query(cursor=cursor, **fields))


def identity(place: int) -> int:
    return place


@given(
    st.sets(st.integers(1, 10_000), min_size=1, max_size=60),
    st.integers(1, 10),
    st.sets(st.integers(10_001, 20_000)),
)
def test_pages__show_each_item_once_whatever_is_added_meanwhile(
    places: set[int], limit: int, added: set[int]
) -> None:
    items, seen, cursor = sorted(places, reverse=True), list[int](), None
    while True:
        asked = page(cursor, limit=limit)
        found = [place for place in items if asked.before is None or place < asked.before][
            : limit + 1
        ]
        shown, cursor = asked.cut(found, identity)
        seen += shown
        items = sorted(places | added, reverse=True)
        if cursor is None:
            break
    assert seen == sorted(places, reverse=True)


@each(("found", "has_more"), [([], False), ([3, 2], False), ([3, 2, 1], True)])
def test_a_last_page__has_no_cursor(found: list[int], has_more: bool) -> None:
    shown, cursor = page(limit=2).cut(found, identity)
    assert (shown, cursor is not None) == (found[:2], has_more)


CURSOR = page(status="draft").cursor(7)
LAST = "A" if CURSOR[-1] != "A" else "B"


@each(
    ("cursor", "name", "fields"),
    [
        (CURSOR, "mandates.board", {"status": "draft"}),
        (CURSOR, "mandates.list", {"status": "signed"}),
        (CURSOR, "mandates.list", {}),
        ("B" + CURSOR[1:], "mandates.list", {"status": "draft"}),
        (CURSOR[:-2] + LAST + CURSOR[-1], "mandates.list", {"status": "draft"}),
        (CURSOR[:-1], "mandates.list", {"status": "draft"}),
        ("", "mandates.list", {"status": "draft"}),
        ("7", "mandates.list", {"status": "draft"}),
        ("٣٣٣٣", "mandates.list", {"status": "draft"}),
        ("!" * 24, "mandates.list", {"status": "draft"}),
    ],
    ids=[
        "other list",
        "other filter",
        "no filter",
        "place changed",
        "mac changed",
        "cut",
        "empty",
        "number",
        "not ASCII",
        "no base64",
    ],
)
def test_a_foreign_or_changed_cursor__is_refused(
    cursor: str, name: str, fields: dict[str, Any]
) -> None:
    with pytest.raises(InvalidParameterError, match="cursor: send the next_cursor"):
        page(cursor, name, **fields)


def test_a_cursor__goes_on_with_another_limit() -> None:
    assert page(CURSOR, status="draft", limit=200).before == 7


def test_another_service__does_not_take_our_cursor() -> None:
    other = cast("Call", SimpleNamespace(deps=SimpleNamespace(pepper=b"q" * 32)))
    with pytest.raises(InvalidParameterError):
        page_of(other, "mandates.list", Query(cursor=CURSOR, status="draft"))


@each(("limit", "is_taken"), [(0, False), (1, True), (200, True), (201, False)])
def test_a_limit__is_1_to_200(limit: int, is_taken: bool) -> None:
    if is_taken:
        assert command_of(Query, {"limit": limit}).limit == limit  # type: ignore[attr-defined]  # a Query
    else:
        with pytest.raises(Refusal, match=r"limit: write a number of at (least|most)"):
            command_of(Query, {"limit": limit})
