"""A range is as long as its logs are few."""

from indexer.chain.range_size import RangeSize
from tests.each import each


def test_few_logs__the_next_range_is_half_as_long_again_up_to_the_most() -> None:
    size = RangeSize()
    lengths = []
    for _ in range(11):
        lengths.append(size.blocks)
        size.took(size.blocks, 10)
    assert lengths == [64, 96, 144, 216, 324, 486, 729, 1_093, 1_639, 2_000, 2_000]


def test_about_the_target__the_length_stays() -> None:
    size = RangeSize()
    size.took(64, RangeSize.TARGET_LOGS // 2 + 1)
    assert size.blocks == 64
    size.took(64, RangeSize.TARGET_LOGS)
    assert size.blocks == 64


@each(("logs", "blocks"), [(20_000, 32), (640_000, 1), (10_000_000, 1)])
def test_many_logs__the_next_range_aims_at_the_target(logs: int, blocks: int) -> None:
    size = RangeSize()
    size.took(64, logs)
    assert size.blocks == blocks


def test_a_short_last_range__says_nothing_of_the_length() -> None:
    size = RangeSize()
    size.took(3, 0)
    assert size.blocks == 64


def test_a_failure__halves_down_to_a_single_block_and_then_is_another() -> None:
    size = RangeSize()
    assert [size.failed(size.blocks) for _ in range(6)] == [True] * 6
    assert size.blocks == 1
    assert not size.failed(1)


def test_failures_that_the_length_hardly_explains__halve_down_to_a_few_blocks_and_one_by_turns() -> (
    None
):
    size, lengths = RangeSize(), list[int]()
    for _ in range(7):
        size.failed(size.blocks, RangeSize.SHORTEST)
        lengths.append(size.blocks)
    assert lengths == [32, 16, 8, 5, 1, 5, 1]


def test_after_a_failure__it_grows_again_once_some_ranges_came() -> None:
    size = RangeSize()
    size.failed(64)
    lengths = []
    for _ in range(RangeSize.CALM + 2):
        size.took(size.blocks, 0)
        lengths.append(size.blocks)
    assert lengths == [32, 32, 32, 32, 48, 72]


def test_a_single_block__grows_to_two() -> None:
    size = RangeSize()
    size.blocks = 1
    size.took(1, 0)
    assert size.blocks == 2
