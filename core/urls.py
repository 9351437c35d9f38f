"""Links that callers send: kept and shown as text, never fetched."""

from typing import Final
from urllib.parse import urlsplit, urlunsplit

from core.errors import InvalidParameterError

URL_CHARACTERS_MOST: Final = 500


def require_https(field: str, url: str, most: int = URL_CHARACTERS_MOST) -> None:
    """Errors: InvalidParameterError."""
    if not _is_https(url, most):
        raise InvalidParameterError(
            field,
            f"write an https URL with a host, without user or password, of at most {most} "
            "printable ASCII characters",
        )


def canonical_https(field: str, url: str, most: int = URL_CHARACTERS_MOST) -> str:
    """The URL with its host in lower case, without the port 443, and with a path.

    Errors: InvalidParameterError.
    """
    require_https(field, url, most)
    parts = urlsplit(url)
    host = parts.netloc.lower().removesuffix(":443")
    return urlunsplit(parts._replace(netloc=host, path=parts.path or "/"))


def _is_https(url: str, most: int) -> bool:
    if len(url) > most or not (url.isascii() and url.isprintable()):
        return False
    if any(one in url for one in " \\\"'<>`"):
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:  # brackets that hold no address, or a port that is no number
        return False
    return parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc
