"""What the relay guard signs a payment for: the hosts and payees that the owner's terms list, and
nothing else.

Laws
- No entry of kind x402 in the guard targets: no payment at all.
- An empty list means this service alone: its host, its payee. So a host that is listed without
  payees may be paid only by paying this service, and a stranger's payee must be named, the agent's
  own wallet included.
- A host is named with its port, unless that is the scheme's own. A resource beyond this service is
  named by https.
Source: guardTargetsHash of contracts/libraries/TermsLib.sol; docs/payments.md#a-vault-pays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from core.errors import InvalidParameterError
from core.mandate.rules.targets import KIND_X402

MAX_URL_CHARACTERS: Final = 2_048
OWN_PORTS: Final = {"https": 443, "http": 80}


@dataclass(frozen=True, slots=True)
class OwnService:
    """`base_url` is where this service is reached; `payee` whom it is paid by, None: it takes no
    payments.
    """

    base_url: str
    payee: str | None


def host_of(url: str) -> str:
    """`api.example.com`, or `api.example.com:8443`, in lower case.

    Errors: InvalidParameterError for what is no plain http(s) URL.
    """
    rule = (
        f"write an http or https URL of at most {MAX_URL_CHARACTERS} printable ASCII characters, "
        "without user, fragment or backslash"
    )
    if (
        len(url) > MAX_URL_CHARACTERS
        or not url.isascii()
        or not url.isprintable()
        or any(one in url for one in " \\#@")
    ):
        raise InvalidParameterError("resource", rule)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InvalidParameterError("resource", rule) from None
    if parts.scheme not in OWN_PORTS or not host:
        raise InvalidParameterError("resource", rule)
    return host if port is None or port == OWN_PORTS[parts.scheme] else f"{host}:{port}"


def is_own(own: OwnService, url: str) -> bool:
    """Whether the resource is this service's. Errors: as `host_of`."""
    return urlsplit(url).scheme == urlsplit(own.base_url).scheme and host_of(url) == host_of(
        own.base_url
    )


def guard_refusal(
    guard_targets: Sequence[Mapping[str, Any]], own: OwnService, url: str, pay_to: str
) -> str | None:
    """Why the guard does not sign, as one sentence; None: it may.

    `guard_targets` as in the signed terms. Errors: as `host_of`.
    """
    lists = next((one for one in guard_targets if one["kind"] == KIND_X402), None)
    if lists is None:
        return "The mandate allows no payments for web resources."
    host = host_of(url)
    if urlsplit(url).scheme != "https" and not is_own(own, url):
        return f"Outside this service the guard signs only for https, and {url[:80]} is not https."
    hosts = lists["hosts"] or [host_of(own.base_url)]
    if host not in hosts:
        return f"The mandate does not list the host {host}; it lists {', '.join(hosts)}."
    payees = lists["payees"] or [own.payee]
    if pay_to.lower() not in {str(payee).lower() for payee in payees if payee is not None}:
        return (
            f"The mandate does not list the payee {pay_to}; it lists "
            f"{', '.join(str(one) for one in payees if one) or 'none'}."
        )
    return None
