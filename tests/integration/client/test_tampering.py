"""Every kind of tampering with a real record is found by its name."""

import json
from collections.abc import Callable, Iterator
from functools import cache, partial

import httpx
import pytest

from api.client.verify import reverts_check
from api.client.verify.findings import Verdict
from api.client.verify.reverts_check import Scan
from core.chain.nodes import Nodes
from tests.integration.client.conftest import Exported, judged, names
from tests.integration.client.forging import Forgery
from tests.integration.client.inventions import INVENTIONS
from tests.integration.client.tampering import KINDS
from tests.node_transport import in_threads

NamesOf = Callable[[str], list[str]]

LOST = (
    "lost blocks: 1 rows (7) were taken back with blocks that the node does not know; whether "
    "there were any is the record's word"
)
EVERY = KINDS | INVENTIONS


def names_found(exported: Exported, kind: str) -> list[str]:
    report = judged(exported.deployed, EVERY[kind].apply(exported))
    if EVERY[kind].is_refused:
        assert (report.verdict, report.findings) == (Verdict.UNCHECKED, [])
        return sorted({text.partition(":")[0] for text in report.unchecked})
    assert report.verdict is Verdict.DIFFERENT
    return sorted(names(report))


@pytest.fixture(scope="module")
def names_of(exported: Exported) -> NamesOf:
    """What is found of a kind of tampering; each record is verified once."""
    return cache(partial(names_found, exported))


@pytest.mark.slow
def test_an_honest_record__is_sound(exported: Exported) -> None:
    report = judged(exported.deployed, exported.other)
    assert (report.findings, report.unchecked, report.claims) == ([], [], [6])


def test_rows_of_a_block_that_no_node_knows__are_never_sound(exported: Exported) -> None:
    """A row and its reversal in a block that never existed passed as proven."""
    report = judged(exported.deployed, exported.lines)
    assert (report.findings, report.claims) == ([], [5, 6, 7, 8])
    assert report.unchecked == [LOST]


@pytest.mark.parametrize("kind", EVERY)
def test_tampering__is_found_by_its_name(names_of: NamesOf, kind: str) -> None:
    assert EVERY[kind].name in names_of(kind)


class Pruned(httpx.BaseTransport):
    """A node that has today's state alone: what is asked of a past block's state is refused, as
    nodes word it.
    """

    def __init__(self, methods: tuple[str, ...] = ("eth_call", "eth_getTransactionCount")) -> None:
        self._node = httpx.HTTPTransport()
        self._methods = methods

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.read())
        calls = asked if isinstance(asked, list) else [asked]
        if any(call["method"] in self._methods and call["params"][1] != "latest" for call in calls):
            error = {"code": -32000, "message": "missing trie node"}
            answers = [{"jsonrpc": "2.0", "id": call["id"], "error": error} for call in calls]
            return httpx.Response(200, json=answers if isinstance(asked, list) else answers[0])
        return self._node.handle_request(request)

    def close(self) -> None:
        self._node.close()


@pytest.fixture
def pruned(exported: Exported) -> Iterator[Nodes]:
    rpc = Nodes([exported.deployed.anvil.url], transport=in_threads(Pruned()))
    yield rpc
    rpc.close()


@pytest.fixture
def without_nonces(exported: Exported) -> Iterator[Nodes]:
    rpc = Nodes(
        [exported.deployed.anvil.url], transport=in_threads(Pruned(("eth_getTransactionCount",)))
    )
    yield rpc
    rpc.close()


def test_a_node_without_past_state__is_never_sound_and_finds_what_needs_none(
    exported: Exported, pruned: Nodes
) -> None:
    honest = judged(exported.deployed, exported.other, pruned)
    assert (honest.verdict, honest.findings) == (Verdict.UNCHECKED, [])
    assert [text.partition(":")[0] for text in honest.unchecked] == [
        "reverted calls",
        "the vault's totals",
    ]
    forged = judged(exported.deployed, KINDS["amount off by one"].apply(exported), pruned)
    assert [finding.name for finding in forged.findings] == ["row.amount"]


def test_a_search_that_was_not_asked_for__is_told_and_no_doubt(exported: Exported) -> None:
    lines = KINDS["reverted call hidden"].apply(exported)
    report = judged(exported.deployed, lines, scan=Scan.NONE)
    assert (report.findings, report.unchecked) == ([], [LOST])
    assert (
        "reverted calls that the record leaves out were not looked for in 14 blocks (--scan all)"
        in report.remarks
    )


def test_a_search_that_is_too_long_without_nonces__leaves_the_record_unchecked(
    exported: Exported, without_nonces: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reverts_check, "MOST_SCANNED_BLOCKS", 15)
    report = judged(exported.deployed, exported.other, without_nonces)
    assert (report.verdict, len(report.unchecked)) == (Verdict.UNCHECKED, 1)
    assert "were not looked for in 16 blocks (--scan all): nonces:" in report.unchecked[0]
    monkeypatch.setattr(reverts_check, "MOST_SCANNED_BLOCKS", 16)
    report = judged(exported.deployed, exported.other, without_nonces)
    assert (report.verdict, report.figures["blocks_scanned"]) == (Verdict.CHAIN_SOUND, 16)


@pytest.mark.parametrize("scan", [Scan.AUTO, Scan.ALL])
def test_a_hidden_reverted_call__is_found_by_its_nonce_and_by_every_block(
    exported: Exported, scan: Scan
) -> None:
    lines = KINDS["reverted call hidden"].apply(exported)
    report = judged(exported.deployed, lines, scan=scan)
    assert [one.name for one in report.findings] == ["revert.left_out"]
    # two of the agent's calls are of the other mandate, and one is hidden
    assert report.figures["blocks_scanned"] == (3 if scan is Scan.AUTO else 14)


def test_a_reverted_call_after_those_that_the_record_tells_of__is_never_sound(
    exported: Exported,
) -> None:
    """An old height cut the search short, and hid what came after with a remark."""
    forgery = Forgery.of(exported.lines)
    hidden = forgery.body("revert")
    forgery.head["as_of"]["reverts_block_number"] = hidden["block_number"] - 1
    forgery.drop(hidden)
    forgery.seal()
    report = judged(exported.deployed, forgery.lines())
    assert report.findings == []
    assert report.unchecked == [
        LOST,
        (
            f"reverted calls: the record reports them up to block {hidden['block_number'] - 1}, "
            "and 1 came after; export it again"
        ),
    ]


def test_a_height_of_reverted_calls_that_is_old__is_no_doubt_where_none_came_after(
    exported: Exported,
) -> None:
    forgery = Forgery.of(exported.other)
    told = forgery.body("revert")["block_number"]
    forgery.head["as_of"]["reverts_block_number"] = told
    report = judged(exported.deployed, forgery.lines())
    assert report.verdict is Verdict.CHAIN_SOUND
