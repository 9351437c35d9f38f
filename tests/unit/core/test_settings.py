"""Settings that are more than a value: the keys that custodial keys are sealed with."""

from pathlib import Path
from typing import Any

import pytest

from core.errors import InvalidParameterError
from core.settings import Settings
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
