"""The command as a stranger has it: the wheel alone, run from another folder, with this repository
out of reach.
"""

import ast
import json
import os
import shlex
import subprocess
import sys
from importlib.metadata import Distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from typer.testing import CliRunner

from api.client.verify.main import app
from scripts._ports import free_port
from scripts.build_client import build
from tests.integration.chain_fixtures import start_anvil
from tests.integration.client.conftest import Exported

WITHIN_S = 60


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where the wheel is installed: its package, and its command in bin."""
    folder = tmp_path_factory.mktemp("client")
    wheel, site = build(folder / "wheel"), folder / "site"
    command = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "install",
        "--quiet",
        "--offline",
        "--no-deps",
        "--target",
        str(site),
        str(wheel),
    ]
    subprocess.run(command, check=True, timeout=WITHIN_S)
    return site


def run(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(installed), "COLUMNS": "200"}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command,
        cwd=installed.parent,
        env=environment,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )


def verify(installed: Path, record: Path, url: str, *more: str) -> subprocess.CompletedProcess[str]:
    return run(
        installed, str(installed / "bin" / "verify-record"), str(record), "--rpc", url, *more
    )


def factory_of(exported: Exported) -> tuple[str, str]:
    return "--factory", exported.deployed.contracts["factory"]


@pytest.fixture
def record(tmp_path: Path, exported: Exported) -> Path:
    path = tmp_path / "record.ndjson"
    path.write_bytes(b"".join(exported.other))
    return path


def test_the_wheel__is_one_package_with_its_own_part_of_core_and_no_more(installed: Path) -> None:
    assert sorted(
        path.name for path in installed.iterdir() if path.is_dir() and path.suffix != ".dist-info"
    ) == ["bin", "mandate_wallet"]
    assert not (installed / "mandate_wallet/core/chain/signer.py").exists()
    assert not (installed / "mandate_wallet/core/db").exists()


@pytest.mark.slow
def test_every_module_of_the_wheel__imports_without_the_repository(installed: Path) -> None:
    code = (
        "import importlib, pkgutil, sys, mandate_wallet as m;names = [one.name for one in "
        "pkgutil.walk_packages(m.__path__, 'mandate_wallet.')];[importlib.import_module(name) "
        "for name in names if '.examples.' not in name];print(len(names) > 50, "
        "sorted({name.split('.')[0] for name in sys.modules} & {'api', 'core', 'sqlalchemy', "
        "'fastapi'}))"
    )
    found = run(installed, "-W", "ignore", "-c", code)
    assert (found.stdout.strip(), found.returncode) == ("True []", 0), found.stderr


@pytest.mark.slow
def test_every_package_that_the_wheel_imports__is_one_that_it_requires(installed: Path) -> None:
    (info,) = installed.glob("mandate_wallet_client-*.dist-info")
    required = {
        canonicalize_name(Requirement(one).name) for one in Distribution.at(info).requires or ()
    }
    imported = {
        name.partition(".")[0]
        for file in (installed / "mandate_wallet").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        for name in imported_by(node)
    } - {*sys.stdlib_module_names, "mandate_wallet"}
    owners = packages_distributions()
    unnamed = {
        name
        for name in imported
        if not required & {canonicalize_name(owner) for owner in owners.get(name, ())}
    }
    assert (unnamed, len(imported) > 5) == (set(), True)


def imported_by(node: ast.AST) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""] if node.level == 0 else []
    return [one.name for one in node.names] if isinstance(node, ast.Import) else []


@pytest.mark.slow
def test_the_typed_client__calls_a_service_from_the_wheel(installed: Path) -> None:
    code = (
        "from mandate_wallet import Client, Unreachable\n"
        "try:\n    Client('http://127.0.0.1:9', key='k').mandates.list()\n"
        "except Unreachable as error:\n    print(type(error).__module__)"
    )
    found = run(installed, "-c", code)
    assert found.stdout.strip() == "mandate_wallet.refusal", found.stderr


def test_a_sound_record__is_0(installed: Path, record: Path, exported: Exported) -> None:
    done = verify(installed, record, exported.deployed.anvil.url, *factory_of(exported))
    assert (done.returncode, done.stderr) == (0, "")
    assert "chain rows sound, 1 claim, the service's word" in done.stdout
    assert "claims, the service's word: rows 6" in done.stdout


@pytest.mark.slow
def test_what_the_record_is_about__is_printed_first(
    installed: Path, record: Path, exported: Exported
) -> None:
    done = verify(installed, record, exported.deployed.anvil.url, *factory_of(exported))
    names = [line.split()[0] for line in done.stdout.splitlines()[:9]]
    assert names == [
        "chain",
        "mandate",
        "owner",
        "agent",
        "vault",
        "factory",
        "as_of_block",
        "as_of_hash",
        "as_of_age_s",
    ]
    assert exported.other_vault in done.stdout


@pytest.mark.slow
def test_claims__are_3_under_strict(installed: Path, record: Path, exported: Exported) -> None:
    url = exported.deployed.anvil.url
    assert verify(installed, record, url, *factory_of(exported), "--strict").returncode == 3


@pytest.mark.slow
def test_a_factory_that_nobody_named__is_2_however_much_it_says(
    installed: Path, record: Path, exported: Exported
) -> None:
    done = verify(installed, record, exported.deployed.anvil.url)
    assert done.returncode == 2
    assert "name the published one with --factory" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "value", "name"),
    [
        ("--mandate", "m_somethingelse", "subject.mandate"),
        ("--owner", "0x" + "11" * 20, "subject.owner"),
        ("--as-of", "1", "head.block"),
    ],
)
def test_a_record_of_something_else_than_was_named__is_a_difference(
    installed: Path, record: Path, exported: Exported, option: str, value: str, name: str
) -> None:
    url = exported.deployed.anvil.url
    done = verify(installed, record, url, *factory_of(exported), option, value, "--json")
    assert (done.returncode, json.loads(done.stdout)["by_name"]) == (1, {name: 1})


@pytest.mark.slow
def test_text_that_would_move_the_cursor__is_shown_as_what_it_is(
    installed: Path, record: Path, exported: Exported
) -> None:
    evil = "\u202e\u001b[2J\u2028"
    record.write_bytes(
        record.read_bytes().replace(b"m_othermand2", json.dumps(evil)[1:-1].encode())
    )
    done = verify(installed, record, exported.deployed.anvil.url, *factory_of(exported))
    assert done.returncode == 1
    assert not set(evil) - {"[", "2", "J"} & set(done.stdout)
    assert "\\u202e" in done.stdout


def test_a_difference__is_1_with_its_row_and_name(
    installed: Path, record: Path, exported: Exported
) -> None:
    record.write_bytes(record.read_bytes().replace(b'"spent":"11.000000"', b'"spent":"10.000000"'))
    done = verify(installed, record, exported.deployed.anvil.url, *factory_of(exported), "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["verdict"]) == (1, "different")
    assert told["by_name"] == {"row.payload": 1, "chain.row_hash": 1}
    assert {one["seq"] for one in told["differences"]} == {4}


@pytest.mark.slow
def test_a_node_that_is_away__is_2_and_never_sound(installed: Path, record: Path) -> None:
    done = verify(installed, record, f"http://127.0.0.1:{free_port()}")
    assert done.returncode == 2
    assert "could not be fully checked" in done.stdout and "sound" not in done.stdout


@pytest.mark.slow
def test_a_factory_that_is_not_the_trusted_one__is_a_difference(
    installed: Path, record: Path, exported: Exported
) -> None:
    done = verify(
        installed, record, exported.deployed.anvil.url, "--factory", exported.vault, "--json"
    )
    assert json.loads(done.stdout)["by_name"] == {"terms.factory": 1}


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--factory", "--x402-adapter"])
def test_a_trusted_address_that_is_none__is_refused_before_anything_is_asked(
    installed: Path, record: Path, option: str
) -> None:
    done = verify(installed, record, "http://127.0.0.1:9", option, "0x12")
    assert done.returncode == 2
    assert "write an address: 0x and 40 hex characters" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--json",)])
@pytest.mark.parametrize("where", ["a full disk", "a closed pipe"])
def test_result_that_cannot_be_written__is_no_difference(
    installed: Path, record: Path, exported: Exported, where: str, more: tuple[str, ...]
) -> None:
    """Before, exit code 1 for a sound record."""
    url, trusted = exported.deployed.anvil.url, factory_of(exported)
    to = "> /dev/full" if where == "a full disk" else "| true"
    command = [sys.executable, str(installed / "bin" / "verify-record"), str(record)]
    line = shlex.join([*command, "--rpc", url, *trusted, *more])
    done = run(
        installed,
        "-c",
        f"import subprocess, sys; sys.exit(subprocess.call(['bash', '-c', {f'{line} {to}; exit ${{PIPESTATUS[0]}}'!r}]))",
    )
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)


@pytest.mark.slow
def test_nodes_that_differ__are_told(installed: Path, record: Path, exported: Exported) -> None:
    url, stranger = exported.deployed.anvil.url, start_anvil()
    try:
        done = verify(
            installed, record, url, "--rpc", stranger.url, *factory_of(exported), "--json"
        )
    finally:
        stranger.stop()
    assert done.returncode == 1
    assert "nodes.differ" in json.loads(done.stdout)["by_name"]


def test_a_node_that_is_named_twice__is_refused(record: Path, exported: Exported) -> None:
    url = exported.deployed.anvil.url
    options = [str(record), "--rpc", url, *factory_of(exported), "--rpc", url]
    done = CliRunner().invoke(app, options, env={"COLUMNS": "200", "TERM": "dumb"})
    assert (done.exit_code, "name each node once" in done.output) == (2, True)
