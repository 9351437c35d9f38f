"""One book by the rules that judge and measure many."""

import math
from types import SimpleNamespace

import numpy as np

from core.market.facts import Book
from core.market.rules.book import FAULTS, BookFault, grid_of, judge_many, measure_many


def judge(book: Book) -> BookFault | None:
    """None: it can be measured."""
    code = int(judge_many(grid_of([book]))[0])
    return FAULTS[code - 1] if code else None


def measure(book: Book, usd_per_quote: float) -> SimpleNamespace:
    """The fields of MeasureGrid; None: the book ends before."""
    found = measure_many(grid_of([book]), np.array([usd_per_quote]))
    values = {name: float(getattr(found, name)[0]) for name in found.__slots__}
    return SimpleNamespace(
        **{name: None if math.isnan(value) else value for name, value in values.items()}
    )
