"""How a signed value is shown: the figures of sentences, and what a wallet's screen has.

Clauses and descriptors are both written with these (docs/erc7730.md), so that a figure has one form
and a label one wording.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from core.money import usdc_text


class Style(Enum):
    """What a value is. Each has one display format of ERC-7730."""

    TEXT = auto()
    NUMBER = auto()
    ADDRESS = auto()
    BYTES = auto()  # hex, as it is
    USDC = auto()  # base units of USDC
    TOKEN_AMOUNT = auto()  # base units of the token that `token_path` names
    PERCENT = auto()  # basis points
    DAYS = auto()
    TIME = auto()  # unix seconds
    CHOICE = auto()  # an enum; `choices` has its words


@dataclass(frozen=True, slots=True)
class Shown:
    """A value with its label. `unless`: a value at which it is left out, because it means that
    there is none.
    """

    name: str
    label: str
    style: Style
    choices: Mapping[int, str] = field(default_factory=dict)
    token_path: str | None = None
    unless: int | None = None


@dataclass(frozen=True, slots=True)
class Hidden:
    """A value that no screen shows, and why. `must_be`: a wallet refuses any other value."""

    name: str
    because: str
    must_be: int | None = None


def usdc_words(amount_usdc_e6: int) -> str:
    """1_234_500_000 is `1,234.5 USDC`: thousands by commas, no trailing zeros, nothing rounded."""
    whole, _, fraction = usdc_text(amount_usdc_e6).partition(".")
    fraction = fraction.rstrip("0")
    return f"{int(whole):,}{'.' + fraction if fraction else ''} USDC"


def percent_text(bps: int) -> str:
    """1_050 bps is `10.50`."""
    return f"{bps // 100}.{bps % 100:02d}"


def days_words(days: int) -> str:
    return "1 day" if days == 1 else f"{days} days"
