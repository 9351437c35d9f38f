import pytest

from tests.each import each


def test_each__tries_every_case_and_reports_each_failure_with_its_case() -> None:
    tried: list[int] = []

    @each("number", [1, 2, 3, 4])
    def even(number: int) -> None:
        tried.append(number)
        assert number % 2 == 0

    with pytest.raises(ExceptionGroup, match="2 of 4 cases failed") as caught:
        even()
    assert tried == [1, 2, 3, 4]
    assert [error.__notes__[-1] for error in caught.value.exceptions] == ["case: 1", "case: 3"]


def test_each__of_two_names__takes_pairs_and_leaves_fixtures_to_pytest() -> None:
    @each("a, b", [(1, 1), (2, 2)])
    def equal(a: int, b: int, offset: int) -> None:
        assert a == b + offset

    equal(offset=0)
    with pytest.raises(ExceptionGroup):
        equal(offset=1)


def test_each__skipped_cases__are_left_out_and_a_test_of_them_alone_is_skipped() -> None:
    @each("number", [1, 2])
    def odd(number: int) -> None:
        if number % 2 == 0:
            pytest.skip("even")
        assert number == 1

    odd()

    @each("number", [2, 4])
    def none(number: int) -> None:
        pytest.skip("even")

    with pytest.raises(pytest.skip.Exception):
        none()
