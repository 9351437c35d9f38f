"""The mutants of Python rules: what is made of a function, where a row is found again, who is asked
first, and what counts as noticed.
"""

import ast
from pathlib import Path

import pytest

from core.mandate.rules import moved
from scripts.python_mutants import listed, verdicts
from scripts.python_mutants.contexts import Contexts
from scripts.python_mutants.judging import (
    ForkedRun,
    ForkedRunEnd,
    Judge,
    Judging,
    hang_s,
    nearest_first,
)
from scripts.python_mutants.listed import PlaceIsGoneError, RuleMutant
from scripts.python_mutants.operators import branching_lines, enums_of, mutations
from scripts.python_mutants.swap import LoadedFunctions, NotLoadedError
from scripts.python_mutants.verdicts import MutantOutcome, MutantVerdict
from tests.each import each

ENUMS = {"Status": ("DRAFT", "SIGNED", "ENDED")}
ROW = RuleMutant(
    "m001",
    "core/mandate/rules/moved.py",
    "spent_and_received",
    "minus dropped",
    0,
    "return (max(0, -delta), max(0, delta))",
    "return (max(0, delta), max(0, delta))",
)


def made(body: str, answer: str = "int") -> list[tuple[str, str]]:
    """Operator and new text of all defects of a function with this body."""
    tree = ast.parse(f"def f(a: int, b: int = 3) -> {answer}:\n    {body}\n")
    return [(one.operator, one.new) for one in mutations(tree, ENUMS)]


@each(
    ("body", "expected"),
    [
        ("return a < b", [("boundary", "return a <= b")]),
        ("return a >= b", [("boundary", "return a > b")]),
        ("return a == b", [("equality", "return a != b")]),
        ("return a not in b", [("equality", "return a in b")]),
        ("return a + b", [("arithmetic", "return a - b")]),
        ("return a // b", [("arithmetic", "return a * b")]),
        ("a -= b", [("arithmetic", "a += b")]),
        ("return a and b", [("and/or", "return a or b")]),
        ("return -a", [("minus dropped", "return a")]),
        ("return True", [("boolean", "return False")]),
        ("return 5", [("constant", "return 6"), ("constant", "return 4")]),
        ("return min(a, b)", [("min/max, any/all", "return max(a, b)")]),
        ("return sorted(a, key=b)", [("order removed", "return list(a)")]),
        ("return Status.SIGNED", [("enum", "return Status.ENDED")]),
        ("return Status.ENDED", [("enum", "return Status.DRAFT")]),
        ("raise KeyError(a)", [("raise removed", "pass")]),
        ("check(a)", [("call removed", "pass")]),
        ("return a if b else None", [("negated", "return a if not b else None")]),
        ("return a if not b else None", [("not dropped", "return a if b else None")]),
        ("while a:\n        continue", [("negated", "not a"), ("continue/break", "break")]),
    ],
)
def test_a_function__has_these_defects(body: str, expected: list[tuple[str, str]]) -> None:
    assert made(body) == expected


def test_none_is_returned__only_where_it_may_be() -> None:
    assert made("return a", "int | None") == [("none returned", "return None")]
    assert made("return a", "int") == []


@each(
    "body",
    [
        '"""Only 3."""',
        "assert a < 3",
        "log.warning('odd', count=3)",
        "super().__init__(3)",
        "c: Literal[3]",
        "return f'{a:03}'",
        "return zip(a, b, strict=True)",
        "return a + 'text'",
        "def g(c: int = 3) -> None: ...",
    ],
)
def test_what_is_no_rule__has_no_defect(body: str) -> None:
    assert made(body) == []


def test_a_repr__has_no_defect() -> None:
    tree = ast.parse("class A:\n    def __repr__(self) -> str:\n        return f(3)\n")
    assert list(mutations(tree, ENUMS)) == []


def test_equal_defects_of_a_function__are_told_apart_by_their_number() -> None:
    tree = ast.parse("def f(a: int) -> None:\n    a += b\n    c()\n    a += b\n")
    found = [one for one in mutations(tree, ENUMS) if one.operator == "arithmetic"]
    assert [(one.occurrence, one.lines) for one in found] == [(0, range(2, 3)), (1, range(4, 5))]


def test_a_defect__is_put_at_its_place() -> None:
    tree = ast.parse("class A:\n    def f(self) -> None:\n        x = 1 if a < b else c < b\n")
    wanted = next(one for one in mutations(tree, ENUMS) if one.old.endswith("c < b"))
    assert wanted.rule == "A.f"
    before = ast.unparse(tree)
    wanted.apply()
    assert before != ast.unparse(tree)
    compile(tree, "f", "exec")


def test_a_long_statement__is_shown_in_part() -> None:
    ((_, new),) = made(f"return g(a < b, '{'x' * 100}')")
    assert new == "a <= b"


def test_members_of_enums__are_read_from_the_source() -> None:
    tree = ast.parse("class Status(StrEnum):\n    A = 'a'\n    B = 'b'\nclass C:\n    D = 1\n")
    assert enums_of(tree) == {"Status": ("A", "B")}


def test_lines_that_decide__are_counted_once() -> None:
    tree = ast.parse("def f() -> None:\n    if a < b and c:\n        raise d\n    return e\n")
    assert branching_lines(tree) == 2


def test_a_row__is_found_again_by_its_text() -> None:
    tree, _ = listed.applied(ROW)
    assert ROW.new in ast.unparse(tree)


@each("changed", [{"old": "return delta"}, {"rule": "gone"}, {"file": "core/gone.py"}])
def test_a_row_whose_place_is_gone__says_what_to_do(changed: dict[str, str]) -> None:
    row = RuleMutant(**{**{name: getattr(ROW, name) for name in ROW.__slots__}, **changed})
    with pytest.raises(PlaceIsGoneError, match=r"m001: .* Move the row of tests/mutants/python"):
        listed.applied(row)
    assert len(list(listed.gone([row]))) == 1


def test_a_list__is_read_as_it_was_written(tmp_path: Path) -> None:
    listed.write([ROW], tmp_path / "list.tsv")
    assert listed.read(tmp_path / "list.tsv") == [ROW]


def test_a_loaded_function__does_what_the_mutant_says() -> None:
    function = moved.spent_and_received
    original = function.__code__
    place = (ROW.file, original.co_qualname, original.co_firstlineno)
    try:
        LoadedFunctions({place: [function]}, []).put(ROW)
        assert function.__code__ != original
    finally:
        function.__code__ = original


def test_a_function_that_is_not_loaded__cannot_be_mutated() -> None:
    with pytest.raises(NotLoadedError):
        LoadedFunctions({}, []).put(ROW)


def test_unit_tests_are_first__and_one_case_of_each_before_the_second_of_any() -> None:
    seconds = {
        "tests/unit/test_a.py::test_a[1]": 0.1,
        "tests/unit/test_a.py::test_a[2]": 0.2,
        "tests/unit/test_b.py::test_b": 0.3,
        "tests/integration/test_c.py::test_c": 0.1,
        "tests/integration/test_d.py::test_d[1]": 0.01,
        "tests/integration/test_d.py::test_d[2]": 0.02,
    }
    assert nearest_first(seconds, seconds) == [
        "tests/unit/test_a.py::test_a[1]",
        "tests/unit/test_b.py::test_b",
        "tests/unit/test_a.py::test_a[2]",
        "tests/integration/test_d.py::test_d[1]",
        "tests/integration/test_c.py::test_c",
        "tests/integration/test_d.py::test_d[2]",
    ]


def test_a_unit_test_hangs__after_30_s_and_ten_times_what_it_takes() -> None:
    assert hang_s("tests/unit/test_a.py::test_a", {"tests/unit/test_a.py::test_a": 2.0}) == 50.0


FIRST, SECOND = "tests/unit/test_a.py::test_a", "tests/unit/test_b.py::test_b"


@pytest.fixture
def judging(tmp_path: Path) -> Judging:
    """Of ROW, which two tests touch."""
    _, mutation = listed.applied(ROW)
    touched = dict.fromkeys(mutation.lines, frozenset({FIRST, SECOND, "not collected"}))
    contexts = Contexts({ROW.file: touched}, {FIRST: 0.1, SECOND: 0.2})
    judge = Judge([ROW], contexts, tmp_path, 120.0, 2, lambda _: None)
    judge.items = dict.fromkeys((FIRST, SECOND))  # type: ignore[assignment]  # only their names
    return judge.judged(ROW)


def said(judging: Judging, *ended: ForkedRunEnd) -> tuple[list[ForkedRun], MutantVerdict]:
    """The processes that it asks for when they end like this, and its verdict."""
    jobs = [next(judging)]
    try:
        for one in ended:
            jobs.append(judging.send(one))  # noqa: PERF401 (extend would raise RuntimeError)
    except StopIteration as verdict:
        return jobs, verdict.value
    raise AssertionError("no verdict")


def test_a_mutant__is_noticed_by_a_test_that_passes_without_it(judging: Judging) -> None:
    jobs, verdict = said(judging, ForkedRunEnd(1, FIRST), ForkedRunEnd(1))
    assert [(job.mutant, list(job.tests)) for job in jobs] == [
        (ROW, [FIRST, SECOND]),
        (None, [FIRST]),
    ]
    assert (verdict.outcome, verdict.test) == (MutantOutcome.NOTICED, FIRST)


def test_a_test_that_fails_without_the_mutant__does_not_count(judging: Judging) -> None:
    jobs, verdict = said(judging, ForkedRunEnd(1, FIRST), ForkedRunEnd(1, FIRST), ForkedRunEnd(1))
    assert list(jobs[-1].tests) == [SECOND]
    assert (verdict.outcome, verdict.run, verdict.touching) == (MutantOutcome.SURVIVED, 2, 2)


def test_a_test_that_does_not_end__has_noticed(judging: Judging) -> None:
    _, verdict = said(judging, ForkedRunEnd(2, SECOND, is_hung=True), ForkedRunEnd(1))
    assert (verdict.outcome, verdict.test) == (MutantOutcome.TIMED_OUT, SECOND)


def test_a_mutant_that_no_test_touches__is_named(tmp_path: Path) -> None:
    judge = Judge([ROW], Contexts({}, {}), tmp_path, 120.0, 2, lambda _: None)
    with pytest.raises(StopIteration) as ended:
        next(judge.judged(ROW))
    assert ended.value.value.outcome is MutantOutcome.NO_TEST


def verdict(outcome: MutantOutcome) -> dict[str, MutantVerdict]:
    return {ROW.id: MutantVerdict(ROW.id, outcome, FIRST, 0.5, 1, 2)}


def test_verdicts__are_read_as_they_were_written(tmp_path: Path) -> None:
    table = tmp_path / "found.tsv"
    verdicts.write(verdict(MutantOutcome.TIMED_OUT).values(), table, "a state")
    assert verdicts.read(table) == verdict(MutantOutcome.TIMED_OUT)
    assert verdicts.note_of(table) == "a state"


@each(
    ("outcome", "said"),
    [
        (MutantOutcome.NOTICED, []),
        (MutantOutcome.TIMED_OUT, []),
        (MutantOutcome.SURVIVED, [f"{ROW.id} survived"]),
        (MutantOutcome.NO_TEST, [f"{ROW.id} no test"]),
    ],
)
def test_a_mutant_that_is_not_noticed__fails_the_run(
    outcome: MutantOutcome, said: list[str]
) -> None:
    assert [one.split(":")[0] for one in verdicts.unnoticed(verdict(outcome), [ROW])] == said


def test_a_mutant_that_was_not_judged__fails_the_run() -> None:
    assert verdicts.unnoticed({}, [ROW])[0].startswith(f"{ROW.id} was not judged: ")
