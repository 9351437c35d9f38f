"""The image, the compose file and the systemd units start the processes that there are, and with no
more rights than they need.
"""

import configparser
import importlib
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.catalogue import catalogue
from core.settings import Settings
from scripts.devstack import NICE

ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
IMAGE = (ROOT / "Containerfile").read_text()
PROXY = (ROOT / "docs" / "operations" / "haproxy.cfg").read_text()
UNITS = sorted((ROOT / "docs" / "operations" / "systemd").glob("*.service"))
PROCESSES = ("api", "indexer", "keeper", "scanner", "worker")
WITH_KEYS = ("api", "keeper")
PINNED = re.compile(r"^([a-z0-9._-]+)(?:\[[a-z,]+\])?==(\S+)", re.MULTILINE)


def pinned(file: str) -> dict[str, str]:
    return dict(PINNED.findall((ROOT / file).read_text()))


def unit_of(file: Path) -> configparser.ConfigParser:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]  # as documented
    unit.read_string(file.read_text())
    return unit


def name_of(file: Path) -> str:
    """Of the process that the unit starts."""
    return file.stem.removeprefix("mandate-").removesuffix("@")


def require_exists(command: list[str]) -> None:
    """`python -m module [command]`, of a module and a command of it."""
    assert command[1] == "-m"
    module = importlib.import_module(command[2])
    if len(command) > 3:
        known = [one.name or one.callback.__name__ for one in module.app.registered_commands]
        assert command[3] in known


def test_the_packages_of_the_image__are_those_of_the_tests_without_what_only_builds_and_tests() -> (
    None
):
    run, every = pinned("requirements-run.lock"), pinned("requirements.lock")
    assert run.items() <= every.items()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = {re.split(r"[\[<>=]", one)[0] for one in project["project"]["dependencies"]}
    assert wanted <= run.keys()
    assert run.keys() & {"eth-ape", "pytest", "ruff", "mypy"} == set()
    assert "://" not in (ROOT / "requirements-run.lock").read_text()


def test_the_image__runs_as_nobody_and_copies_all_that_the_processes_import() -> None:
    assert re.search(r"^USER 10001:10001$", IMAGE, re.MULTILINE)
    copied = set(re.findall(r"^COPY (\S+) \S+$", IMAGE, re.MULTILINE))
    assert copied >= {"core", "indexer", "keeper", "api", "scripts"}
    ignored = (ROOT / ".containerignore").read_text().split()
    taken = {one.removeprefix("!").removesuffix("/*.py") for one in ignored if one.startswith("!")}
    assert copied <= taken


@pytest.mark.parametrize("name", PROCESSES)
def test_a_service__starts_a_process_that_there_is__and_writes_nothing(name: str) -> None:
    service = COMPOSE["services"][name]
    require_exists(service["command"])
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    targets = {volume["target"] for volume in service["volumes"]}
    assert targets == ({"/record.json", "/keys"} if name in WITH_KEYS else {"/record.json"})
    assert all(volume["read_only"] for volume in service["volumes"])
    # a file that is missing is said, and not made as an empty folder
    assert not any(volume["bind"]["create_host_path"] for volume in service["volumes"])


def test_no_command__has_a_secret_in_its_arguments() -> None:
    for service in COMPOSE["services"].values():
        assert "URL" not in " ".join(map(str, service.get("command", ())))
        assert "PASSWORD" not in " ".join(map(str, service.get("command", ())))


def test_the_services__are_the_processes_a_database_and_its_migrations() -> None:
    assert set(COMPOSE["services"]) == {*PROCESSES, "api-2", "proxy", "database", "migrations"}
    assert [name_of(file) for file in UNITS] == sorted(PROCESSES)


def test_only_the_proxy_is_reached_from_outside__and_the_api_believes_it_alone() -> None:
    services = COMPOSE["services"]
    assert [name for name, one in services.items() if "ports" in one] == ["proxy"]
    assert services["api"] == services["api-2"]
    its_address = services["proxy"]["networks"]["front"]["ipv4_address"]
    assert services["api"]["environment"]["TRUSTED_PROXIES"] == its_address
    places = {services["proxy"]["environment"][name] for name in ("API_1", "API_2")}
    assert places == {"api:8000", "api-2:8000"}
    mounted = [one["source"] for one in services["proxy"]["volumes"]]
    assert [(ROOT / one).exists() for one in mounted] == [True]


def test_what_compose_sets__is_read_by_what_it_starts() -> None:
    """A name that nothing reads would be left as it is, in silence."""
    settings = {name.upper() for name in Settings.model_fields}
    for name in PROCESSES:
        assert COMPOSE["services"][name]["environment"].keys() <= settings, name
    of_proxy = set(re.findall(r'"\$\{?([A-Z_0-9]+)|defined\(([A-Z_]+)\)', PROXY))
    read = {one for pair in of_proxy for one in pair if one}
    assert read == {"API_1", "API_2", "CERTIFICATE", "LISTEN", "RUN_AS"}
    assert COMPOSE["services"]["proxy"]["environment"].keys() <= read


def test_the_proxy__asks_a_route_that_there_is_whether_a_process_lives() -> None:
    (asked,) = re.findall(r"httpchk (GET) (\S+)", PROXY)
    assert asked in {(one.method, one.path) for one in catalogue().operations}


def test_the_image__sets_what_is_read_and_serves_at_the_port_that_the_proxy_calls() -> None:
    (variables,) = re.findall(r"^ENV (.*)$", IMAGE, re.MULTILINE)
    names = {one.partition("=")[0] for one in variables.split()}
    of_python = {"MALLOC_ARENA_MAX", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}
    assert names - of_python <= {name.upper() for name in Settings.model_fields}
    (port,) = re.findall(r"^EXPOSE (\d+)$", IMAGE, re.MULTILINE)
    assert int(port) == Settings.model_fields["port"].default
    assert COMPOSE["services"]["proxy"]["environment"]["API_1"] == f"api:{port}"


@pytest.mark.parametrize("file", UNITS, ids=lambda file: str(file.stem))
def test_a_unit__starts_the_process_of_the_service_with_its_name(file: Path) -> None:
    service = unit_of(file)["Service"]
    name = name_of(file)
    started = service["ExecStart"].split()
    command = started[started.index("/opt/mandate/.venv/bin/python") :]
    require_exists(command)
    assert command[1:] == COMPOSE["services"][name]["command"][1:]
    assert (service["User"], service["NoNewPrivileges"], service["ProtectSystem"]) == (
        "mandate", "true", "strict",
    )  # fmt: skip
    keys = "ReadOnlyPaths" if name in WITH_KEYS else "InaccessiblePaths"
    assert service[keys].endswith("/etc/mandate/keys")


def test_slow_jobs__give_way_to_what_somebody_waits_for() -> None:
    nice = {name_of(file): unit_of(file)["Service"].get("Nice") for file in UNITS}
    assert {name for name, value in nice.items() if value is not None} == NICE.keys()
    assert all(nice[name] == str(value) for name, value in NICE.items())
    shares = {name: COMPOSE["services"][name].get("cpu_shares") for name in PROCESSES}
    assert {name for name, value in shares.items() if value is not None} == NICE.keys()


@pytest.mark.parametrize("file", UNITS, ids=lambda file: str(file.stem))
def test_a_unit__is_shut_off_from_what_its_process_never_needs(file: Path) -> None:
    """What `systemd-analyze security` asks of a process that talks to Postgres and to nodes."""
    service = unit_of(file)["Service"]
    shut = {name for name, value in service.items() if value in ("true", "strict", "invisible", "")}
    assert shut >= {
        "CapabilityBoundingSet", "LockPersonality", "NoNewPrivileges", "PrivateDevices", "PrivateTmp",
        "PrivateUsers", "ProtectClock", "ProtectControlGroups", "ProtectHome", "ProtectHostname",
        "ProtectKernelLogs", "ProtectKernelModules", "ProtectKernelTunables", "ProtectProc",
        "ProtectSystem", "RemoveIPC", "RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID",
    }  # fmt: skip
    assert (service["SystemCallFilter"], service["UMask"]) == ("@system-service", "0077")
    # a folder that is not there is no reason not to start
    assert service.get("ReadOnlyPaths", service.get("InaccessiblePaths")) == "-/etc/mandate/keys"
