"""What an account holds in credits, and which buckets an amount comes from.

    spend   welcome -> earned -> converted       what is given first is used first
    bond              earned -> converted        a bond is never paid from the welcome credit
    earn    owed   -> earned                     a debt is repaid before anything is earned
    convert owed   -> converted                  and before anything is converted
    reverse converted -> owed                    what is spent already of a reversed conversion is owed

Laws
- Credits are integers. No bucket is ever below zero; a debt is in a bucket of its own, `owed`.
- Each function answers signed deltas of one posting; what they do not sum to is the counter
  account's.
Source: docs/credits.md#buckets.
"""

from dataclasses import dataclass, fields

from core.errors import InvalidNumberError, MandateError

SPEND_ORDER = ("welcome", "earned", "converted")
BOND_ORDER = ("earned", "converted")


class NotEnoughCreditsError(MandateError):
    """The buckets that this may come from hold less than it takes."""

    def __init__(self, needed: int, available: int) -> None:
        super().__init__(f"{needed} credits needed, {available} available")
        self.needed = needed
        self.available = available


@dataclass(frozen=True, slots=True, kw_only=True)
class Credits:
    """Credits by bucket: a balance, or signed deltas.

    `bonded` is what bonds hold, `owed` what later earnings repay first.
    """

    welcome: int = 0
    earned: int = 0
    converted: int = 0
    bonded: int = 0
    owed: int = 0

    @property
    def available(self) -> int:
        """What can be spent now."""
        return self.welcome + self.earned + self.converted

    @property
    def net(self) -> int:
        """Everything held less what is owed: the account's side of the ledger."""
        return self.available + self.bonded - self.owed

    def negated(self) -> "Credits":
        return Credits(**{name: -getattr(self, name) for name in BUCKETS})


BUCKETS = tuple(field.name for field in fields(Credits))


def spend_deltas(balance: Credits, amount: int) -> Credits:
    """Errors: NotEnoughCreditsError; InvalidNumberError for an amount below 1."""
    return Credits(**{name: -part for name, part in _drawn(balance, SPEND_ORDER, amount).items()})


def hold_deltas(balance: Credits, amount: int) -> Credits:
    """What a bond takes. Errors: as `spend_deltas`."""
    parts = _drawn(balance, BOND_ORDER, amount)
    return Credits(bonded=amount, **{name: -part for name, part in parts.items()})


def earn_deltas(balance: Credits, amount: int) -> Credits:
    """All of it repays a debt first. Errors: InvalidNumberError for an amount below 1."""
    repaid = min(balance.owed, _positive(amount))
    return Credits(earned=amount - repaid, owed=-repaid)


def convert_deltas(balance: Credits, amount: int) -> Credits:
    """All of it repays a debt first. Errors: InvalidNumberError for an amount below 1."""
    repaid = min(balance.owed, _positive(amount))
    return Credits(converted=amount - repaid, owed=-repaid)


def reverse_deltas(balance: Credits, amount: int) -> Credits:
    """A conversion that the chain took back: what is left of converted credit goes, the rest is
    owed. Errors: InvalidNumberError for an amount below 1.
    """
    taken = min(balance.converted, _positive(amount))
    return Credits(converted=-taken, owed=amount - taken)


def owe_deltas(balance: Credits, amount: int) -> Credits:
    """A debt takes nothing now. Errors: InvalidNumberError."""
    return Credits(owed=_positive(amount))


def _drawn(balance: Credits, order: tuple[str, ...], amount: int) -> dict[str, int]:
    left, parts = _positive(amount), dict[str, int]()
    for name in order:
        parts[name] = min(left, getattr(balance, name))
        left -= parts[name]
    if left > 0:
        raise NotEnoughCreditsError(amount, amount - left)
    return parts


def _positive(amount: int) -> int:
    if amount < 1:
        raise InvalidNumberError("amount_credits", str(amount), "write a whole number above 0")
    return amount
