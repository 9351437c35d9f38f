"""Settings that are more than a value: the keys that custodial keys are sealed with."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from core.errors import InvalidParameterError
from core.settings import Settings, asked_database_url, asked_log_format
from tests.each import each

ONE, TWO = "11" * 32, "22" * 32


def custody_keys(**settings: Any) -> tuple[bytes, ...]:
    required = {
        "database_url": "postgresql+psycopg://127.0.0.1:1/none",
        "rpc_urls": "http://127.0.0.1:1",
        "deployment_file": "/none.json",
    }
    return Settings(**required, **settings).custody_keys()


def test_custody_keys__none_is_set__is_empty() -> None:
    assert custody_keys() == ()


def test_custody_keys__the_new_one_stands_first() -> None:
    assert custody_keys(custody_key=ONE, custody_old_keys=f"0x{TWO}, {ONE}") == tuple(
        map(bytes.fromhex, (ONE, TWO, ONE))
    )


def test_custody_keys__of_a_file__are_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"{ONE}\n\n0x{TWO}\n")
    assert custody_keys(custody_key_file=file) == (bytes.fromhex(ONE), bytes.fromhex(TWO))


@each(
    ("settings", "variable"),
    [
        ({"custody_key": ONE[:-1]}, "CUSTODY_KEY"),
        ({"custody_key": ONE + "00"}, "CUSTODY_KEY"),
        ({"custody_key": "zz" + ONE[2:]}, "CUSTODY_KEY"),
        ({"custody_key": ONE, "custody_old_keys": "short"}, "CUSTODY_OLD_KEYS"),
        ({"custody_old_keys": ONE}, "CUSTODY_OLD_KEYS"),
        ({"custody_key": ONE, "custody_key_file": "/none"}, "CUSTODY_KEY_FILE"),
        ({"custody_key_file": "/none"}, "CUSTODY_KEY_FILE"),
        ({"custody_key_file": "/dev/null"}, "CUSTODY_KEY_FILE"),
    ],
)
def test_custody_keys__that_cannot_work__name_the_variable_and_no_key(
    settings: dict[str, str], variable: str
) -> None:
    with pytest.raises(InvalidParameterError) as refused:
        custody_keys(**settings)
    assert refused.value.field == variable
    assert "11111111" not in str(refused.value)


def test_a_printed_setting__shows_no_key() -> None:
    settings = Settings(
        database_url="postgresql+psycopg://127.0.0.1:1/none",
        rpc_urls="http://127.0.0.1:1",
        deployment_file=Path("/none"),
        custody_key=ONE,
        custody_old_keys=TWO,  # type: ignore[arg-type]
    )
    assert ONE not in repr(settings)
    assert TWO not in repr(settings)


@each(
    "urls",
    [
        "http://a:1,http://a:1",
        "http://a:1,http://b:1,HTTP://A:1/",
        "https://a/key,https://a:443/key/",
        "http://a,http://A:80",
    ],
)
def test_rpc_urls__one_node_twice__is_refused(urls: str) -> None:
    """Two words of one node once passed for two nodes that agree."""
    with pytest.raises(InvalidParameterError) as refused:
        Settings(
            database_url="postgresql+psycopg://127.0.0.1:1/none",
            rpc_urls=urls,
            deployment_file="/none.json",
        )  # type: ignore[arg-type]
    assert refused.value.field == "RPC_URLS"
    assert "key" not in str(refused.value)


def test_rpc_urls__two_keys_of_one_provider__are_two_nodes() -> None:
    urls = "https://a/one,https://a/two,https://a/two?key=3,http://a/one"
    settings = Settings(
        database_url="postgresql+psycopg://127.0.0.1:1/none",
        rpc_urls=urls,
        deployment_file="/none.json",
    )  # type: ignore[arg-type]
    assert len(settings.rpc_urls) == 4


REQUIRED = {
    "DATABASE_URL": "postgresql+psycopg://127.0.0.1:1/none",
    "RPC_URLS": "http://127.0.0.1:1",
    "DEPLOYMENT_FILE": "/none.json",
}
PAID = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
ACCOUNTS = [
    name
    for name, field in Settings.model_fields.items()
    if name.endswith(("_address", "_addresses", "_pay_to", "_account"))
    and field.annotation is not int
]


def set_(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in (REQUIRED | values).items():
        monkeypatch.setenv(name, value)


@each("around", ["{}", " {}", "{}\r", "{}\r\n", "'{}'", '"{}"', ' "{}" \r'])
def test_what_stands_around_a_setting__is_no_part_of_it(
    monkeypatch: pytest.MonkeyPatch, around: str
) -> None:
    values = REQUIRED | {
        "KEY_PEPPER": "p" * 32,
        "OPERATOR_KEY": "op_local_1",
        "OPERATOR_ADDRESSES": f"{PAID},{PAID.lower()}",
        "LOG_FORMAT": "json",
        "PORT": "8100",
    }
    set_(monkeypatch, **{name: around.format(value) for name, value in values.items()})
    found = Settings()
    assert found.key_pepper.get_secret_value() == "p" * 32
    assert found.operator_key is not None
    assert found.operator_key.get_secret_value() == "op_local_1"
    assert found.operator_addresses == [PAID, PAID]
    assert (found.database_url, found.port) == (values["DATABASE_URL"], 8100)
    assert (asked_database_url(), asked_log_format()) == (values["DATABASE_URL"], "json")


@each("value", ["", " ", "''", ' "" \r'])
def test_a_setting_of_blanks_and_quotes_alone__is_as_one_that_is_not_set(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    set_(monkeypatch, PORT=value, OPERATOR_KEY=value)
    found = Settings()
    assert (found.port, found.operator_key) == (8000, None)


@each("value", ["'secret", 'secret"', "'secret\"", '"', "secret'\r"])
def test_a_quote_at_one_end__is_refused_by_name_and_shows_no_secret(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    set_(monkeypatch, KEY_PEPPER=value, DATABASE_URL=value)
    with pytest.raises(InvalidParameterError) as refused:
        Settings()
    assert refused.value.field in ("KEY_PEPPER", "DATABASE_URL")
    assert "secret" not in str(refused.value)
    assert asked_log_format() == "console"  # which is asked before, and refuses nothing


@each("character", ["\u200b", "\ufeff", "\u2060", "\u202e", "\x1b", "\u201c", "\u2019", "\xab"])
def test_what_copying_leaves_in_a_value__is_refused_by_name_and_shows_no_secret(
    monkeypatch: pytest.MonkeyPatch, character: str
) -> None:
    """Nobody sees it, and keys hashed with it are void once it is typed again."""
    for value in (f"{character}{'secret' * 6}", f"{'secret' * 6}{character}"):
        set_(monkeypatch, KEY_PEPPER=value)
        with pytest.raises(InvalidParameterError) as refused:
            Settings()
        assert refused.value.field == "KEY_PEPPER"
        assert f"U+{ord(character):04X}" in str(refused.value)
        assert "secret" not in str(refused.value)
        set_(monkeypatch, KEY_PEPPER=f'"{value}"')
        assert Settings().key_pepper.get_secret_value() == value


def test_a_quote_inside__and_quotes_in_quotes__are_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for value, kept in (("p'\"p" * 10, "p'\"p" * 10), ("\"'p'\"", "'p'"), ("' p '", " p ")):
        set_(monkeypatch, KEY_PEPPER=value)
        found = Settings()
        assert found.key_pepper.get_secret_value() == kept


def _exchanged(address: str) -> str:
    """Two digits of it in each other's place."""
    return address[:6] + address[7] + address[6] + address[8:]


@each("name", ACCOUNTS)
def test_an_account__is_held_to_its_checksum(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    beside = {name.upper().replace("_ADDRESS", "_URL"): "http://127.0.0.1:1"}
    beside = beside if name.endswith("signer_address") else {}
    for written in (PAID, PAID.lower(), "0x" + PAID[2:].upper()):
        set_(monkeypatch, **beside, **{name.upper(): written})
        assert getattr(Settings(), name) in (PAID, [PAID])  # type: ignore[call-arg]
    for wrong, rule in (
        (_exchanged(PAID), "checksum"),
        (PAID.swapcase().replace("0X", "0x"), "checksum"),
        ("XE7338O073KYGTWWZN0F2WZ0R8PX5ZPPZS", "40 hex characters"),
        (PAID[2:], "40 hex characters"),
        (PAID + "0", "40 hex characters"),
    ):
        set_(monkeypatch, **beside, **{name.upper(): wrong})
        with pytest.raises(ValidationError) as refused:
            Settings()
        [error] = refused.value.errors()
        assert error["loc"][0] == name
        assert rule in error["msg"]


def test_a_trusted_network__is_the_one_around_the_address_that_was_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """uvicorn reads one with bits beyond its mask as a name, which no proxy has."""
    set_(monkeypatch, TRUSTED_PROXIES="172.18.0.1/16, fd00::7/64, 192.0.2.1")
    trusted = Settings().trusted_proxies
    assert trusted == ["172.18.0.0/16", "fd00::/64", "192.0.2.1/32"]
    proxies = ProxyHeadersMiddleware(lambda *_: None, trusted).trusted_hosts
    near = ["172.18.0.5", "172.19.0.5", "fd00::8", "fd00:0:0:1::8", "192.0.2.1", "192.0.2.2"]
    assert [one in proxies for one in near] == [True, False] * 3
