"""What the keeper makes of a node's lens: which vaults are asked together, which alone, and that
nothing becomes a zero. No socket is opened.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import httpx
import pytest

from core.chain.abi import function
from core.chain.nodes import Nodes
from core.keeper.views import WatchedVault
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.lifecycle import VaultStatus
from keeper import read
from keeper.plan import NodeReadings
from keeper.read import VAULTS_A_CALL, Lenses
from keeper.state import ReadBlock, VaultReading
from tests.each import each
from tests.node_transport import in_threads
from tests.unit.keeper.readings import FLOOR
from tests.unit.keeper.test_plan import watched

FACTORY, LENS = "0x" + "fa" * 20, "0x" + "1e" * 20
KEEPER = "0x" + "11" * 20
UNREAD, NO_VAULT, UNVALUED, VALUED = range(4)
WORTH = 960_000_000
ZERO, AGENT = 0, 0
NUMBER, AT = 500, 1_800_000_000
COUNT = 9  # of the factory's vaults
VIEWS = {
    function("MandateVaultFactory", "keeper").selector: f"0x{int(KEEPER, 16):064x}",
    function("MandateVaultFactory", "pendingKeeper").selector: f"0x{0:064x}{0:064x}",
}
READINGS = function("VaultLens", "readings")

Row = tuple[int, ...]


def valued(worth: int = WORTH, unvalued_out: int = 0, status: int = 1) -> Row:
    return VALUED, status, AGENT, worth, unvalued_out, WORTH, 3, 0


UNVALUED_ROW: Row = (UNVALUED, 1, AGENT, 0, 0, WORTH, 0, 0)
NOTHING: Row = (0,) * 7


class Node:
    """Its lens answers what `says` of the vaults that are asked together; None: a refusal."""

    def __init__(self, says: Callable[[list[str]], Sequence[Row] | None]) -> None:
        self.says = says
        self.number = NUMBER
        self.asked: list[list[str]] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content)
        is_one = isinstance(asked, dict)
        return httpx.Response(
            200, json=self._one(asked) if is_one else [self._one(call) for call in asked]
        )

    def _one(self, call: dict[str, Any]) -> dict[str, Any]:
        method, params = call["method"], call["params"]
        if method == "eth_blockNumber":
            return {"id": call["id"], "result": hex(self.number)}
        if method == "eth_getBlockByNumber":
            return {"id": call["id"], "result": self._block()}
        data = params[0]["data"]
        if data in VIEWS:
            return {"id": call["id"], "result": VIEWS[data]}
        (vaults,) = READINGS.decode_input(data)
        self.asked.append([vault.lower() for vault in vaults])
        rows = self.says(self.asked[-1])
        if rows is None:
            error = {"code": -32000, "message": "execution aborted (timeout = 5s)"}
            return {"id": call["id"], "error": error}
        words = [NUMBER, AT, 0, COUNT, 160, len(rows), *(word for row in rows for word in row)]
        return {"id": call["id"], "result": "0x" + "".join(f"{word:064x}" for word in words)}

    def _block(self) -> dict[str, Any]:
        zero = "0x" + "00" * 32
        return {
            "number": hex(self.number), "hash": zero,
            "parentHash": zero, "timestamp": hex(AT), "logsBloom": "0x" + "00" * 256,
            "transactions": [], "baseFeePerGas": "0x1",
        }  # fmt: skip


@contextmanager
def lenses_of(*nodes: Node) -> Iterator[Lenses]:
    by_host = {f"n{place}": node for place, node in enumerate(nodes)}
    transport = httpx.MockTransport(lambda request: by_host[request.url.host].answer(request))
    rpc = Nodes(
        [f"http://{host}" for host in by_host], transport=in_threads(transport), calls_per_s=1e6
    )
    try:
        yield Lenses(VaultReader(rpc, {"factory": FACTORY, "vault_lens": LENS}))
    finally:
        rpc.close()


def vaults(count: int, **changes: Any) -> list[WatchedVault]:
    return [watched(f"0x{n:040x}", **changes) for n in range(1, count + 1)]


def look(lenses: Lenses, some: Sequence[WatchedVault]) -> dict[str, VaultReading]:
    return {
        reading.vault: reading for part in lenses.look(some) for reading in part.by_vault.values()
    }


def looked(node: Node, some: Sequence[WatchedVault]) -> dict[str, VaultReading]:
    with lenses_of(node) as lenses:
        return look(lenses, some)


def one(row: Row) -> VaultReading:
    (found,) = looked(Node(lambda asked: [row] * len(asked)), vaults(1)).values()
    return found


# What is read of a vault


def test_a_valued_vault__is_read_with_the_floor_of_its_terms() -> None:
    found = one(valued())
    assert (found.status, found.worth_usdc_e6, found.source) == (
        VaultStatus.WORKING,
        WORTH,
        "vault.worth",
    )
    assert (found.floor_usdc_e6, found.fee_owed_usdc_e6) == (FLOOR, 3)
    assert found.block == ReadBlock(NUMBER, AT, "0x" + "00" * 32)


def test_a_reading_of_another_backend_than_named_the_head__is_of_the_block_that_the_lens_saw() -> (
    None
):
    node = Node(lambda asked: [valued()] * len(asked))
    node.number = NUMBER + 2
    (found,) = looked(node, vaults(1)).values()
    assert found.block == ReadBlock(NUMBER, AT, None)


def test_money_at_unvalued_targets__is_counted_at_cost_and_says_so() -> None:
    found = one(valued(unvalued_out=5))
    assert (found.worth_usdc_e6, found.source) == (WORTH, "vault.worth_at_cost")


def test_a_worth_beyond_all_usdc__is_out_of_range() -> None:
    found = one(valued(worth=2**255))
    assert (found.worth_usdc_e6, found.source) == (None, "out_of_range")


@each(
    ("row", "status"),
    [
        (UNVALUED_ROW, VaultStatus.WORKING),
        ((NO_VAULT, *NOTHING), None),
        ((UNREAD, *NOTHING), None),
    ],
)
def test_what_cannot_be_read__is_unknown_and_not_zero(row: Row, status: VaultStatus | None) -> None:
    found = one(row)
    assert (found.status, found.worth_usdc_e6, found.source) == (status, None, "unreadable")


def test_an_answer_that_no_lens_gives__says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "BUDGET_S", 0.0)
    monkeypatch.setattr(read, "ALONE_S", 0.0)
    for row in (valued(status=9), (VALUED,), (7, *NOTHING), (UNREAD, *NOTHING[:-1], 5)):
        node = Node(lambda asked, row=row: [row] * len(asked))  # type: ignore[misc]
        assert all(found.status is None for found in looked(node, vaults(2)).values()), row


def test_vaults_of_several_calls__are_all_read() -> None:
    node = Node(lambda asked: [valued(int(vault, 16)) for vault in asked])
    found = looked(node, vaults(2 * VAULTS_A_CALL + 50))
    assert {reading.worth_usdc_e6 for reading in found.values()} == set(range(1, 651))
    assert [len(asked) for asked in node.asked] == [VAULTS_A_CALL, VAULTS_A_CALL, 50]


def test_a_node_whose_gas_pays_for_fewer__is_asked_for_the_rest() -> None:
    node = Node(lambda asked: [valued(int(vault, 16)) for vault in asked[:49]])
    found = looked(node, vaults(120))
    assert [found[one.vault].worth_usdc_e6 for one in vaults(120)] == list(range(1, 121))
    assert [len(asked) for asked in node.asked] == [120, 71, 22]


def is_bad(vault: str) -> bool:
    return int(vault, 16) == 5


def test_a_vault_that_needs_more_gas_than_its_share__is_valued_alone() -> None:
    """As one with thirty-two dear adapters."""
    node = Node(
        lambda asked: [UNVALUED_ROW if is_bad(v) and len(asked) > 1 else valued() for v in asked]
    )
    found = looked(node, vaults(9))
    assert {reading.worth_usdc_e6 for reading in found.values()} == {WORTH}
    assert node.asked[1:] == [[f"0x{5:040x}"]]


def test_a_vault_that_burns_all_gas__is_unknown_and_hides_no_other() -> None:
    node = Node(lambda asked: [UNVALUED_ROW if is_bad(v) else valued() for v in asked])
    found = looked(node, vaults(9))
    unknown = [vault for vault, reading in found.items() if reading.worth_usdc_e6 is None]
    assert (len(found), unknown) == (9, [f"0x{5:040x}"])


def test_a_call_that_fails_for_one_vault__leaves_the_others_to_be_asked_alone() -> None:
    node = Node(lambda asked: None if any(map(is_bad, asked)) else [valued()] * len(asked))
    with lenses_of(node) as lenses:
        look(lenses, vaults(9))
        found = look(lenses, vaults(9))
    assert [vault for vault, one in found.items() if one.status is None] == [f"0x{5:040x}"]
    assert len(found) == 9


def test_many_that_cannot_be_valued__take_a_moment_of_each_look_and_their_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read, "ALONE_S", 0.05)
    some = vaults(60)

    def says(asked: list[str]) -> list[Row]:
        if len(asked) == 1:
            time.sleep(0.004)
            return [valued() if is_bad(asked[0]) else UNVALUED_ROW]
        return [UNVALUED_ROW] * len(asked)

    node = Node(says)
    with lenses_of(node) as lenses:
        first = look(lenses, some)
        assert 0 < len(first) < 60, "of those that were not asked alone yet nothing is said"
        for _ in range(20):
            found = look(lenses, some)
    alone = {asked[0] for asked in node.asked if len(asked) == 1}
    assert alone == {vault.vault for vault in some}
    assert found[f"0x{5:040x}"].worth_usdc_e6 == WORTH, "who was valued last is asked first"
    assert len(found) == 60


def test_what_a_look_has_no_time_for__has_a_share_of_the_next_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each look has time for its first two calls."""
    monkeypatch.setattr(read, "VAULTS_A_CALL", 10)
    some = vaults(100)

    def says(asked: list[str]) -> list[Row]:
        if len(node.asked) % 2 == 0:
            monkeypatch.setattr(read, "LOOK_S", -1.0)
        return [valued()] * len(asked)

    node, seen = Node(says), set[str]()
    with lenses_of(node) as lenses:
        for _ in range(30):
            monkeypatch.setattr(read, "LOOK_S", 60.0)
            seen |= look(lenses, some).keys()
    assert len(seen) == 100
    assert sum(some[0].vault in asked for asked in node.asked) == 30, "those at risk in each"


# The node


def states(lenses: Lenses) -> list[NodeReadings]:
    return list(lenses.look([]))


def test_what_a_node_shows_besides_vaults() -> None:
    with lenses_of(Node(lambda asked: [])) as lenses:
        (part,) = states(lenses)
    assert part.head.number == NUMBER
    assert part.keepers is not None
    assert (part.keepers.named.lower(), part.keepers.pending) == (KEEPER, None)


def test_a_node_that_hangs__is_not_waited_for_when_another_has_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read, "OTHERS_S", 0.05)

    def hangs(asked: list[str]) -> list[Row]:
        time.sleep(0.8)
        return [valued()] * len(asked)

    slow, quick = Node(hangs), Node(lambda asked: [valued()] * len(asked))
    with lenses_of(slow, quick) as lenses:
        begun = time.monotonic()
        assert [part.node for part in lenses.look(vaults(5))] == ["n1:80"]
        assert [part.node for part in lenses.look(vaults(5))] == ["n1:80"]
        assert time.monotonic() - begun < 0.5
        assert len(slow.asked) == 1, "it is asked again when it is through"
        time.sleep(0.8)
        late = [part.node for part in lenses.look(vaults(5))]
        assert sorted(late) == ["n0:80", "n1:80"], "what it says counts when it comes"


def test_a_thread_that_does_not_start__costs_its_node_no_further_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begin, left = threading.Thread.start, [RuntimeError("can't start new thread")]

    def start(thread: threading.Thread) -> None:
        if left:
            raise left.pop()
        begin(thread)

    with lenses_of(*(Node(lambda asked: [valued()] * len(asked)) for _ in range(2))) as lenses:
        monkeypatch.setattr(threading.Thread, "start", start)
        with pytest.raises(RuntimeError):
            look(lenses, vaults(1))
        nodes = {part.node for part in lenses.look(vaults(1))}
        assert nodes == set(lenses.reader.rpc.names)


def test_a_node_that_is_late_with_its_newest_height__is_read_in_each_look() -> None:
    """It was left out of every look in which it still owed the answer to a poll."""
    slow, fast = (Node(lambda asked: [valued()] * len(asked)) for _ in range(2))

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.host == "slow":
            time.sleep(2 * read.HEAD_POLL_S)
        return (slow if request.url.host == "slow" else fast).answer(request)

    transport = in_threads(httpx.MockTransport(answer))
    with closing(Nodes(["http://slow", "http://fast"], transport=transport)) as rpc:
        lenses = Lenses(VaultReader(rpc, {"factory": FACTORY, "vault_lens": LENS}))
        for _ in range(3):
            lenses.await_block(time.monotonic() + 3 * read.HEAD_POLL_S, threading.Event())
            nodes = {part.node for part in lenses.look(vaults(1))}
            assert nodes == {"slow:80", "fast:80"}
