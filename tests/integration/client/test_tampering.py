"""Every kind of tampering with a real record is found, and by its name; the table of docs/verify.md is what came out.

`SNAPSHOT=write` writes the table anew.
"""

import os
from pathlib import Path

import pytest

from api.client.verify.findings import NAMES, Verdict
from api.client.verify.verification import Options, verify
from tests.integration.client.conftest import Exported
from tests.integration.client.tampering import KINDS

PAGE = Path(__file__).parents[3] / "docs" / "verify.md"
BEGIN, END = "<!-- tampering: begin -->\n", "<!-- tampering: end -->\n"


def names_found(exported: Exported, kind: str) -> list[str]:
    report = verify(KINDS[kind].apply(exported), [exported.deployed.rpc], Options(), lambda part, done, of: None)
    assert report.verdict is Verdict.DIFFERENT
    return sorted({finding.name for finding in report.findings})


def test_an_honest_record__is_sound(exported: Exported) -> None:
    for lines in (exported.lines, exported.other):
        report = verify(lines, [exported.deployed.rpc], Options(), lambda part, done, of: None)
        assert (report.findings, report.unchecked) == ([], [])


@pytest.mark.parametrize("kind", KINDS)
def test_tampering__is_found_by_its_name(exported: Exported, kind: str) -> None:
    assert KINDS[kind].name in names_found(exported, kind)


def test_the_table_of_the_page__is_what_is_found(exported: Exported) -> None:
    rows = [f"| {kind} | {one.what} | {_shown(one.name, names_found(exported, kind))} |\n" for kind, one in KINDS.items()]
    table = "| tampering | the cheat | found as |\n|---|---|---|\n" + "".join(rows)
    before, _, rest = PAGE.read_text().partition(BEGIN)
    shown, _, after = rest.partition(END)
    if os.environ.get("SNAPSHOT") == "write":
        PAGE.write_text(before + BEGIN + table + END + after)
        return
    assert shown == table


def _shown(name: str, found: list[str]) -> str:
    others = [f"`{one}`" for one in found if one != name]
    return f"**`{name}`**" + (", " + ", ".join(others) if others else "")


def test_every_name_of_a_difference__is_explained_in_the_page() -> None:
    text = PAGE.read_text()
    assert [name for name in NAMES if f"| `{name}` |" not in text] == []
