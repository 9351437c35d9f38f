"""The command as a stranger has it: the wheel alone, run from another folder, with this repository out of reach."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from scripts.build_client import build
from tests.integration.chain_fixtures import free_port, start_anvil
from tests.integration.client.conftest import Exported

WITHIN_S = 60


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel holds."""
    folder = tmp_path_factory.mktemp("client")
    with zipfile.ZipFile(build(folder / "wheel")) as wheel:
        wheel.extractall(folder / "site")
    return folder / "site"


def run(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(installed), "COLUMNS": "200"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=installed.parent, env=environment, capture_output=True, text=True, timeout=WITHIN_S, check=False)


def verify(installed: Path, record: Path, url: str, *more: str) -> subprocess.CompletedProcess[str]:
    return run(installed, "-m", "api.client.verify.main", str(record), "--rpc", url, *more)


@pytest.fixture
def record(tmp_path: Path, exported: Exported) -> Path:
    path = tmp_path / "record.ndjson"
    path.write_bytes(b"".join(exported.lines))
    return path


def test_the_wheel__brings_its_own_core_and_no_more(installed: Path) -> None:
    code = (
        "import api.client.verify.main as m, core.domain, importlib.util as u;"
        "print(m.__file__, core.domain.__file__, u.find_spec('core.db'))"
    )
    found = run(installed, "-c", code)
    assert found.stdout.split() == [
        str(installed / "api/client/verify/main.py"),
        str(installed / "core/domain/__init__.py"),
        "None",
    ], found.stderr
    assert not (installed / "core/chain/signer.py").exists()
    entry_points = next(installed.glob("*.dist-info")) / "entry_points.txt"
    assert "verify-record = api.client.verify.main:app" in entry_points.read_text()


def test_a_sound_record__is_0(installed: Path, record: Path, exported: Exported) -> None:
    done = verify(installed, record, exported.deployed.anvil.url, "--factory", exported.deployed.contracts["factory"])
    assert (done.returncode, done.stderr) == (0, "")
    assert "sound: every row is proven or listed as a claim" in done.stdout
    assert "claims, which only their author vouches for: 1 rows (6)" in done.stdout


def test_a_difference__is_1_with_its_row_and_name(installed: Path, record: Path, exported: Exported) -> None:
    record.write_bytes(record.read_bytes().replace(b'"spent":"30.000000"', b'"spent":"29.000000"'))
    done = verify(installed, record, exported.deployed.anvil.url, "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["verdict"]) == (1, "different")
    assert told["by_name"] == {"row.payload": 1, "chain.row_hash": 1}
    assert {one["seq"] for one in told["differences"]} == {4}


def test_a_node_that_is_away__is_2_and_never_sound(installed: Path, record: Path) -> None:
    done = verify(installed, record, f"http://127.0.0.1:{free_port()}")
    assert done.returncode == 2
    assert "could not be fully checked" in done.stdout and "sound" not in done.stdout


def test_a_factory_that_is_not_the_trusted_one__is_a_difference(installed: Path, record: Path, exported: Exported) -> None:
    done = verify(installed, record, exported.deployed.anvil.url, "--factory", exported.vault, "--json")
    assert json.loads(done.stdout)["by_name"] == {"terms.factory": 1}


def test_a_head_that_was_kept__is_in_the_record_or_the_past_was_rewritten(installed: Path, record: Path, exported: Exported) -> None:
    row_hash = json.loads(exported.lines[6])["row_hash"]
    url = exported.deployed.anvil.url
    assert verify(installed, record, url, "--head", f"6:{row_hash}").returncode == 0
    assert json.loads(verify(installed, record, url, "--head", f"5:{row_hash}", "--json").stdout)["by_name"] == {"head.kept": 1}


def test_nodes_that_differ__are_told(installed: Path, record: Path, exported: Exported) -> None:
    url, stranger = exported.deployed.anvil.url, start_anvil()
    try:
        told = json.loads(verify(installed, record, url, "--rpc", stranger.url, "--json").stdout)
    finally:
        stranger.stop()
    assert told["by_name"] == {"nodes.differ": 1}
    assert verify(installed, record, url, "--rpc", url).returncode == 0
