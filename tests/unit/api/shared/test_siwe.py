"""Our sign-in text, read by an independent library, and the digest that wallets sign."""

from datetime import UTC, datetime, timedelta

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from siwe import DomainMismatch, SiweMessage

from api.shared.siwe import Purpose, TextSubject, personal_digest, text_of
from core.chain.signatures import recovered_address
from tests.each import each

NOW = datetime(2026, 11, 21, 12, 0, 0, 123_456, tzinfo=UTC)
OWNER = Account.from_key("0x" + "11" * 32)


def text(purpose: Purpose = Purpose.LOGIN) -> str:
    subject = TextSubject(purpose, "ab" * 32 if purpose is Purpose.SELF else None)
    return text_of(
        "http://127.0.0.1:8000",
        84532,
        OWNER.address,
        subject,
        "a1b2c3d4e5f6a7b8",
        NOW,
        NOW + timedelta(minutes=5),
    )


def test_the_text__is_eip_4361_to_the_letter() -> None:
    assert text() == (
        "127.0.0.1:8000 wants you to sign in with your Ethereum account:\n"
        f"{OWNER.address}\n"
        "\n"
        "Sign in as an owner of mandates. Signing moves no money.\n"
        "\n"
        "URI: http://127.0.0.1:8000\n"
        "Version: 1\n"
        "Chain ID: 84532\n"
        "Nonce: a1b2c3d4e5f6a7b8\n"
        "Issued At: 2026-11-21T12:00:00.123Z\n"
        "Expiration Time: 2026-11-21T12:05:00.123Z"
    )


@each("purpose", list(Purpose))
def test_an_independent_library__parses_and_verifies_it_strictly(purpose: Purpose) -> None:
    signature = OWNER.sign_message(encode_defunct(text=text(purpose))).signature.to_0x_hex()
    expected = {
        "uri": "http://127.0.0.1:8000",
        "chain_id": 84532,
        "nonce": "a1b2c3d4e5f6a7b8",
        "timestamp": NOW,
    }
    message = SiweMessage.from_message(text(purpose))
    message.verify(signature, domain="127.0.0.1:8000", strict=True, **expected)
    with pytest.raises(DomainMismatch):
        message.verify(signature, domain="evil.example", strict=True, **expected)


def test_a_text_about_a_record__names_its_hash__and_is_kept_a_record() -> None:
    first, second = TextSubject(Purpose.SELF, "ab" * 32), TextSubject(Purpose.SELF, "cd" * 32)
    assert (
        first.statement
        == f"Declare the record with SHA-256 {'ab' * 32} as my agent's own. Signing moves no money."
    )
    assert (first.slot, second.slot, TextSubject(Purpose.LINK).slot) == (
        f"self:{'ab' * 32}",
        f"self:{'cd' * 32}",
        "link",
    )


def test_the_digest__is_what_a_wallet_signs() -> None:
    signature = OWNER.sign_message(encode_defunct(text=text())).signature.to_0x_hex()
    assert recovered_address(personal_digest(text()), signature) == OWNER.address
