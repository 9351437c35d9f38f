"""The wheel as an operator has it: installed beside the pinned packages, and called in an empty folder
with this repository out of reach.
"""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from core.db.revisions import newest

ROOT = Path(__file__).resolve().parents[2]
WITHIN_S = 240
# where compiled modules are kept, so that no process compiles what another has
KEPT = {name: os.environ[name] for name in ("PATH", "PYTHONPYCACHEPREFIX") if name in os.environ}
HELP = {
    "demo": "from signature to withdrawal",
    "up": "until Ctrl-C",
    "api": "Serve HTTP",
    "indexer": "Read the chain",
    "keeper": "stop and settle vaults",
    "worker": "slow jobs",
    "scanner": "market data",
    "migrate": "bring the database to the newest revision",
    "preflight": "--network",
    "check-record": "when any is wrong",
    "rebuild": "--accept",
    "verify-record": "--rpc",
    "deploy": "--account",
    "verify": "--rpc-url",
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty one, beside the environment `venv` that has the package."""
    place = tmp_path_factory.mktemp("package")
    uv = (sys.executable, "-m", "uv")
    for command in (
        (
            *uv,
            "build",
            "--wheel",
            "--offline",
            "--no-build-isolation",
            "--quiet",
            "--python",
            sys.executable,
            "--out-dir",
            str(place),
            str(ROOT),
        ),
        (*uv, "venv", "--quiet", "--python", sys.executable, str(place / "venv")),
    ):
        subprocess.run(command, check=True, timeout=WITHIN_S)
    (wheel,) = place.glob("*.whl")
    python = place / "venv" / "bin" / "python"
    subprocess.run(
        (*uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", str(python), str(wheel)),
        check=True,
        timeout=WITHIN_S,
    )  # fmt: skip
    (site,) = (place / "venv" / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    (place / "empty").mkdir()
    return place / "empty"


def ran(folder: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    done = subprocess.run(
        [str(folder.parent / "venv" / "bin" / "mandate-wallet"), *arguments],
        cwd=folder,
        env={**KEPT, "COLUMNS": "200", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    return done.returncode, done.stdout


def test_every_command__explains_itself(folder: Path) -> None:
    found = {name: ran(folder, name, "--help") for name in HELP}
    assert {
        name: said for name, said in found.items() if said[0] or HELP[name] not in said[1]
    } == {}


def test_a_command_that_needs_the_contracts__says_what_to_do(folder: Path) -> None:
    code, said = ran(folder, "demo")
    assert (code, said.count("\n")) == (1, 1)
    assert said.endswith("clone the repository and run `make demo` there.\n")


def test_preflight__names_the_settings_that_are_missing(folder: Path) -> None:
    code, said = ran(folder, "preflight", "--network", "sepolia")
    assert (code, said.count("\n")) == (2, 1)
    assert all(f"{name}: Field required" in said for name in (
        "DATABASE_URL", "RPC_URLS", "DEPLOYMENT_FILE",
    ))  # fmt: skip


def test_a_process__starts_and_refuses_what_cannot_work(folder: Path) -> None:
    code, said = ran(folder, "api")
    assert code == 2
    assert "RPC_URLS: Field required" in said


def test_migrate__knows_the_newest_revision_and_its_tables(folder: Path, database_url: str) -> None:
    assert ran(folder, "migrate", "upgrade", DATABASE_URL=database_url) == (0, "")
    assert ran(folder, "migrate", "current", DATABASE_URL=database_url) == (0, f"{newest()}\n")
    code, said = ran(folder, "migrate", "check", DATABASE_URL=database_url)
    assert (code, said) == (0, "the tables and the database agree\n")


def test_verify_record__judges_a_file(folder: Path) -> None:
    (folder / "record.ndjson").write_text('{"kind": "nothing"}\n')
    code, said = ran(folder, "verify-record", "record.ndjson", "--rpc", "http://127.0.0.1:9")
    assert code == 1, said


def test_what_the_api_reads_beside_its_code__is_in_the_package(folder: Path) -> None:
    code = (
        "from api.areas.playbooks.service.shelf import shelf;"
        "from api.kernel.console import FOLDER;"
        "from core.chain.abi import ABIS;"
        "print(len(shelf().atoms), (FOLDER / 'index.html').exists(), len(list(ABIS.iterdir())))"
    )
    done = subprocess.run(
        [str(folder.parent / "venv" / "bin" / "python"), "-c", code],
        cwd=folder, env=KEPT, capture_output=True, text=True, check=True, timeout=WITHIN_S,
    )  # fmt: skip
    assert done.stdout == "20 True 14\n"
