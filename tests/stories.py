"""Which tests `make test` leaves to `make test-deep-ci`: stories (docs/testing.md)."""

from collections.abc import Sequence
from typing import Any

import pytest


def few(cases: Sequence[Any], plain: int = 2) -> list[Any]:
    """Cases of `parametrize`: the first `plain` are played by `make test`, the others are
    stories.
    """
    return [
        *cases[:plain],
        *(pytest.param(case, marks=pytest.mark.story) for case in cases[plain:]),
    ]
