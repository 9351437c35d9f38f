"""Which keys may sign where."""

import pytest
from eth_account import Account

from core.errors import InvalidParameterError
from core.public_accounts import PUBLIC_ACCOUNTS
from keeper.signers import require_allowed, require_gas_key
from keeper.state import Role
from tests.personas import KEEPER, STRANGER

PHRASE = "test test test test test test test test test test test junk"
OWN = "0x000000000000000000000000000000000000dEaD"
PUBLIC = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"


def test_public_accounts__are_the_ten_of_the_test_phrase() -> None:
    Account.enable_unaudited_hdwallet_features()
    paths = [f"m/44'/60'/0'/0/{n}" for n in range(10)]
    assert {
        Account.from_mnemonic(PHRASE, account_path=path).address for path in paths
    } == PUBLIC_ACCOUNTS


def test_require_allowed__local_chain__takes_every_key() -> None:
    require_allowed(PUBLIC, "anvil/v1.7.1", plain_variable="KEEPER_PRIVATE_KEY")


@pytest.mark.parametrize("role", ["KEEPER", "KEEPER_STOP"])
def test_require_allowed__plain_key_elsewhere__is_refused(role: str) -> None:
    with pytest.raises(
        InvalidParameterError,
        match=f"{role}_PRIVATE_KEY: accepted on a local chain only; use {role}_KEYSTORE",
    ):
        require_allowed(OWN, "op-geth/v1.101", plain_variable=f"{role}_PRIVATE_KEY")


def test_require_allowed__public_account_in_a_keystore_elsewhere__is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="public test account"):
        require_allowed(PUBLIC, "op-geth/v1.101", plain_variable=None)


def test_require_allowed__own_keystore_elsewhere__is_taken() -> None:
    require_allowed(OWN, "op-geth/v1.101", plain_variable=None)


def test_require_gas_key__keys_without_one__is_refused() -> None:
    with pytest.raises(
        InvalidParameterError, match="set CUSTODY_GAS_KEYSTORE or CUSTODY_GAS_REMOTE_SIGNER_URL"
    ):
        require_gas_key({Role.KEEPER: KEEPER.signer})


def test_require_gas_key__one_or_a_dry_run__is_taken() -> None:
    require_gas_key({Role.KEEPER: KEEPER.signer, Role.CUSTODY: STRANGER.signer})
    require_gas_key({})
