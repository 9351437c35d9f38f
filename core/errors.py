"""One tree of errors: what the caller may fix, and what the outside failed at.

Law: a domain error carries both sides of the broken comparison as typed fields; its message is
built from them.
"""

from collections.abc import Iterator
from contextlib import contextmanager


class MandateError(Exception):
    """The caller asked for something that a rule refuses; the caller may fix it."""


class OutsideError(Exception):
    """A part outside this process (chain node, database, venue) failed or contradicted itself."""


def text_of(error: BaseException, most: int = 500) -> str:
    """An error's text in printable ASCII, of at most so many characters: it may quote what a node
    says, and the database has to take it.
    """
    return ascii(str(error))[1:-1][:most]


class InvalidNumberError(MandateError):
    """A number breaks its rule: wrong form, too many decimals (docs/rules.md#numbers), out of its
    range. `got` is what was sent.
    """

    def __init__(self, field: str, got: str, rule: str) -> None:
        super().__init__(f"{field}: {rule} (got {got!r})")
        self.field = field
        self.got = got
        self.rule = rule


class InvalidParameterError(MandateError):
    """A field that is not a number breaks its rule."""

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(f"{field}: {rule}")
        self.field = field
        self.rule = rule


@contextmanager
def fields_in(part: str) -> Iterator[None]:
    """Errors raised within name their field by where the caller sent it: budget_usdc of the object
    `terms` is terms.budget_usdc.
    """
    try:
        yield
    except InvalidNumberError as error:
        raise InvalidNumberError(f"{part}.{error.field}", error.got, error.rule) from error
    except InvalidParameterError as error:
        raise InvalidParameterError(f"{part}.{error.field}", error.rule) from error


class WrongStatusError(MandateError):
    """A move that the mandate's status does not allow.

    `rule` says when it is: it begins with `only`. Source: core/mandate/rules/lifecycle.py.
    """

    def __init__(self, status: str, move: str, rule: str) -> None:
        is_now = "a draft" if status == "draft" else status
        super().__init__(f"The mandate is {is_now}: {move} is possible {rule}")
        self.status = status
        self.move = move
        self.rule = rule


class SettleGraceError(MandateError):
    """The owner or the agent stops in [ends_at, until), the keeper's time to settle.

    `until`: unix seconds, exclusive.
    """

    def __init__(self, until: int) -> None:
        super().__init__(
            f"the keeper settles first; a stop is possible again from unix second {until} on"
        )
        self.until = until
