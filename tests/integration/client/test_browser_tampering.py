"""The table of tampering of docs/verify.md through the check in the browser: the same names as
verify-record finds, record by record.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.integration.client.browser_check import checked_in_browser
from tests.integration.client.conftest import Exported
from tests.integration.client.test_tampering import BEGIN, END, EVERY, LOST

PAGE = Path(__file__).parents[3] / "docs" / "verify.md"
Found = dict[str, dict[str, Any]]


def names_of_the_page(begin: str, end: str) -> dict[str, list[str]]:
    """The names in each row of a table of tampering; of one that is not checked, its part."""
    table = PAGE.read_text().partition(begin)[2].partition(end)[0]
    rows = [line.split(" | ") for line in table.splitlines()[2:]]
    return {
        kind.removeprefix("| "): sorted(re.findall(r"`([a-z_.]+)`", names))
        for kind, _, names in rows
    }


@pytest.fixture(scope="module")
def found(exported: Exported) -> Found:
    """What the browser's check finds of every kind of tampering, and of two honest records."""
    records = {kind: one.apply(exported) for kind, one in EVERY.items()}
    return checked_in_browser(
        exported.deployed, {**records, "honest": exported.other, "lost": exported.lines}
    )


def test_an_honest_record__is_sound_beside_its_claim(found: Found) -> None:
    honest = found["honest"]
    assert (honest["findings"], honest["unchecked"]) == ([], [])
    assert (honest["verdict"], honest["claims"]) == ("chain_sound", [6])


def test_rows_of_a_block_that_no_node_knows__are_never_sound(found: Found) -> None:
    lost = found["lost"]
    assert (lost["findings"], lost["claims"]) == ([], [5, 6, 7, 8])
    assert (lost["verdict"], lost["unchecked"]) == ("unchecked", [LOST])


@pytest.mark.parametrize("kind", [kind for kind, one in EVERY.items() if not one.is_refused])
def test_tampering__is_found_by_the_names_of_the_page(found: Found, kind: str) -> None:
    assert found[kind]["verdict"] == "different"
    assert found[kind]["names"] == names_of_the_page(BEGIN, END)[kind]


@pytest.mark.parametrize("kind", [kind for kind, one in EVERY.items() if one.is_refused])
def test_tampering_that_nothing_contradicts__is_never_sound(found: Found, kind: str) -> None:
    assert (found[kind]["verdict"], found[kind]["findings"]) == ("unchecked", [])
    parts = {text.partition(":")[0] for text in found[kind]["unchecked"]}
    assert parts == {EVERY[kind].name}
