"""A rule that holds for many cases, as one test that tries them all and reports every failure.

For cases that need nothing prepared between them; where each needs a fresh fixture,
`pytest.mark.parametrize` is right.
"""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest
from _pytest.mark import ParameterSet


def each(
    names: str | Iterable[str],
    cases: Iterable[Any] | Callable[[], Iterable[Any]],
    ids: Any = None,
) -> Callable[[Callable[..., None]], Any]:
    """Arguments as those of `pytest.mark.parametrize`; `cases` may also be a function that makes them, which
    the test calls and not the collection. Errors: an ExceptionGroup of what failed, each with
    a note of its case: its id, else its values.

    A case that skips is left out; the test is skipped when all are.
    """
    named = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    known = list(cases) if isinstance(cases, Iterable) else None

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def all_cases(**fixtures: Any) -> None:
            tried = known if known is not None else list(cases())  # type: ignore[operator]  # no iterable
            assert not any(isinstance(case, ParameterSet) for case in tried), (
                "marks need parametrize"
            )
            assert tried, "there is no case"
            failures, skipped = list[Exception](), 0
            for place, case in enumerate(tried):
                values = (case,) if len(named) == 1 else case
                try:
                    test(**fixtures, **dict(zip(named, values, strict=True)))
                except pytest.skip.Exception:
                    skipped += 1
                except pytest.fail.Exception as failure:
                    failures.append(AssertionError(f"{failure}, case: {_name(place, values, ids)}"))
                except Exception as failure:  # every case is tried, whatever one of them raises
                    failure.add_note(f"case: {_name(place, values, ids)}")
                    failures.append(failure)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(tried)} cases failed", failures)
            if skipped == len(tried):
                pytest.skip("every case was skipped")

        signature = inspect.signature(test)
        kept = [one for name, one in signature.parameters.items() if name not in named]
        all_cases.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]  # what pytest reads fixtures from
        del all_cases.__wrapped__  # type: ignore[attr-defined]  # pytest would read the fixtures from there
        return all_cases

    return decorate


def _name(place: int, values: Sequence[Any], ids: Any) -> str:
    if ids is None:
        return ", ".join(repr(value) for value in values)
    return ", ".join(str(ids(value)) for value in values) if callable(ids) else str(ids[place])
