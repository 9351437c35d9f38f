"""The compiler's wrapper: the native compiler where there is one, else the npm build, whose output is
kept by content.
"""

import gzip
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
WRAPPER = ROOT / "scripts" / "solc" / "solc-v0.8.30"
COMMIT = "73712a01"
SETTINGS = {"outputSelection": {"*": {"*": ["evm.bytecode.object"]}}}
USER = 'pragma solidity 0.8.30;\nimport {ONE} from "./One.sol";\ncontract User { uint256 public constant MINE = ONE; }\n'
INPUT = {"language": "Solidity", "sources": {"User.sol": {"content": USER}}, "settings": SETTINGS}


def run(base: Path, cache: Path, *arguments: str, **environment: str) -> str:
    given = {"PATH": os.environ["PATH"], "HOME": str(base), "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(
        [str(WRAPPER), *arguments],
        cwd=ROOT,
        env={**given, **environment},
        input=json.dumps(INPUT),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


def compiled(base: Path, cache: Path) -> dict[str, Any]:
    return dict(json.loads(run(base, cache, "--standard-json", "--base-path", str(base))))


def entry_of(cache: Path) -> Path:
    (only,) = (cache / "mandate-wallet" / "solc").iterdir()
    return only


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "One.sol").write_text("uint256 constant ONE = 1;\n")
    return tmp_path


def test_the_same_input__is_compiled_once(base: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = compiled(base, cache)
    assert first["contracts"]["User.sol"]["User"]["evm"]["bytecode"]["object"]
    assert compiled(base, cache) == first

    kept = json.loads(gzip.decompress(entry_of(cache).read_bytes()))
    marked = json.dumps({**kept, "output": '{"from": "the cache"}'}).encode()
    entry_of(cache).write_bytes(gzip.compress(marked))
    assert compiled(base, cache) == {"from": "the cache"}


def test_a_changed_import__is_compiled_again(base: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = compiled(base, cache)
    (base / "One.sol").write_text("uint256 constant ONE = 2;\n")
    assert compiled(base, cache) != first


def test_an_entry_that_was_cut_short__is_compiled_again(base: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = compiled(base, cache)
    entry_of(cache).write_bytes(entry_of(cache).read_bytes()[:100])
    assert compiled(base, cache) == first


def test_a_cache_that_cannot_be_written__does_without(base: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "contracts" in compiled(base, tmp_path / "file")


def test_the_version__is_that_of_the_release(base: Path, tmp_path: Path) -> None:
    assert run(base, tmp_path, "--version").endswith(f"0.8.30+commit.{COMMIT}.Linux.g++\n")


@pytest.mark.parametrize(
    ("version", "is_used"), [(f"0.8.30+commit.{COMMIT}", True), ("0.8.31", False)]
)
def test_a_native_compiler_on_the_path__is_used_when_it_is_the_same_release(
    base: Path, tmp_path: Path, version: str, is_used: bool
) -> None:
    solc = tmp_path / "bin" / "solc"
    solc.parent.mkdir()
    solc.write_text(f"#!/bin/sh\necho native {version}\n")
    solc.chmod(0o755)
    path = f"{solc.parent}{os.pathsep}{os.environ['PATH']}"
    assert ("native" in run(base, tmp_path, "--version", PATH=path)) is is_used
