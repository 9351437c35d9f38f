"""The ticker that is asked for."""

import unicodedata
from typing import Final

from core.errors import InvalidParameterError
from core.texts import is_hidden, kept_text

TICKER_CHARACTERS_MOST: Final = 32
_PATH_SIGNS: Final = frozenset("/\\\ufffd")


def ticker_of(sent: str, field: str = "token") -> str:
    """The ticker that is meant: any case; what has no upper case of its own stays.

    Errors: InvalidParameterError for what is no ticker: a path, more than 32 characters, characters
    that cannot be seen, another space than the usual one.
    """
    written = kept_text(field, sent, TICKER_CHARACTERS_MOST)
    is_path = _PATH_SIGNS & set(written) or ".." in written or written.strip(". ") != written
    if is_path or any(is_hidden(one) or (one.isspace() and one != " ") for one in written):
        raise InvalidParameterError(
            field,
            "write a ticker, such as BTC: without a path, a dot or space at either end, or "
            "invisible characters",
        )
    return capitals(written)


def capitals(ticker: str) -> str:
    """As tickers are kept: composed characters, in upper case where that is the same letter."""
    return "".join(map(_upper, unicodedata.normalize("NFC", ticker)))


def _upper(one: str) -> str:
    """A letter that becomes several, or an ASCII one without being one, would be another ticker."""
    upper = one.upper()
    return upper if len(upper) == 1 and upper.isascii() == one.isascii() else one
