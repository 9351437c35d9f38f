"""What the process refuses to start with, and what it says."""

import json
import sys
from pathlib import Path

import pytest
from pydantic import SecretStr

from api.main import KEEP_ALIVE_S, admit_operator, deps_of, main
from api.shared.signers import OwnSigners
from core.custody.keys import KeyMaker, version_of
from core.errors import InvalidParameterError
from core.limits import CallerLimits
from core.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    record = tmp_path / "deployment.json"
    contracts = [{"name": "vault_lens", "address": "0x" + "11" * 20}]
    record.write_text(
        json.dumps({"chain_id": 84532, "block": 1, "commit": "c", "contracts": contracts})
    )
    return Settings(
        database_url="postgresql+psycopg://127.0.0.1:1/none",
        rpc_urls=["http://127.0.0.1:8545"],
        deployment_file=record,
        key_pepper=SecretStr("p" * 32),
        base_url="https://wallet.example/",
    )


def test_settings__become_the_parts(settings: Settings) -> None:
    deps = deps_of(settings)
    assert (deps.base_url, deps.chain_id, deps.limits.daily_ceiling) == (
        "https://wallet.example",
        84532,
        2_000,
    )


def test_a_deployment_from_before_the_lens__is_refused_with_how_to_add_it(
    settings: Settings,
) -> None:
    record = settings.deployment_file
    record.write_text(json.dumps({**json.loads(record.read_text()), "contracts": []}))
    with pytest.raises(InvalidParameterError, match="names no vault_lens; run `make deploy`"):
        deps_of(settings)


def test_every_limit__is_the_one_that_is_set(settings: Settings) -> None:
    wallets = ("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",)
    others = dict.fromkeys(CallerLimits.model_fields, 25) | {
        "agent_bearer_hours": 2,
        "shared_funders": wallets,
    }
    assert (
        deps_of(settings.model_copy(update=others)).limits.model_dump(include=others.keys())
        == others
    )


def test_a_custody_key__turns_starter_wallets_on(settings: Settings) -> None:
    assert deps_of(settings).parts.find(KeyMaker) is None
    made = deps_of(
        settings.model_copy(
            update={"custody_key": SecretStr("11" * 32), "custodial_transfers_per_day": 3}
        )
    )
    assert made.parts.of(KeyMaker).new_key(7).key_version == version_of(b"\x11" * 32)
    assert made.limits.custodial_transfers_per_day == 3


@pytest.mark.parametrize("pepper", ["", "p" * 31])
def test_a_short_pepper__is_refused_with_how_to_make_one(settings: Settings, pepper: str) -> None:
    with pytest.raises(
        InvalidParameterError,
        match=r"KEY_PEPPER: set a secret of at least 32 characters \(`openssl rand -hex 32`\)",
    ):
        deps_of(settings.model_copy(update={"key_pepper": SecretStr(pepper)}))


def test_a_deployment_on_another_chain__is_refused(settings: Settings) -> None:
    with pytest.raises(
        InvalidParameterError,
        match="CHAIN_ID: it is 1, but the record in DEPLOYMENT_FILE is for chain 84532",
    ):
        deps_of(settings.model_copy(update={"chain_id": 1}))


def test_an_operator_key_off_a_local_chain__is_refused(settings: Settings) -> None:
    public = settings.model_copy(
        update={"operator_key": SecretStr("k"), "rpc_urls": ["https://sepolia.base.org"]}
    )
    with pytest.raises(InvalidParameterError, match="OPERATOR_KEY: it is for a local chain only"):
        admit_operator(public, deps_of(public))


def test_a_guards_key__signs_payments_of_vaults(settings: Settings) -> None:
    assert deps_of(settings).parts.of(OwnSigners).guard is None
    with_key = settings.model_copy(update={"guard_private_key": SecretStr("0x" + "11" * 32)})
    guard = deps_of(with_key).parts.of(OwnSigners).guard
    assert guard is not None
    assert guard.address == "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A"


def test_a_guards_key_off_a_local_chain__is_refused(settings: Settings) -> None:
    public = settings.model_copy(
        update={
            "guard_private_key": SecretStr("0x" + "11" * 32),
            "rpc_urls": ["https://sepolia.base.org"],
        }
    )
    with pytest.raises(
        InvalidParameterError,
        match="GUARD_PRIVATE_KEY: it is for a local chain only; use GUARD_KEYSTORE",
    ):
        deps_of(public)


def test_a_guards_keystore__needs_its_password_file_and_must_open(
    settings: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "guard.json"
    alone = settings.model_copy(update={"guard_keystore": file})
    with pytest.raises(
        InvalidParameterError, match="set GUARD_KEYSTORE and GUARD_KEYSTORE_PASSWORD_FILE both"
    ):
        deps_of(alone)
    with pytest.raises(
        InvalidParameterError, match=r"GUARD_KEYSTORE: .* can't be opened \(FileNotFoundError\)"
    ):
        deps_of(alone.model_copy(update={"guard_keystore_password_file": file}))
    file.write_text("{}")  # JSON, and no keystore
    with pytest.raises(
        InvalidParameterError, match=r"GUARD_KEYSTORE: .* can't be opened \(KeyError"
    ):
        deps_of(alone.model_copy(update={"guard_keystore_password_file": file}))


def test_help__says_where_settings_come_from(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["api.main", "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert "settings come from the environment" in " ".join(capsys.readouterr().out.split())


def test_the_time_of_an_idle_connection__is_the_documented_one() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "operations.md"
    assert f"| an idle connection | {KEEP_ALIVE_S} s | closed |" in page.read_text()
