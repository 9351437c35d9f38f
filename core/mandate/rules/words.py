"""The words and forms of signed values.

How a signed value is shown: the figures of sentences, and what a wallet's screen has.

Clauses and descriptors are both written with these (docs/erc7730.md), so that a figure has one form
and a label one wording.

Every member of the signed terms: its label, its form, the clauses that cite it.

One table for two readers: the ten clauses (core/mandate/rules/clauses.py) take their signed fields
and the words of choices from it, and so does the descriptor by which a wallet shows the same terms
(api/areas/mandates/rules/clear_signing.py).

Laws
- Every member of the EIP-712 type has one row, and a member that is not shown says why.
- The order is that of a wallet's screens. In a clause the first of its fields is its source.
- A label is made of words of its clause. What nobody enforces is labelled `stored`.

Source: docs/erc7730.md, docs/rules.md#clauses.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

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


# MandateTerms.onFloor, in the words of clause 7
ON_FLOOR_WORDS: Final[Mapping[int, str]] = {0: "kept", 1: "to be closed"}


@dataclass(frozen=True, slots=True)
class Term:
    """A member of MandateTerms. `clauses`: keys of the clauses that cite it, none of them where it
    only says which mandate, whose and with whom.
    """

    form: Shown | Hidden
    clauses: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.form.name


TERMS: Final = (
    Term(Shown("publicId", "Mandate", Style.TEXT)),
    Term(Shown("owner", "Owner", Style.ADDRESS), ("your_floors",)),
    Term(Shown("agent", "Agent", Style.ADDRESS)),
    Term(Shown("budgetUsdc", "Budget", Style.USDC), ("budget",)),
    Term(Shown("perTxCap", "At most per action", Style.USDC), ("per_action",)),
    Term(Shown("dailyCap", "At most in 24 hours", Style.USDC), ("per_day",)),
    Term(Shown("stopFloor", "Stop line", Style.USDC), ("stop_line",)),
    Term(Shown("stopFloorBps", "Loss, of the budget", Style.PERCENT), ("stop_line",)),
    Term(Shown("endsAt", "Agent may act until", Style.TIME), ("period", "your_floors")),
    Term(Shown("horizonDays", "Agent may act for", Style.DAYS), ("period",)),
    Term(Shown("agentFeeBps", "Agent gets of the gain", Style.PERCENT), ("agent_fee",)),
    Term(
        Shown("approvalAbove", "Agent asks above (stored)", Style.USDC, unless=0),
        ("asking",),
    ),
    Term(
        Shown("onFloor", "Positions at stop (stored)", Style.CHOICE, choices=ON_FLOOR_WORDS),
        ("at_stop",),
    ),
    Term(
        Shown("allowedTargetsHash", "Agent may only use (hash)", Style.BYTES),
        ("markets",),
    ),
    Term(Shown("guardTargetsHash", "Paid reads (hash)", Style.BYTES), ("markets",)),
    Term(Hidden("issuedAt", "limits nothing: the end is signed by itself"), ("period",)),
    Term(Hidden("nonce", "only makes two otherwise equal documents different")),
)
TERM_FORMS: Final = tuple(term.form for term in TERMS)


def fields_of(clause: str) -> tuple[str, ...]:
    """The signed members behind a clause, its source first.

    `fields_of("stop_line")` is (stopFloor, stopFloorBps).
    """
    return tuple(term.name for term in TERMS if clause in term.clauses)
