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


def test_each__of_a_function__makes_its_cases_when_the_test_runs() -> None:
    made: list[int] = []

    @each("number", lambda: made)
    def even(number: int) -> None:
        assert number % 2 == 0

    made += [2, 3]
    with pytest.raises(ExceptionGroup, match="1 of 2 cases failed"):
        even()


def test_each__without_cases__fails() -> None:
    @each("number", [])
    def never(number: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(AssertionError, match="there is no case"):
        never()


def test_each__what_a_case_does_not_raise__fails_it() -> None:
    @each("number", [0])
    def raises(number: int) -> None:
        with pytest.raises(ValueError):
            int(number)

    with pytest.raises(ExceptionGroup, match="1 of 1"):
        raises()


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
