"""Which key a role has, from where the settings say it is."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from eth_account import Account
from pydantic import SecretStr

from core.chain.errors import RpcUnreachableError
from core.chain.reader import ChainReader
from core.errors import InvalidParameterError
from core.hexes import bytes_of
from keeper.signers import PREFIXES, require_allowed, signers_of
from keeper.state import Role
from tests.each import each
from tests.personas import KEEPER, STRANGER
from tests.unit.core.chain.scripted import World, refusing, unreachable

URL = "https://signer.example:9000"


KINDS = (
    *("private_key", "keystore", "keystore_password_file"),
    *("remote_signer_url", "remote_signer_address", "remote_signer_token_file"),
)
KeyPlace = dict[str, Any]  # by the end of the settings' names


def plain(key: str = KEEPER.private_key) -> KeyPlace:
    return {"private_key": SecretStr(key)}


def remote(**changes: Any) -> KeyPlace:
    named = {"url": URL, "address": STRANGER.address} | changes
    return {f"remote_signer_{name}": value for name, value in named.items()}


def settings_of(**places: KeyPlace) -> SimpleNamespace:
    """Of roles that have a key."""
    named = {
        f"{prefix.lower()}_{kind}": places.get(role, {}).get(kind)
        for role, prefix in PREFIXES.items()
        for kind in KINDS
    }
    return SimpleNamespace(**named, keeper_remote_signer_answer_s=1.0)


def keystore(folder: Path, password: str = "right") -> KeyPlace:
    file, password_file = folder / "keystore.json", folder / "password"
    file.write_text(
        json.dumps(Account.encrypt(bytes_of(STRANGER.private_key), "right", iterations=2))
    )
    password_file.write_text(password + "\n")
    return {"keystore": file, "keystore_password_file": password_file}


def refusal_of(**places: KeyPlace) -> InvalidParameterError:
    with pytest.raises(InvalidParameterError) as told:
        signers_of(settings_of(**places))
    return told.value


def test_signers_of__no_key_at_all__is_a_dry_run() -> None:
    assert signers_of(settings_of()) == {}


def test_signers_of__each_kind_of_place__gives_its_role(tmp_path: Path) -> None:
    for place in (keystore(tmp_path), remote()):
        signers = signers_of(settings_of(keeper=plain(), stop=place))
        assert {role: signer.address for role, signer in signers.items()} == {
            Role.KEEPER: KEEPER.address,
            Role.STOP: STRANGER.address,
        }


def test_signers_of__a_stop_key_alone__is_refused() -> None:
    assert "set the keeper's own key too" in refusal_of(stop=plain()).rule


def test_signers_of__one_account_for_both_roles__is_refused() -> None:
    assert (
        "share its nonces"
        in refusal_of(
            keeper=plain(STRANGER.private_key), stop=remote(address=STRANGER.address.lower())
        ).rule
    )


def test_signers_of__a_gas_key_alone__is_refused() -> None:
    assert "set the keeper's own key too" in refusal_of(custody=plain()).rule


@each("other", ["keeper", "stop", "pauser"])
def test_signers_of__a_gas_key_of_another_roles_account__is_refused(other: str) -> None:
    places = {"keeper": plain()} | {other: plain(STRANGER.private_key), "custody": remote()}
    refused = refusal_of(**places)
    assert (refused.field, "share its nonces" in refused.rule) == ("CUSTODY_GAS_*", True)


@each(("role", "prefix"), [("keeper", "KEEPER"), ("stop", "KEEPER_STOP")])
def test_signers_of__two_places_for_one_role__names_both(role: str, prefix: str) -> None:
    error = refusal_of(**{role: plain() | remote()})
    assert (error.field, error.rule) == (
        f"{prefix}_REMOTE_SIGNER_URL",
        f"set it or {prefix}_PRIVATE_KEY, not both",
    )


@each("key", ["", "no key", "0x" + "11" * 31, "00" * 32])
def test_signers_of__a_key_that_is_none__is_refused_without_showing_it(key: str) -> None:
    error = refusal_of(keeper=plain(key))
    assert str(error) == "KEEPER_PRIVATE_KEY: write 32 bytes as hex"
    assert error.__cause__ is None


def test_signers_of__keystore_without_a_password_file__names_the_variable(tmp_path: Path) -> None:
    error = refusal_of(keeper=plain(), stop={"keystore": keystore(tmp_path)["keystore"]})
    assert error.field == "KEEPER_STOP_KEYSTORE_PASSWORD_FILE"


def test_signers_of__wrong_password__says_what_to_check(tmp_path: Path) -> None:
    error = refusal_of(keeper=keystore(tmp_path, "wrong"))
    assert error.field == "KEEPER_KEYSTORE"
    assert "check file and password" in error.rule


@each(
    ("changes", "variable"),
    [
        ({"address": None}, "KEEPER_REMOTE_SIGNER_ADDRESS"),
        ({"token_file": Path("/nowhere")}, "KEEPER_REMOTE_SIGNER_TOKEN_FILE"),
    ],
)
def test_signers_of__remote_signer_that_cannot_work__names_the_variable(
    changes: dict[str, Any], variable: str
) -> None:
    assert refusal_of(keeper=remote(**changes)).field == variable


@each("content", ["", "\n", "two words\n", "two\nlines", "tok\u00e9n"])
def test_signers_of__a_file_without_a_token__is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "token"
    file.write_text(content)
    assert refusal_of(keeper=remote(token_file=file)).field == "KEEPER_REMOTE_SIGNER_TOKEN_FILE"


@each(
    ("url", "is_taken"),
    [
        ("https://signer.example", True),
        ("http://127.0.0.1:9000", True),
        ("http://localhost:9000", True),
        ("http://signer.example", False),
    ],
)
def test_signers_of__a_token__goes_over_tls_or_to_this_machine(
    tmp_path: Path, url: str, is_taken: bool
) -> None:
    file = tmp_path / "token"
    file.write_text("secret\n")
    place = remote(url=url, token_file=file)
    if is_taken:
        assert Role.KEEPER in signers_of(settings_of(keeper=place))
    else:
        assert "only over https" in refusal_of(keeper=place).rule


def test_nodes_that_may_not_say_their_software__sign_for_keys_that_are_ones_own_alone() -> None:
    """As providers that take listed methods only: the keeper never began, and stopped no vault."""
    world = World("a", "b", node=refusing(code=-32601, message="rpc method is not whitelisted"))
    client = ChainReader(world.rpc, {}).client_version()
    require_allowed(Account.create().address, client, plain_variable=None)
    with pytest.raises(InvalidParameterError, match="accepted on a local chain only"):
        require_allowed(KEEPER.address, client, plain_variable="KEEPER_PRIVATE_KEY")


def test_a_chain_that_is_not_up_yet__is_waited_for() -> None:
    with pytest.raises(RpcUnreachableError):
        ChainReader(World("a", node=unreachable).rpc, {}).client_version()
