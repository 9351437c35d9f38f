"""The table of tampering of docs/verify.md through the check in the browser: the same names as
verify-record finds, record by record.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.integration.client.browser_check import checked_in_browser
from tests.integration.client.conftest import Exported
from tests.integration.client.tampering_of_authors import AUTHORS_KINDS
from tests.integration.client.test_operator_records import false_reports
from tests.integration.client.test_tampering import BEGIN, END, EVERY, LOST
from tests.integration.client.test_tampering_of_authors import BEGIN as BEGIN_AUTHORS
from tests.integration.client.test_tampering_of_authors import END as END_AUTHORS
from tests.integration.client.test_tampering_of_authors import signed  # noqa: F401 (a fixture)

pytestmark = pytest.mark.slow
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
        exported.deployed,
        {
            **records,
            "honest": exported.other,
            "lost": exported.lines,
            "false reports": false_reports(exported).lines(),
        },
    )


def test_an_honest_record__is_sound_beside_its_claim(found: Found) -> None:
    honest = found["honest"]
    assert (honest["findings"], honest["unchecked"]) == ([], [])
    assert (honest["verdict"], honest["claims"]) == ("chain_sound", [6])


def test_false_reports_of_the_agent__are_a_remark_and_no_difference(found: Found) -> None:
    false = found["false reports"]
    assert (false["verdict"], false["findings"], false["unchecked"]) == ("chain_sound", [], [])
    assert [text for text in false["remarks"] if "contradicts 3 of the agent's reports" in text]


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


# A node that has today's state alone


@pytest.mark.parametrize(
    ("refused", "parts"),
    [
        (["eth_call", "eth_getTransactionCount"], ["reverted calls", "the vault's totals"]),
        (["eth_getProof"], ["the vault's logHead"]),
        (["eth_getLogs"], ["other terms", "logs of the vault"]),
    ],
)
def test_a_node_that_serves_less__is_never_sound_and_is_blamed_by_part(
    exported: Exported, refused: list[str], parts: list[str]
) -> None:
    found = checked_in_browser(exported.deployed, {"honest": exported.other}, refused=refused)
    honest = found["honest"]
    assert (honest["verdict"], honest["findings"]) == ("unchecked", [])
    assert [text.partition(":")[0] for text in honest["unchecked"]] == parts


def test_a_forged_amount__is_found_without_past_state_too(exported: Exported) -> None:
    lines = {"forged": EVERY["amount off by one"].apply(exported)}
    refused = ["eth_call", "eth_getTransactionCount"]
    found = checked_in_browser(exported.deployed, lines, refused=refused)
    assert found["forged"]["names"] == ["row.amount"]


# Rows that their authors signed


@pytest.fixture(scope="module")
def found_of_authors(signed: Exported) -> Found:
    records = {kind: one.apply(signed) for kind, one in AUTHORS_KINDS.items()}
    return checked_in_browser(signed.deployed, {**records, "honest": signed.lines})


def test_an_honest_record_of_an_agent_who_signs__is_sound(found_of_authors: Found) -> None:
    honest = found_of_authors["honest"]
    assert (honest["findings"], honest["unchecked"]) == ([], [])
    assert honest["counts"]["signedRows"] == 3
    assert (len(honest["signedClaims"]), len(honest["claims"])) == (3, 4)


@pytest.mark.parametrize("kind", AUTHORS_KINDS)
def test_tampering_with_signed_rows__is_found_by_the_names_of_the_page(
    found_of_authors: Found, kind: str
) -> None:
    wanted = names_of_the_page(BEGIN_AUTHORS, END_AUTHORS)
    assert found_of_authors[kind]["verdict"] == "different"
    assert found_of_authors[kind]["names"] == wanted[kind]
