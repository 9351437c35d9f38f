"""Sign-in with a wallet (EIP-4361): the text that we issue, and the check of what comes back.

Laws
- What comes back is our text, or one that the client built by EIP-4361 around our nonce (wagmi and
  RainbowKit do). Its fields decide, not its bytes: our domain, URI and chain, the wallet, a
  nonce issued to this wallet for this purpose, Issued At within five minutes, not expired. A
  text about a record holds the record's hash (docs/rules.md#sign-in-messages).
- A text over 2 KB is refused before anything reads it.
- A nonce is used once: of two calls with one, one signs in.
- Each text lives its whole life, whatever is asked for meanwhile: nobody can void a text that the
  wallet is looking at by asking for another. While more than half of the newest one's life is left,
  asking again returns it, so that two are alive at most. A text about a record is kept a record,
  one about an agent an agent.
"""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from eth_utils.crypto import keccak

from api.kernel.operation import Call, NextCall, Refusal, WriteCall
from api.shared.sign_in_message import SignInMessage, sign_in_message
from core.chain.signatures import kept_signature, verify_digest
from core.identity import queries as identity

MAX_MESSAGE_BYTES = 2048
NONCE_BYTES = 12


class Purpose(StrEnum):
    REGISTER = "register"
    LINK = "link"
    LOGIN = "login"
    SELF = "self"
    UNLINK = "unlink"


STATEMENTS = {
    Purpose.REGISTER: "Register an agent with this wallet. Signing moves no money.",
    Purpose.LINK: "Link this wallet to my agent's account. Signing moves no money.",
    Purpose.LOGIN: "Sign in as an owner of mandates. Signing moves no money.",
    Purpose.SELF: (
        "Declare the record with SHA-256 {record_sha256} as my agent's own. Signing moves no money."
    ),
    Purpose.UNLINK: (
        "Unlink the wallet of my agent {agent_id} and replace the agent's secrets. Signing moves "
        "no money."
    ),
}


@dataclass(frozen=True, slots=True)
class TextSubject:
    """What a text is about: a purpose, for SELF the SHA-256 of the record (64 lower-case hex
    digits), for UNLINK the agent.
    """

    purpose: Purpose
    record_sha256: str | None = None
    agent_id: int | None = None

    @property
    def slot(self) -> str:
        """The name under which the texts are kept."""
        about = self.record_sha256 or self.agent_id
        return self.purpose.value if about is None else f"{self.purpose.value}:{about}"

    @property
    def statement(self) -> str:
        return STATEMENTS[self.purpose].format(
            record_sha256=self.record_sha256, agent_id=self.agent_id
        )


@dataclass(frozen=True, slots=True)
class SignInText:
    nonce: str
    message: str
    expires_at: datetime


def issue(call: WriteCall, address: str, subject: TextSubject) -> SignInText:
    """The text that the wallet signs as it is. `address` is checksummed."""
    fresh = _fresh(call, address, subject)
    if fresh is None:
        identity.lock_nonces(call.db, address, subject.slot)
        fresh = _fresh(call, address, subject)
    if fresh is not None:
        return fresh
    nonce = secrets.token_hex(NONCE_BYTES)
    expires_at = call.now + timedelta(seconds=call.deps.limits.nonce_s)
    message = text_of(
        call.deps.base_url, call.deps.chain_id, address, subject, nonce, call.now, expires_at
    )
    identity.sweep_nonces(call.db, call.now)
    values: dict[str, str | datetime] = {
        "nonce": nonce,
        "message": message,
        "created_at": call.now,
        "expires_at": expires_at,
    }
    identity.add_nonce(call.db, address, subject.slot, values)
    return SignInText(nonce, message, expires_at)


def _fresh(call: Call, address: str, subject: TextSubject) -> SignInText | None:
    """The newest text, while more than half of its life is left."""
    half = timedelta(seconds=call.deps.limits.nonce_s) / 2
    for found in identity.nonces_of(call.db, address, subject.slot)[:1]:
        if found.expires_at - call.now > half:
            return SignInText(found.nonce, found.message, found.expires_at)
    return None


def text_of(
    base_url: str,
    chain_id: int,
    address: str,
    subject: TextSubject,
    nonce: str,
    now: datetime,
    expires_at: datetime,
) -> str:
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


def verified_wallet(call: WriteCall, subject: TextSubject, message: str, signature: str) -> str:
    """The checksum address that signed this message, once per nonce.

    Errors: Refusal invalid_parameter, signature_invalid.
    """
    sent = _read(message)
    _require_ours(call, sent, subject, message)
    if not _is_signed(call, sent.address, message, signature):
        raise _not_signed(sent.address, subject)
    _use_up(call, subject, sent.address, sent.nonce)
    return sent.address


def verify_wallet(
    call: WriteCall, subject: TextSubject, address: str, signature: str, message: str | None = None
) -> str:
    """The wallet signed `message`, by default a text of this subject that waits for it, once per
    nonce; returns what was signed.

    Errors: Refusal signature_invalid, and invalid_parameter for a message that was sent.
    """
    if message is not None:
        if _read(message).address != address:
            raise _again(
                "invalid_parameter", f"message: its address is not {address}.", address, subject
            )
        verified_wallet(call, subject, message, signature)
        return message
    texts = identity.nonces_of(call.db, address, subject.slot)
    waiting = [text for text in texts if text.expires_at > call.now]
    if not waiting:
        detail = (
            f"signature: no message with purpose {subject.purpose} is waiting for {address}; "
            "get one from /auth/wallet/nonce and sign it unchanged."
        )
        raise _again("signature_invalid", detail, address, subject)
    for text in waiting:
        if _is_signed(call, address, text.message, signature):
            _use_up(call, subject, address, text.nonce)
            return text.message
    raise _not_signed(address, subject)


def _is_signed(call: Call, address: str, message: str, signature: str) -> bool:
    digest = personal_digest(message)
    return verify_digest(
        address, digest, kept_signature(address, digest, signature), call.deps.chain
    )


def _not_signed(address: str, subject: TextSubject) -> Refusal:
    detail = (
        f"signature: it is not {address}'s signature of this message; sign the text of "
        "/auth/wallet/nonce unchanged."
    )
    return _again("signature_invalid", detail, address, subject)


def _use_up(call: WriteCall, subject: TextSubject, address: str, nonce: str) -> None:
    if not identity.take_nonce(call.db, address, subject.slot, nonce, call.now):
        raise _again(
            "signature_invalid",
            "message: it has just been used; get a new one from /auth/wallet/nonce.",
            address,
            subject,
        )


def personal_digest(message: str) -> str:
    """The digest of EIP-191 version E, which wallets sign for a text (personal_sign)."""
    raw = message.encode()
    return "0x" + keccak(b"\x19Ethereum Signed Message:\n" + str(len(raw)).encode() + raw).hex()


def _read(message: str) -> SignInMessage:
    """Errors: Refusal invalid_parameter."""
    if len(message.encode()) > MAX_MESSAGE_BYTES:
        raise Refusal(
            "invalid_parameter",
            f"message: it is longer than {MAX_MESSAGE_BYTES} bytes; send the text of "
            "/auth/wallet/nonce.",
        )
    try:
        read = sign_in_message(message)
    except ValueError as error:
        raise Refusal("invalid_parameter", f"message: the address in it: {error}.") from error
    if read is None:
        detail = (
            "message: it is not a sign-in message (EIP-4361); send the text of /auth/wallet/nonce, "
            "or one with its nonce."
        )
        raise Refusal("invalid_parameter", detail)
    return read


def _require_ours(call: Call, sent: SignInMessage, subject: TextSubject, message: str) -> None:
    """Each part that names this service, this purpose or a time; the refusal says which one
    differs.
    """
    for name, expected, agrees in _places(call, sent):
        if not agrees:
            detail = (
                f"message: its {name} is not {expected}; get a text of this service from "
                "/auth/wallet/nonce and sign it unchanged."
            )
            raise _again("invalid_parameter", detail, sent.address, subject)
    if subject.record_sha256 is not None and subject.record_sha256 not in message:
        detail = (
            f"message: it does not contain the record's SHA-256 {subject.record_sha256}, so the "
            "signature does not cover the record."
        )
        raise _again("signature_invalid", detail, sent.address, subject)
    _require_issued(call, sent, subject)
    _require_in_time(call, sent, subject)


def _places(call: Call, sent: SignInMessage) -> tuple[tuple[str, str, bool], ...]:
    """(part, what it must be, whether it is): the URI may be any page of this service."""
    own, uri = urlsplit(call.deps.base_url), _origin(sent.uri)
    return (
        (
            "domain",
            own.netloc,
            sent.domain.lower() == own.netloc.lower() and sent.scheme in (None, own.scheme),
        ),
        ("URI", call.deps.base_url, uri == (own.scheme, own.netloc.lower())),
        ("Version", "1", sent.version == "1"),
        ("Chain ID", str(call.deps.chain_id), sent.chain_id == str(call.deps.chain_id)),
    )


def _origin(uri: str) -> tuple[str, str] | None:
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    return parts.scheme.lower(), parts.netloc.lower()


def _require_issued(call: Call, sent: SignInMessage, subject: TextSubject) -> None:
    issued = identity.nonces_of(call.db, sent.address, subject.slot)
    found = next((text for text in issued if text.nonce == sent.nonce), None)
    if found is None:
        detail = (
            "message: its nonce was not issued to this wallet for the purpose "
            f"{subject.purpose}, or has already been used; get a new one from "
            "/auth/wallet/nonce."
        )
        raise _again("signature_invalid", detail, sent.address, subject)
    if found.expires_at <= call.now or (
        sent.expires_at is not None and sent.expires_at <= call.now
    ):
        raise _again(
            "signature_invalid",
            "message: it has expired; get a new one from /auth/wallet/nonce.",
            sent.address,
            subject,
        )


def _require_in_time(call: Call, sent: SignInMessage, subject: TextSubject) -> None:
    if abs(call.now - sent.issued_at) > timedelta(seconds=call.deps.limits.nonce_s):
        detail = (
            f"message: its Issued At is not within {call.deps.limits.nonce_s} seconds of "
            f"{time_text(call.now)}; sign a new message."
        )
        raise _again("signature_invalid", detail, sent.address, subject)
    if sent.not_before is not None and sent.not_before > call.now:
        detail = f"message: it is not valid before {time_text(sent.not_before)}."
        raise _again("signature_invalid", detail, sent.address, subject)


def _again(reason: str, detail: str, address: str, subject: TextSubject) -> Refusal:
    """A refusal whose next call fetches a fresh text for the same wallet and subject."""
    about = {"record_sha256": subject.record_sha256, "agent_id": subject.agent_id}
    body: dict[str, Any] = {"wallet_address": address, "purpose": subject.purpose.value}
    body |= {name: value for name, value in about.items() if value is not None}
    return Refusal(reason, detail, next_calls=(NextCall("identity.nonce", body=body),))
