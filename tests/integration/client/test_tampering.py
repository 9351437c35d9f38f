"""Every kind of tampering with a real record is found, and by its name; the table of docs/verify.md
is what came out.

`SNAPSHOT=write` writes the table again.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from api.client.verify import verification
from api.client.verify.findings import NAMES, Verdict
from api.client.verify.verification import Options, Scan, verify
from core.chain.rpc import Rpc
from tests.integration.client.conftest import Exported
from tests.integration.client.tampering import KINDS

PAGE = Path(__file__).parents[3] / "docs" / "verify.md"
BEGIN, END = "<!-- tampering: begin -->\n", "<!-- tampering: end -->\n"


def names_found(exported: Exported, kind: str) -> list[str]:
    report = verify(
        KINDS[kind].apply(exported), [exported.deployed.rpc], Options(), lambda part, done, of: None
    )
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
    rows = [
        f"| {kind} | {one.what} | {_shown(one.name, names_found(exported, kind))} |\n"
        for kind, one in KINDS.items()
    ]
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


class Pruned(httpx.BaseTransport):
    """A node that has today's state alone: what is asked of a past block's state is refused, as
    nodes word it.
    """

    def __init__(self) -> None:
        self._node = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        call = json.loads(request.read())
        if (
            isinstance(call, dict)
            and call["method"] == "eth_call"
            and call["params"][1] != "latest"
        ):
            error = {"code": -32000, "message": "missing trie node"}
            return httpx.Response(200, json={"jsonrpc": "2.0", "id": call["id"], "error": error})
        return self._node.handle_request(request)

    def close(self) -> None:
        self._node.close()


@pytest.fixture
def pruned(exported: Exported) -> Iterator[Rpc]:
    rpc = Rpc([exported.deployed.anvil.url], transport=Pruned())
    yield rpc
    rpc.close()


def test_a_node_without_past_state__is_never_sound_and_finds_what_needs_none(
    exported: Exported, pruned: Rpc
) -> None:
    honest = verify(exported.lines, [pruned], Options(), lambda part, done, of: None)
    assert (honest.verdict, honest.findings) == (Verdict.UNCHECKED, [])
    assert [text.partition(":")[0] for text in honest.unchecked] == ["the vault's totals"]
    forged = verify(
        KINDS["amount off by one"].apply(exported), [pruned], Options(), lambda part, done, of: None
    )
    assert [finding.name for finding in forged.findings] == ["row.amount"]


def test_a_search_that_was_not_asked_for__is_told_and_no_doubt(exported: Exported) -> None:
    lines = KINDS["reverted call hidden"].apply(exported)
    report = verify(
        lines, [exported.deployed.rpc], Options(scan=Scan.NONE), lambda part, done, of: None
    )
    assert report.verdict is Verdict.SOUND
    assert report.remarks == [
        "reverted calls that the record leaves out were not looked for in 14 blocks (--scan all)"
    ]


def test_a_search_that_is_too_long__leaves_the_record_unchecked(
    exported: Exported, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "MOST_SCANNED_BLOCKS", 13)
    report = verify(exported.lines, [exported.deployed.rpc], Options(), lambda part, done, of: None)
    assert (report.verdict, len(report.unchecked)) == (Verdict.UNCHECKED, 1)
    monkeypatch.setattr(verification, "MOST_SCANNED_BLOCKS", 14)
    assert (
        verify(
            exported.lines, [exported.deployed.rpc], Options(), lambda part, done, of: None
        ).verdict
        is Verdict.SOUND
    )
