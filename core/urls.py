"""Links that callers send: kept and shown as text, never fetched."""

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from core.errors import InvalidParameterError

URL_CHARACTERS_MOST: Final = 500
# of what is_https takes, what JSON Schema can say: the scheme, no user, printable ASCII without quotes
HTTPS_PATTERN: Final = (
    r"^[Hh][Tt][Tt][Pp][Ss]://[0-9A-Za-z_.:\[\]-]+([/?#][!#-&(-;=?-\[\]-_a-~]*)?$"
)
# RFC 1123 2.1, and the underscore that DNS allows; a last dot is that of the root
_LABEL: Final = r"[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?"
_NAME: Final = re.compile(rf"(?=.{{1,254}}\Z)(?:{_LABEL}\.)*(?=[^.]*[a-z]){_LABEL}\.?")


def require_https(field: str, url: str, most: int = URL_CHARACTERS_MOST) -> None:
    """Errors: InvalidParameterError."""
    if not is_https(url, most):
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


def is_https(url: str, most: int = URL_CHARACTERS_MOST) -> bool:
    if len(url) > most or not (url.isascii() and url.isprintable()):
        return False
    if any(one in url for one in " \\\"'<>`"):
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:  # brackets that hold no address, or a port that is no number
        return False
    is_literal = "[" in parts.netloc
    is_host = _is_host(parts.hostname or "", is_literal=is_literal)
    return parts.scheme == "https" and is_host and "@" not in parts.netloc


def _is_host(host: str, *, is_literal: bool) -> bool:
    """Whether it is a name that DNS could have, or an IP address without a zone. `is_literal`: it
    stood in brackets, where no name does.
    """
    try:
        ip_address(host)
    except ValueError:
        return not is_literal and _NAME.fullmatch(host) is not None
    return "%" not in host
