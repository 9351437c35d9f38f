"""The message of EIP-4361 (Sign-In with Ethereum): its parts, read in time linear in its length.

No rule of ours is here.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from api.kernel.fields import instant_of
from core.hexes import read_account

_FORM = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://)?(?P<domain>[^\s/?#]+) wants you to sign in with "
    r"your Ethereum account:\n"
    r"(?P<address>0x[0-9a-fA-F]{40})\n"
    r"\n"
    r"(?:(?P<statement>[^\n"
    r"]+)\n"
    r")?\n"
    r"URI: (?P<uri>\S+)\n"
    r"Version: (?P<version>\d{1,9})\n"
    r"Chain ID: (?P<chain_id>\d{1,78})\n"
    r"Nonce: (?P<nonce>[A-Za-z0-9]{8,})\n"
    r"Issued At: (?P<issued_at>\S+)(?:\n"
    r"Expiration Time: (?P<expires_at>\S+))?(?:\n"
    r"Not Before: (?P<not_before>\S+))?"
    r"(?:\n"
    r"Request ID: [^\n"
    r"]*)?(?:\n"
    r"Resources:(?:\n"
    r"- \S+)*)?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class SignInMessage:
    """`address` is checksummed, times are aware; None: the message leaves the part out."""

    scheme: str | None
    domain: str
    address: str
    uri: str
    version: str
    chain_id: str
    nonce: str
    issued_at: datetime
    expires_at: datetime | None
    not_before: datetime | None


def sign_in_message(text: str) -> SignInMessage | None:
    """None: it is not of the standard's form, or a time of it is no time.

    Errors: ValueError of `read_account`, for its address.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    part = found.groupdict()
    times = {
        name: instant_of(part[name])
        for name in ("issued_at", "expires_at", "not_before")
        if part[name] is not None
    }
    issued_at = times.get("issued_at")
    if issued_at is None or None in times.values():
        return None
    return SignInMessage(
        scheme=part["scheme"],
        domain=part["domain"],
        address=read_account(part["address"]),
        uri=part["uri"],
        version=part["version"],
        chain_id=part["chain_id"],
        nonce=part["nonce"],
        issued_at=issued_at,
        expires_at=times.get("expires_at"),
        not_before=times.get("not_before"),
    )
