"""A clone of the repository, installed by pip where there is no Node, Make or compiler: the console, the
page for emergencies and verify-record work.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from core.db.embedded import EmbeddedPostgres
from scripts._ports import free_port
from tests.integration.chain_fixtures import CHAIN_ID
from tests.integration.client.conftest import Exported
from tests.integration.databases import clone, execute, url_of

ROOT = Path(__file__).resolve().parents[3]
WITHIN_S = 900
ABSENT = ("node", "npm", "make", "solc", "forge", "anvil")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment's programs, which are all that its processes find."""
    place = tmp_path_factory.mktemp("clone")
    programs = place / "venv" / "bin"
    for command in (
        ["git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", str(place / "clone")],
        [sys.executable, "-m", "venv", str(place / "venv")],
    ):
        subprocess.run(command, check=True, timeout=WITHIN_S)
    assert not (place / "clone" / "api" / "client" / "operations.py").exists()
    assert [one for one in ABSENT if shutil.which(one, path=str(programs))] == []
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", str(place / "clone")]
    done = subprocess.run(
        pip, env=alone(programs, os.environ), capture_output=True, text=True, timeout=WITHIN_S
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    return programs


def alone(programs: Path, environment: "os._Environ[str] | dict[str, str]") -> dict[str, str]:
    """The environment, with these programs alone and without what leads to this tree."""
    kept = {name: value for name, value in environment.items() if not name.startswith("PYTHON")}
    return kept | {"PATH": str(programs), "COLUMNS": "200"}


@pytest.fixture
def address(
    installed: Path, exported: Exported, postgres: EmbeddedPostgres, template: str, tmp_path: Path
) -> Iterator[str]:
    """Where the API of the installation answers."""
    chain = exported.deployed
    record = {"chain_id": CHAIN_ID, "block": chain.start_block, "commit": "0" * 40}
    contracts = [{"name": name, "address": at} for name, at in chain.contracts.items()]
    (tmp_path / "deployment.json").write_text(json.dumps(record | {"contracts": contracts}))
    name, port = clone(postgres, template), free_port()
    settings = {
        "DATABASE_URL": url_of(postgres, name),
        "RPC_URLS": chain.anvil.url,
        "DEPLOYMENT_FILE": str(tmp_path / "deployment.json"),
        "KEY_PEPPER": "p" * 32,
        "PORT": str(port),
    }
    with (tmp_path / "log").open("w+") as log:
        api = subprocess.Popen(
            [str(installed / "mandate-wallet"), "api"],
            cwd=tmp_path, env=alone(installed, settings), stdout=log, stderr=log,
        )  # fmt: skip
        try:
            wait_for(f"http://127.0.0.1:{port}/health/live", api, tmp_path / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            api.terminate()
            api.wait(60)
    execute(postgres, "drop database {} with (force)", name)


def wait_for(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    ends = time.monotonic() + WITHIN_S
    while True:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < ends, log.read_text()
        try:
            httpx.get(url, trust_env=False)
        except httpx.HTTPError:
            time.sleep(0.2)
        else:
            return


def test_the_console_and_the_page_for_emergencies__are_served(address: str) -> None:
    page = httpx.get(address, trust_env=False)
    files = re.findall(r'"(/web/[^"]+)"', page.text)
    found = {file: httpx.get(address + file, trust_env=False).status_code for file in files}
    assert len(files) > 3
    assert {file: status for file, status in found.items() if status != 200} == {}
    leave = httpx.get(f"{address}/exit.html", trust_env=False)
    assert leave.content == (ROOT / "api" / "web" / "exit.html").read_bytes()


def test_verify_record__finds_a_true_record_right_and_a_changed_one_wrong(
    installed: Path, exported: Exported, tmp_path: Path
) -> None:
    record = tmp_path / "record.ndjson"
    command = [str(installed / "mandate-wallet"), "verify-record", str(record)]
    command += ["--rpc", exported.deployed.anvil.url]
    command += ["--factory", exported.deployed.contracts["factory"]]
    lines = list(exported.other)
    changed = [line.replace(b"11.000000", b"12.000000") for line in lines]
    assert changed != lines
    found = []
    for text in (lines, changed):
        record.write_bytes(b"".join(text))
        done = subprocess.run(
            command, cwd=tmp_path, env=alone(installed, {}), capture_output=True, timeout=WITHIN_S
        )
        found.append(done.returncode)
    assert found == [0, 1]


def test_the_typed_client__has_the_calls_that_the_build_wrote(installed: Path) -> None:
    code = "from api.client.operations import Areas; print(Areas.__doc__)"
    done = subprocess.run(
        [str(installed / "python"), "-c", code],
        cwd=installed, env=alone(installed, {}), capture_output=True, text=True, timeout=WITHIN_S,
    )  # fmt: skip
    assert done.stdout == "Every area of the service by its name.\n", done.stderr
