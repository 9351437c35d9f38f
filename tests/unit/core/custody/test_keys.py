"""Seals of custodial keys: what opens them, and that nothing else does."""

import time
from dataclasses import replace

import pytest
from eth_account import Account
from hypothesis import given
from hypothesis import strategies as st

from core.custody.keys import (
    BrokenSealError,
    CustodySigner,
    KeyMaker,
    KeyRing,
    UnknownKeyVersionError,
    authorization_nonce,
    version_of,
)
from core.mandate.chain import calldata, typed_data
from tests.each import each

FIRST, SECOND = b"\x01" * 32, b"\x02" * 32
SECRET = b"\x33" * 32
ADDRESS = "0x5CbDd86a2FA8Dc4bDdd8a8f69dBa48572EeC07FB"
RING = KeyRing([FIRST, SECOND])


def test_seal__is_nonce_tag_and_key_for_the_keys_own_address() -> None:
    sealed = RING.seal(SECRET, 7)
    assert (sealed.account_id, sealed.address, sealed.key_version) == (
        7,
        ADDRESS,
        version_of(FIRST),
    )
    assert len(sealed.ciphertext) == 12 + 16 + 32
    assert SECRET not in sealed.ciphertext


def test_seal__twice__has_another_nonce_and_another_text() -> None:
    one, other = RING.seal(SECRET, 7), RING.seal(SECRET, 7)
    assert one.ciphertext[:12] != other.ciphertext[:12]
    assert one.ciphertext[28:] != other.ciphertext[28:]


@given(st.integers(0, 59), st.integers(1, 255))
def test_open__one_changed_byte_anywhere__is_refused(place: int, flip: int) -> None:
    sealed = RING.seal(SECRET, 7)
    changed = bytearray(sealed.ciphertext)
    changed[place] ^= flip
    with pytest.raises(BrokenSealError):
        RING.open(replace(sealed, ciphertext=bytes(changed)))


@each("length", [0, 11, 12, 27, 28, 59, 61])
def test_open__a_text_of_another_length__is_refused(length: int) -> None:
    sealed = RING.seal(SECRET, 7)
    with pytest.raises(BrokenSealError):
        RING.open(replace(sealed, ciphertext=(sealed.ciphertext + b"\0")[:length]))


@pytest.mark.parametrize("moved", [{"account_id": 8}, {"address": "0x" + "00" * 20}])
def test_open__in_another_row__is_refused(moved: dict[str, object]) -> None:
    with pytest.raises(BrokenSealError):
        RING.open(replace(RING.seal(SECRET, 7), **moved))  # type: ignore[arg-type]


def test_open__by_the_same_key_in_another_place__opens() -> None:
    assert KeyRing([SECOND, FIRST]).open(RING.seal(SECRET, 7)) == SECRET


def test_open__without_the_key__names_its_version() -> None:
    with pytest.raises(UnknownKeyVersionError, match=version_of(FIRST)):
        KeyRing([SECOND]).open(RING.seal(SECRET, 7))


def test_resealed__is_the_same_key_under_the_first_one() -> None:
    old = KeyRing([SECOND]).seal(SECRET, 7)
    new = CustodySigner(RING).resealed(old)
    assert (new.key_version, new.address, KeyRing([FIRST]).open(new)) == (
        version_of(FIRST),
        ADDRESS,
        SECRET,
    )


def test_new_key__is_another_each_time_and_signs_for_its_address() -> None:
    digest, maker = "0x" + "11" * 32, KeyMaker(RING)
    one, other = maker.new_key(7), maker.new_key(7)
    assert one.address != other.address
    signature = CustodySigner(RING).sign_digest(one, digest)
    assert Account._recover_hash(digest, signature=signature) == one.address
    assert CustodySigner(RING).sign_digest(one, digest) == signature


def test_require_known__a_version_that_the_ring_lacks__is_refused() -> None:
    sealed = RING.seal(SECRET, 7)
    KeyMaker(RING).require_known(sealed)
    with pytest.raises(UnknownKeyVersionError):
        KeyMaker(KeyRing([SECOND])).require_known(sealed)


def test_what_is_printed__says_nothing_of_a_key() -> None:
    sealed = RING.seal(SECRET, 7)
    said = " ".join(
        map(repr, (RING, sealed, KeyMaker(RING), CustodySigner(RING), BrokenSealError(ADDRESS)))
    )
    for secret in (FIRST, SECOND, SECRET, sealed.ciphertext):
        assert secret.hex() not in said
        assert repr(secret) not in said


@each("keys", [[], [b"\0" * 31], [FIRST, b"\0" * 33]])
def test_a_ring_of_no_keys_or_other_sizes__is_refused(keys: list[bytes]) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        KeyRing(keys)


def test_authorization_nonce__is_the_requests_own() -> None:
    assert authorization_nonce("custodial_transfer:a") == authorization_nonce(
        "custodial_transfer:a"
    )
    assert authorization_nonce("custodial_transfer:a") != authorization_nonce(
        "custodial_transfer:b"
    )
    assert len(authorization_nonce("custodial_transfer:a")) == 66


@pytest.mark.slow
def test_a_thousand_authorizations__take_two_seconds_of_this_process_at_most() -> None:
    """Key opened, digest, signature, call data: all that a request needs before its transaction is
    signed.
    """
    maker, signer = KeyMaker(RING), CustodySigner(RING)
    sealed = maker.new_key(7)
    begun = time.process_time()
    for n in range(1_000):
        message = (
            sealed.address,
            ADDRESS,
            1_000_000,
            0,
            2_000_000_000,
            authorization_nonce(str(n)),
        )
        signature = signer.sign_digest(
            sealed, typed_data.transfer_authorization(ADDRESS, 84532, *message).digest
        )
        calldata.transfer_with_authorization(*message, signature)
    took_s = time.process_time() - begun
    print(f"1,000 custodial signatures: {took_s:.2f} s")
    assert took_s <= 2.0
