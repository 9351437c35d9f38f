"""The key that settings name: in plain, or in a keystore with a password file."""

import json
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from pydantic import SecretStr

from core.chain.signer import local_signer
from core.errors import InvalidParameterError
from core.hexes import bytes_of
from tests.each import each
from tests.personas import STRANGER

PLAIN = SecretStr(STRANGER.private_key)


@pytest.fixture
def keystore(tmp_path: Path) -> Path:
    file = tmp_path / "key.json"
    encrypted = Account.encrypt(bytes_of(STRANGER.private_key), " two words ", iterations=2)
    file.write_text(json.dumps(encrypted))
    return file


@each("end", ["", "\n", "\r\n"])
def test_a_keystore__opens_by_all_of_its_file_but_the_line_end(keystore: Path, end: str) -> None:
    password = keystore.parent / "password"
    password.write_bytes(b" two words " + end.encode())
    signer = local_signer("GUARD", None, keystore, password)
    assert signer is not None
    assert signer.address == STRANGER.address


@each("content", [b"two words\n", b"", b"\xff"])
def test_a_keystore__that_does_not_open__says_what_to_check(keystore: Path, content: bytes) -> None:
    password = keystore.parent / "password"
    password.write_bytes(content)
    with pytest.raises(InvalidParameterError, match="check file and password") as told:
        local_signer("GUARD", None, keystore, password)
    assert told.value.field == "GUARD_KEYSTORE"


@each(
    "content",
    ["", "[]", "{}", '{"version": 1}', '{"version": 3, "crypto": []}', "\x00", "[" * 100_000],
    ids=range(7),
)
def test_a_file_that_is_no_keystore__is_refused(keystore: Path, content: str) -> None:
    keystore.write_text(content)
    with pytest.raises(InvalidParameterError, match="check file and password"):
        local_signer("GUARD", None, keystore, keystore)


@each(
    "wrong", [{"kdf": "scrypt", "n": 2.0, "r": 8, "p": 1}, {"kdf": "pbkdf2", "prf": "none", "c": 2}]
)
def test_a_keystore_with_figures_of_no_key__is_refused(
    keystore: Path, wrong: dict[str, Any]
) -> None:
    content = json.loads(keystore.read_text())
    kept = {name: content["crypto"]["kdfparams"][name] for name in ("salt", "dklen")}
    content["crypto"] |= {"kdf": wrong.pop("kdf"), "kdfparams": kept | wrong}
    keystore.write_text(json.dumps(content))
    with pytest.raises(InvalidParameterError, match="check file and password"):
        local_signer("GUARD", None, keystore, keystore)


def test_nothing_set__is_no_key() -> None:
    assert local_signer("GUARD", None, None, None) is None


@each(
    ("plain", "is_stored", "has_password", "field"),
    [
        (PLAIN, True, True, "GUARD_KEYSTORE"),
        (None, True, False, "GUARD_KEYSTORE_PASSWORD_FILE"),
        (None, False, True, "GUARD_KEYSTORE"),
    ],
)
def test_half_a_place_or_two_of_them__are_refused(
    keystore: Path, plain: SecretStr | None, is_stored: bool, has_password: bool, field: str
) -> None:
    with pytest.raises(InvalidParameterError) as told:
        local_signer(
            "GUARD", plain, keystore if is_stored else None, keystore if has_password else None
        )
    assert told.value.field == field
