"""Which of the newest blocks that nodes tell is believed. No socket is opened."""

import httpx
import pytest

from core.chain.blocks import BlockHeader
from core.chain.nodes import Nodes
from core.money import UnixSeconds
from keeper.heads import MOST_AHEAD_S, MOST_APART_BLOCKS, Heads, NoHeadError
from keeper.state import Head
from tests.each import each
from tests.unit.keeper.readings import MAX_HEAD_AGE_S, NOW

N = 500
NAMES = ("a:80", "b:80", "c:80")


def heads() -> Heads:
    """Of three nodes, none of which is asked."""
    rpc = Nodes(
        [f"http://{name}" for name in NAMES],
        transport=httpx.MockTransport(lambda _: httpx.Response(500)),
        clock=lambda: 0.0,
    )
    found = Heads(rpc, MAX_HEAD_AGE_S, clock=lambda: 0.0)
    found.set_clock(NOW)
    return found


def block(number: int, ahead_s: int = 0, base_fee_wei: int = 1) -> Head:
    return Head(number, f"0x{number:064x}", UnixSeconds(NOW + ahead_s), base_fee_wei)


def believed(among: Heads, *told: Head) -> tuple[str, Head]:
    return among.believed(dict(zip(NAMES, told, strict=False)), NAMES[0])


@each(
    ("ahead_s", "name"),
    [(MOST_AHEAD_S, "a:80"), (MOST_AHEAD_S + 1, "b:80"), (-10, "a:80"), (-11, "b:80")],
)
def test_time__within_what_this_machines_clock_allows(ahead_s: int, name: str) -> None:
    assert believed(heads(), block(N, ahead_s), block(N))[0] == name


@pytest.mark.parametrize(
    ("told", "name"),
    [((20, -11), "b:80"), ((-30, -11), "b:80"), ((20, 8), "b:80")],
    ids=[
        "one of the future and an old one",
        "two old ones",
        "both of the future: the clock is late",
    ],
)
def test_time__where_no_block_is_recent__the_youngest_that_is_not_of_the_future(
    told: tuple[int, int], name: str
) -> None:
    assert believed(heads(), *(block(N, ahead_s) for ahead_s in told))[0] == name


@each(
    ("numbers", "name"),
    [
        ((N + MOST_APART_BLOCKS, N), "a:80"),
        ((N + MOST_APART_BLOCKS + 1, N), "b:80"),
        ((N - 300, N), "a:80"),
        ((N + 10**6, N, N + 1), "b:80"),
        ((N - 300, N, N + 1), "b:80"),
        ((N - 2, N, N + 10**6), "a:80"),
    ],
)
def test_height__near_what_the_others_say(numbers: tuple[int, ...], name: str) -> None:
    assert believed(heads(), *map(block, numbers))[0] == name


def test_height__what_failed_on_one_nodes_word_against_anothers__is_decided_by_the_other_and_back_again() -> (
    None
):
    among, said = heads(), (block(N - 300), block(N))
    assert believed(among, *said)[0] == "a:80"
    among.failed()
    assert believed(among, *said)[0] == "b:80"


def test_height__where_the_nodes_agree__a_failure_is_nobodys() -> None:
    among, said = heads(), (block(N), block(N + 1))
    assert believed(among, *said)[0] == "a:80"
    among.failed()
    assert believed(among, *said)[0] == "a:80"


def test_base_fee__is_the_higher_median_of_those_that_are_believed() -> None:
    assert (
        believed(
            heads(),
            block(N, base_fee_wei=10**24),
            block(N, base_fee_wei=3),
            block(N, base_fee_wei=5),
        )[1].base_fee_wei
        == 5
    )


def test_no_block_at_all__is_an_error() -> None:
    with pytest.raises(NoHeadError):
        heads().believed({}, None)


def test_head_of__a_block_without_a_base_fee__is_none() -> None:
    assert Head.of(BlockHeader(1, "0x", "0x", 1, 0, ())) is None
    assert Head.of(None) is None
