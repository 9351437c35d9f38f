"""What the schemas of weights, leverages and numbers take is what their readers take."""

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from api.areas.fund.schemas import GiveConsent, PublishSignal, ReportFill
from api.kernel.operation import Command
from core.errors import InvalidNumberError
from core.fund.rules.frozen import leverage_e2, weight_e4
from core.fund.rules.signals import positive_decimal

WHOLE = (
    "",
    "0",
    "1",
    "00",
    "01",
    "9",
    "10",
    "19",
    "20",
    "21",
    "020",
    "2",
    "99",
    "1" * 15,
    "1" * 16,
)
FRACTION = ("", ".", ".0", ".00", ".01", ".10", ".1", ".2500", ".00001", "." + "0" * 17 + "1", "." + "1" * 19)  # fmt: skip
TEXTS = [sign + whole + part for sign, whole, part in product(("", "-", "+"), WHOLE, FRACTION)]


def pattern_of(command: type[Command], field: str) -> re.Pattern[str]:
    said: list[dict[str, Any]] = command.model_json_schema()["properties"][field]["anyOf"]
    return re.compile(next(one["pattern"] for one in said if one["type"] == "string"))


@pytest.mark.parametrize(
    ("command", "field", "reads"),
    [
        (GiveConsent, "max_leverage", leverage_e2),
        (PublishSignal, "target_weight", weight_e4),
        (ReportFill, "qty", positive_decimal),
    ],
)
def test_a_pattern__takes_what_its_reader_takes(
    command: type[Command], field: str, reads: Callable[[str, str], Any]
) -> None:
    pattern, taken = pattern_of(command, field), set[str]()
    # a zero before a positive number is taken, and not published: its pattern would fill a page
    texts = (
        TEXTS
        if reads is not positive_decimal
        else [one for one in TEXTS if not re.match("0[0-9]", one)]
    )
    for text in texts:
        try:
            reads(text, field)
        except InvalidNumberError:
            continue
        taken.add(text)
    assert {text for text in texts if pattern.search(text)} == taken
    assert taken
