"""Every setting of every process with values that can't work: one line that names it, exit 2, no
traceback; or taken as documented.
"""

import json
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from api.main import deps_of
from core.settings import Settings
from core.startup import EXIT_CODE, read_settings, refusals
from indexer.main import CONTRACTS
from indexer.main import build as build_indexer
from indexer.metrics import IndexerMetrics
from keeper.main import Keeper
from keeper.metrics import KeeperMetrics
from tests.slow import few

HOSTILE = {
    "zero": "0",
    "text": "x y",
    "negative": "-1",
    "empty": "",
    "infinite": "inf",
    "nan": "nan",
    "huge": "9" * 400,
    "1e400": "1e400",
}
REQUIRED = {"DATABASE_URL", "RPC_URLS", "DEPLOYMENT_FILE", "KEY_PEPPER"}  # of one process at least
AT_LEAST_ONE = {
    "ROOM_POSTS_PER_HOUR",
    "MINING_SUBMISSIONS_PER_PERSON_PER_DAY",
    "MINING_SUBMISSIONS_PER_ADDRESS_PER_DAY",
    "NOTES_PER_ADDRESS_PER_MINUTE",
    "TOOL_MESSAGES_PER_ADDRESS_PER_MINUTE",
    "OWNER_WRITES_PER_DAY",
}
ZERO_IS_A_NUMBER = {
    name
    for name in map(str.upper, Settings.model_fields)
    if name.endswith(
        ("_PER_DAY", "_PER_MINUTE", "_PER_HOUR", "_PER_PERSON_PER_DAY", "_METRICS_PORT")
    )
    or name.startswith(("DAILY_CEILING", "WELCOME_", "TARGETS_TIER", "REPORTS_TIER", "AGENTS_PER"))
} - AT_LEAST_ONE | {"AUDIT_BLOCKS", "BURSTS_AT_ONCE", "DATABASE_READ_WAIT_MS", "HL_ORDER_USDC"}


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """One in which every process would start, on a local chain and with each of its keys."""
    record = tmp_path / "deployment.json"
    contracts = [{"name": name, "address": "0x" + "11" * 20} for name in CONTRACTS]
    record.write_text(
        json.dumps({"chain_id": 84532, "block": 1, "commit": "c", "contracts": contracts})
    )
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("DATABASE_URL", "postgresql+psycopg://127.0.0.1:1/none")
    monkeypatch.setenv("RPC_URLS", "http://127.0.0.1:1")
    monkeypatch.setenv("DEPLOYMENT_FILE", str(record))
    monkeypatch.setenv("LOG_FORMAT", "json")
    # each client of HTTP makes one, which takes longer than all else here
    context = ssl.create_default_context()
    monkeypatch.setattr(ssl, "create_default_context", lambda *args, **more: context)
    logs = structlog.get_config()
    yield monkeypatch
    structlog.configure(**logs)


def build_api() -> None:
    settings = read_settings()
    with refusals():
        deps_of(settings).database.close()


def start_indexer() -> None:
    settings = read_settings()
    with refusals():
        build_indexer(settings, IndexerMetrics(lambda: 0)).close()


def start_keeper() -> None:
    settings = read_settings()
    with refusals():
        Keeper(settings, KeeperMetrics(lambda: 0)).close()


PROCESSES = {"api": build_api, "indexer": start_indexer, "keeper": start_keeper}


def is_number(variable: str) -> bool:
    return Settings.model_fields[variable.lower()].annotation in (int, float)


def is_documented(process: str, variable: str, kind: str) -> bool:
    """What docs/operations.md says is taken."""
    if kind == "empty":
        return variable not in REQUIRED or (variable == "KEY_PEPPER" and process != "api")
    if is_number(variable):
        return kind == "zero" and variable in ZERO_IS_A_NUMBER
    if variable == "HOST":
        return kind != "text"  # a name is looked up when it is listened on
    if variable == "KEY_PEPPER":
        return process != "api" or kind == "huge"
    return variable == "OPERATOR_KEY" or not is_asked_for(process, variable)


def is_asked_for(process: str, variable: str) -> bool:
    """A key, its file and an account of payments are looked at by the process that needs them; all
    else by each.
    """
    if variable.endswith(
        ("_URL", "_URLS", "_ADDRESS", "_ADDRESSES", "_PAY_TO", "_TOKEN_FILE", "PASSWORD_FILE")
    ):
        return True
    if variable.startswith(("KEEPER_", "CUSTODY_GAS_", "SPONSOR_")):
        return process == "keeper"
    if variable.startswith(("X402_", "GUARD_")):
        return process == "api"
    return process != "indexer" if variable.startswith("CUSTODY_") else True


@pytest.mark.parametrize("kind", few(list(HOSTILE)))
def test_a_number_that_cannot_work__is_refused_in_one_line_by_every_process(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    faults = []
    for variable in filter(is_number, map(str.upper, Settings.model_fields)):
        with environment.context() as changed:
            changed.setenv(variable, HOSTILE[kind])
            faults += fault_of(
                read_settings, capsys, variable, is_documented("any", variable, kind)
            )
    assert faults == [], "\n".join(faults)


@pytest.mark.parametrize("kind", few(["text", "empty", "huge"], plain=1))
@pytest.mark.parametrize("process", PROCESSES)
def test_a_setting_that_cannot_work__is_refused_in_one_line(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], process: str, kind: str
) -> None:
    faults = []
    for variable in (name.upper() for name in Settings.model_fields if not is_number(name.upper())):
        with environment.context() as changed:
            if process == "api":
                changed.setenv("KEY_PEPPER", "p" * 32)
            if variable.startswith("X402_SETTLE") and kind != "empty":
                changed.setenv("X402_PAY_TO", "0x" + "11" * 20)
            changed.setenv(variable, HOSTILE[kind])
            start = PROCESSES[process] if is_asked_for(process, variable) else read_settings
            faults += fault_of(start, capsys, variable, is_documented(process, variable, kind))
    assert faults == [], "\n".join(faults)


def fault_of(
    start: Callable[[], object], capsys: pytest.CaptureFixture[str], variable: str, is_taken: bool
) -> list[str]:
    try:
        start()
    except SystemExit as left:
        said = capsys.readouterr().out
        lines = said.splitlines()
        if len(lines) != 1 or left.code != EXIT_CODE:
            return [f"{variable}: exit {left.code} and {len(lines)} lines: {said[:300]}"]
        is_json = variable != "LOG_FORMAT"
        told = json.loads(lines[0])["error"] if is_json else lines[0]
        if is_taken:
            return [f"{variable}: refused, though it is documented to be taken: {told}"]
        return (
            []
            if variable in told and "configuration refused" in said and "Traceback" not in said
            else [f"{variable}: {said}"]
        )
    except Exception as error:
        return [f"{variable}: {type(error).__name__}: {str(error)[:200]}"]
    capsys.readouterr()
    return [] if is_taken else [f"{variable}: taken"]


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        (
            {"KEEPER_PAUSER_KEYSTORE_PASSWORD_FILE": "/p"},
            "KEEPER_PAUSER_KEYSTORE_PASSWORD_FILE: it means nothing without KEEPER_PAUSER_KEYSTORE",
        ),
        (
            {"GUARD_KEYSTORE_PASSWORD_FILE": "/p"},
            "GUARD_KEYSTORE_PASSWORD_FILE: it means nothing without GUARD_KEYSTORE",
        ),
        (
            {"KEEPER_REMOTE_SIGNER_ADDRESS": "0x" + "11" * 20},
            "KEEPER_REMOTE_SIGNER_ADDRESS: it means nothing without KEEPER_REMOTE_SIGNER_URL",
        ),
        (
            {"KEEPER_STOP_REMOTE_SIGNER_TOKEN_FILE": "/t"},
            "KEEPER_STOP_REMOTE_SIGNER_TOKEN_FILE: it means nothing without",
        ),
        (
            {"KEEPER_PAUSER_PRIVATE_KEY": "11" * 32},
            (
                "KEEPER_PAUSER_*: this key alone can neither mark nor settle; set the "
                "keeper's own key"
            ),
        ),
        (
            {"KEEPER_STOP_PRIVATE_KEY": "11" * 32},
            "KEEPER_STOP_*: this key alone can neither mark nor settle; set the keeper's own key",
        ),
        ({"KEEPER_TICK_S": "20"}, "KEEPER_WATCHDOG_S: write at least twice KEEPER_TICK_S"),
        ({"RPC_ANSWER_S": "50"}, "INDEXER_WATCHDOG_S: write at least three times RPC_ANSWER_S"),
        ({"RPC_URLS": "ftp://x"}, "RPC_URLS: write http(s)://host:port"),
        ({"RPC_URLS": ","}, "RPC_URLS: "),
        (
            {"RPC_REQUESTS_PER_S": "0.5"},
            "RPC_REQUESTS_PER_S: Input should be greater than or equal to 10",
        ),
        ({"LOG_FORMAT": "xml"}, "LOG_FORMAT: Input should be 'console' or 'json'"),
        (
            {"CHAIN_ID": "1"},
            "CHAIN_ID: it is 1, but the record in DEPLOYMENT_FILE is for chain 84532",
        ),
        (
            {"TRUSTED_PROXIES": "10.0.0.0/8,all"},
            "TRUSTED_PROXIES: write an IP address or a network",
        ),
        (
            {"RPC_URLS": "", "KEEPER_TICK_S": "0"},
            "KEEPER_TICK_S: Input should be greater than or equal to 0.05",
        ),
    ],
)
def test_a_refusal__says_what_to_write(
    environment: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    variables: dict[str, str],
    told: str,
) -> None:
    for name, value in variables.items():
        environment.setenv(name, value)
    with pytest.raises(SystemExit) as left:
        start_keeper()
    assert left.value.code == EXIT_CODE
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    "record",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"contracts": 1}',
        '{"contracts": [1]}',
        '{"contracts": [{"name": "factory"}]}',
        "\x00",
    ],
)
def test_a_deployment_file_that_is_none__is_refused_in_one_line(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, record: str
) -> None:
    (tmp_path / "deployment.json").write_text(record)
    faults: list[Any] = fault_of(start_indexer, capsys, "DEPLOYMENT_FILE", is_taken=False)
    assert faults == [], "\n".join(faults)


def test_what_is_refused__is_never_quoted(
    environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    environment.setenv("DATABASE_URL", "mysql://user:secret@host/x")
    environment.setenv("KEEPER_PRIVATE_KEY", "zz" * 32)
    with pytest.raises(SystemExit):
        start_keeper()
    environment.setenv("DATABASE_URL", "postgresql+psycopg://127.0.0.1:1/none")
    with pytest.raises(SystemExit):
        start_keeper()
    said = capsys.readouterr().out
    assert "DATABASE_URL: write postgresql+psycopg://" in said
    assert "KEEPER_PRIVATE_KEY: write 32 bytes as hex" in said
    assert "secret" not in said.replace("secret that", "")
    assert "zzzz" not in said
