"""How many transactions an account has, when nodes differ."""

from keeper.counts import TURN_BLOCKS, Counts
from tests.each import each

ACCOUNT = "0xaccount"


def believed(counts: Counts, *told: int, waited: int = 0, head: int = 100) -> int:
    return counts.of(ACCOUNT, told, waited, head)


def test_one_node__is_all_there_is() -> None:
    assert believed(Counts(), 2**40) == 2**40


@each("lie", [0, 6, 16, 300, 2**40])
def test_two_that_agreed_before__the_nearer_one_is_believed(lie: int) -> None:
    counts = Counts()
    assert believed(counts, 7, 7) == 7
    assert believed(counts, lie, 7) == 7
    assert believed(counts, 7, lie) == 7


def test_never_agreed__most_are_believed_and_of_two_the_lower() -> None:
    assert believed(Counts(), 0, 7, 7) == 7
    assert believed(Counts(), 2**40, 7) == 7


def test_what_was_signed_so_waits__each_number_has_its_turn() -> None:
    counts = Counts()
    assert believed(counts, 0, 5, 9) == 0
    assert believed(counts, 0, 5, 9, waited=TURN_BLOCKS - 1, head=102) == 0
    assert believed(counts, 0, 5, 9, waited=TURN_BLOCKS, head=103) == 5
    assert believed(counts, 0, 5, 9, waited=TURN_BLOCKS + 2, head=105) == 5
    assert believed(counts, 0, 5, 9, waited=TURN_BLOCKS + 3, head=106) == 9
    assert believed(counts, 0, 5, 9, waited=0, head=107) == 9
    assert believed(counts, 0, 5, 9, waited=TURN_BLOCKS, head=110) == 0


def test_all_say_the_same__that_is_it_however_far_from_before() -> None:
    counts = Counts()
    assert believed(counts, 300, 300) == 300
    assert believed(counts, 5, 5) == 5


def test_passed__what_was_seen_in_blocks_counts() -> None:
    counts = Counts()
    believed(counts, 7, 7)
    counts.passed(ACCOUNT, 300)
    assert believed(counts, 7, 302) == 302
