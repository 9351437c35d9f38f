"""`mandate-wallet`: what each command starts, and what those say that need a checkout."""

import os
import runpy
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import NoReturn

import click
import pytest
from typer.testing import CliRunner

from scripts import cli

COMMANDS = (
    "demo", "up", "api", "indexer", "keeper", "worker", "scanner", "migrate", "preflight",
    "check-record", "rebuild", "verify-record", "deploy", "verify",
)  # fmt: skip
DEPLOY = ("deploy", "--network", "sepolia", "--rpc-url", "http://127.0.0.1:9")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Programs are not started in place of this process: what they would be is noted."""
    programs: list[str] = []

    def start(_: str, arguments: list[str]) -> NoReturn:
        programs.append(" ".join(arguments))
        sys.exit(0)

    monkeypatch.setattr(os, "execv", start)
    monkeypatch.setattr(os, "execvp", start)
    monkeypatch.setattr(os, "chdir", lambda _: None)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    return programs


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that a command of the installed package is called in, with no checkout about."""
    monkeypatch.setattr(cli, "ROOT", tmp_path / "site-packages")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli.app, arguments)
    return done.exit_code, click.unstyle(done.output) + str(done.exception or "")


def test_help__lists_every_command() -> None:
    _, output = ran("--help")
    assert [name for name in COMMANDS if f" {name} " not in output] == []


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("api", ["api.main"]),
        ("indexer", ["indexer.main", "run"]),
        ("keeper", ["keeper.main", "run"]),
        ("worker", ["api.worker"]),
        ("scanner", ["indexer.main", "scan"]),
    ],
)
def test_a_process__is_started_by_its_name(
    command: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[list[str]] = []
    monkeypatch.setattr(sys, "argv", ["mandate-wallet"])
    monkeypatch.setattr(runpy, "run_module", lambda *_, **__: begun.append(list(sys.argv)))
    assert ran(command)[0] == 0
    assert begun == [arguments]


def test_a_command_of_a_process__has_its_own_help() -> None:
    code, output = ran("keeper", "status", "--help")
    assert code == 0
    assert "What the keeper last saw of each vault" in output


@pytest.mark.parametrize("command", [("demo",), ("up",), DEPLOY, ("verify", *DEPLOY[1:])])
def test_without_a_checkout__a_sentence_says_what_to_do(
    command: tuple[str, ...], packaged: Path, started: list[str]
) -> None:
    code, output = ran(*command)
    assert (code, started) == (1, [])
    assert f"clone the repository and run `make {command[0]}` there" in output


def test_the_package_in_a_checkout__hands_over_to_make(packaged: Path, started: list[str]) -> None:
    (packaged / "ape-config.yaml").touch()
    assert ran(*DEPLOY, "--account", "payer")[0] == 0
    assert started == [f"make --directory {packaged} deploy"]
    assert [os.environ[name] for name in ("NETWORK", "RPC_URL", "ACCOUNT")] == [
        "sepolia", "http://127.0.0.1:9", "payer",
    ]  # fmt: skip


def test_a_checkout_whose_environment_lacks_ape__hands_over_to_make(
    monkeypatch: pytest.MonkeyPatch, started: list[str]
) -> None:
    find: Callable[[str], object] = lambda _: None  # noqa: E731
    monkeypatch.setattr(cli, "find_spec", find)
    assert ran("up")[0] == 0
    assert started == [f"make --directory {cli.ROOT} up"]


def test_deploy__runs_ape_on_the_network(started: list[str]) -> None:
    assert ran(*DEPLOY, "--account", "payer")[0] == 0
    (program,) = started
    assert program.endswith("/ape run deploy --network base:sepolia:node --account payer")


def test_a_network_that_is_not_configured__is_a_sentence(started: list[str]) -> None:
    code, output = ran("verify", "--network", "nowhere", "--rpc-url", "http://127.0.0.1:9")
    assert (code, started) == (2, [])
    assert "use one of devnet, sepolia" in output


def test_version__is_that_of_the_package() -> None:
    assert ran("--version") == (0, f"mandate-wallet {metadata.version('mandate-wallet')}\n")
