"""How much of the nodes the loop of requests has."""

from keeper.requests.loop import most_under_way, share_of
from tests.each import each


@each(("calls_per_s", "share"), [(2_000, 100), (200, 10), (100, 10), (20, 10), (10, 5)])
def test_share_of__is_a_twentieth_at_least_ten_and_at_most_half(
    calls_per_s: float, share: float
) -> None:
    assert share_of(calls_per_s) == share


@each(("calls_per_s", "count"), [(100, 200), (10, 100), (5, 50), (0.5, 20)])
def test_most_under_way__goes_by_the_share(calls_per_s: float, count: int) -> None:
    assert most_under_way(calls_per_s) == count
