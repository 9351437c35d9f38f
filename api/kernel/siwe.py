"""Sign-in with a wallet (EIP-4361): the text that we issue, and the check of what comes back.

Laws
- The text is ours to the byte: what comes back must equal the newest unexpired text that was issued for this wallet and
  purpose. So domain, URI, chain, nonce and times are right when the text is, and no parser of foreign text decides.
- A text over 2 KB is refused before anything reads it (decisions 55).
- It is used once: of two calls with one text, one signs in.
- While more than half of a text's life is left, asking again returns the same text: nobody can void a text that the
  wallet is looking at by asking for another. A text about a record is kept a record, for the same reason.
"""

import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from urllib.parse import urlsplit

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from api.kernel.operation import Call, NextCall, Refusal
from core.chain.signatures import verify_digest
from core.db.repositories import identity

MAX_MESSAGE_BYTES = 2048
NONCE_BYTES = 12

_ADDRESS_LINE = re.compile(r"0x[0-9a-fA-F]{40}")


class Purpose(StrEnum):
    REGISTER = "register"
    LINK = "link"
    LOGIN = "login"
    SELF = "self"


STATEMENTS = {
    Purpose.REGISTER: "Register an agent with this wallet. Signing moves no money.",
    Purpose.LINK: "Link this wallet to my agent's account. Signing moves no money.",
    Purpose.LOGIN: "Sign in as an owner of mandates. Signing moves no money.",
    Purpose.SELF: "Declare the record with SHA-256 {record_sha256} as my agent's own. Signing moves no money.",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """What a text is about: a purpose, and for SELF the SHA-256 of the record (64 lower-case hex digits)."""

    purpose: Purpose
    record_sha256: str | None = None

    @property
    def slot(self) -> str:
        """The name under which the newest text is kept."""
        return self.purpose.value if self.record_sha256 is None else f"{self.purpose.value}:{self.record_sha256}"

    @property
    def statement(self) -> str:
        return STATEMENTS[self.purpose].format(record_sha256=self.record_sha256)


@dataclass(frozen=True, slots=True)
class SignInText:
    nonce: str
    message: str
    expires_at: datetime


def issue(call: Call, address: str, subject: Subject) -> SignInText:
    """The text that the wallet signs as it is. `address` is checksummed."""
    life = timedelta(seconds=call.deps.limits.nonce_s)
    found = identity.find_nonce(call.db, address, subject.slot)
    if found is not None and found.expires_at - call.now > life / 2:
        return SignInText(found.nonce, found.message, found.expires_at)
    nonce, expires_at = secrets.token_hex(NONCE_BYTES), call.now + life
    message = text_of(call.deps.base_url, call.deps.chain_id, address, subject, nonce, call.now, expires_at)
    identity.sweep_nonces(call.db, call.now)
    values: dict[str, str | datetime] = {"nonce": nonce, "message": message, "created_at": call.now, "expires_at": expires_at}
    identity.put_nonce(call.db, address, subject.slot, values)
    return SignInText(nonce, message, expires_at)


def text_of(base_url: str, chain_id: int, address: str, subject: Subject, nonce: str, now: datetime, expires_at: datetime) -> str:
    """The message of EIP-4361, its optional parts but the expiration left out."""
    return (
        f"{urlsplit(base_url).netloc} wants you to sign in with your Ethereum account:\n"
        f"{address}\n\n{subject.statement}\n\n"
        f"URI: {base_url}\nVersion: 1\nChain ID: {chain_id}\nNonce: {nonce}\n"
        f"Issued At: {time_text(now)}\nExpiration Time: {time_text(expires_at)}"
    )


def time_text(at: datetime) -> str:
    """RFC 3339 in UTC, milliseconds cut."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def verified_wallet(call: Call, subject: Subject, message: str, signature: str) -> str:
    """The checksum address that signed this text, once per text. Errors: Refusal invalid_parameter, signature_invalid."""
    address = _address_of(message)
    _require_issued(call, subject, address, message)
    _use_up(call, subject, address, message, signature)
    return address


def verify_wallet(call: Call, subject: Subject, address: str, signature: str) -> str:
    """The wallet signed its newest text of this subject, once per text; returns the text. Errors: Refusal signature_invalid."""
    found = identity.find_nonce(call.db, address, subject.slot)
    if found is None or found.expires_at <= call.now:
        detail = (
            f"signature: no message of purpose {subject.purpose} waits for {address}; ask /auth/wallet/nonce for one and sign it as it is."
        )
        raise _again("signature_invalid", detail, address, subject)
    _use_up(call, subject, address, found.message, signature)
    return found.message


def _use_up(call: Call, subject: Subject, address: str, message: str, signature: str) -> None:
    if not verify_digest(address, personal_digest(message), signature, call.deps.chain):
        detail = f"signature: it is not {address}'s signature of this message; sign the text of /auth/wallet/nonce as it is."
        raise _again("signature_invalid", detail, address, subject)
    if not identity.take_nonce(call.db, address, subject.slot, message, call.now):
        raise _again("signature_invalid", "message: it was just used; ask /auth/wallet/nonce for a new one.", address, subject)


def personal_digest(message: str) -> str:
    """The digest of EIP-191 version E, which wallets sign for a text (personal_sign)."""
    raw = message.encode()
    return "0x" + keccak(b"\x19Ethereum Signed Message:\n" + str(len(raw)).encode() + raw).hex()


def _address_of(message: str) -> str:
    if len(message.encode()) > MAX_MESSAGE_BYTES:
        raise Refusal("invalid_parameter", f"message: it is longer than {MAX_MESSAGE_BYTES} bytes; send the text of /auth/wallet/nonce.")
    lines = message.split("\n")
    if len(lines) < 2 or not _ADDRESS_LINE.fullmatch(lines[1]):
        raise Refusal("invalid_parameter", "message: it is no sign-in message; send the text of /auth/wallet/nonce as it is.")
    return str(to_checksum_address(lines[1].lower()))


def _require_issued(call: Call, subject: Subject, address: str, message: str) -> None:
    """The text must be the newest one; where another chain or site is the cause, the refusal says so."""
    found = identity.find_nonce(call.db, address, subject.slot)
    if found is not None and found.message == message and found.expires_at > call.now:
        return
    expected = {"URI": call.deps.base_url, "Chain ID": str(call.deps.chain_id)}
    for name, value in expected.items():
        if f"\n{name}: {value}\n" not in message:
            detail = f"message: its {name} is not {value}; ask /auth/wallet/nonce for a text of this service and sign it as it is."
            raise _again("invalid_parameter", detail, address, subject)
    if found is not None and found.message == message:
        raise _again("signature_invalid", "message: it has expired; ask /auth/wallet/nonce for a new one.", address, subject)
    detail = f"message: it is not the newest text issued to this wallet for the purpose {subject.purpose}; ask /auth/wallet/nonce for one."
    raise _again("signature_invalid", detail, address, subject)


def _again(reason: str, detail: str, address: str, subject: Subject) -> Refusal:
    """A refusal whose next call fetches a fresh text for the same wallet and subject."""
    body = {"wallet_address": address, "purpose": subject.purpose.value}
    if subject.record_sha256 is not None:
        body["record_sha256"] = subject.record_sha256
    return Refusal(reason, detail, next_calls=(NextCall("identity.nonce", body=body),))
