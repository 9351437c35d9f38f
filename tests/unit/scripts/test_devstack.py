"""How the local stack waits: not for a time, but for as long as its processes live."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scripts import devstack
from scripts._accounts import personas
from scripts._ports import Ports
from scripts._processes import StackError, run_shown
from scripts.devstack import Stack


@dataclass
class Time:
    """A clock that only sleeping moves."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    clock = Time()
    monkeypatch.setattr(devstack, "time", clock)
    return clock


def stack_of(tmp_path: Path, said: list[str], **children: Any) -> Stack:
    return Stack(tmp_path, Ports(api=1, rpc=2), say=said.append, children=children)


def process(*, is_alive: bool) -> Any:
    return SimpleNamespace(
        is_running=lambda: is_alive, last_lines=lambda: "no space left on device"
    )


def test_waiting__goes_on_while_every_process_lives__and_says_what_for(
    tmp_path: Path, time: Time
) -> None:
    """After 60 s it gave up on a slow machine, with everything alive and under way."""
    said: list[str] = []
    stack_of(tmp_path, said, api=process(is_alive=True)).wait_for(
        lambda: None if time.now > 600 else "indexer (It never ran)"
    )
    assert said[0] == "waiting    5 s for indexer (It never ran)"
    assert time.now > 600


def test_waiting__ends_with_the_last_words_of_a_process_that_ends(
    tmp_path: Path, time: Time
) -> None:
    stack = stack_of(tmp_path, [], chain=process(is_alive=True), keeper=process(is_alive=False))
    with pytest.raises(
        StackError, match=("keeper ended at start; its last output:\nno space left on device")
    ):
        stack.wait_for(lambda: "the API to answer")


def test_a_stack_that_is_ready__says_in_five_lines_what_runs_where_and_what_to_open(
    tmp_path: Path,
) -> None:
    running = {name: process(is_alive=True) for name in ("chain", "indexer", "keeper", "api")}
    stack = stack_of(tmp_path, [], **running)
    stack.facts = {
        "contracts": {"factory": "0xfac"},
        "indexer_metrics_url": "http://127.0.0.1:41/metrics",
        "keeper_metrics_url": "http://127.0.0.1:42/metrics",
    }
    logs, facts = tmp_path / "logs", tmp_path / "stack.json"
    assert stack.summary(12.34) == (
        "open       http://127.0.0.1:1 in a browser and press Try it; its API: http://127.0.0.1:1/docs",
        "chain      anvil at http://127.0.0.1:2, id 84532; factory 0xfac",
        "database   Postgres, DATABASE_URL's",
        f"processes  indexer (metrics on port 41), keeper (metrics on port 42), api; logs in {logs}",
        f"ready      after 12.3 s; addresses and keys in {facts}; Ctrl-C stops everything",
    )


def test_a_command__is_shown_line_by_line_and_keeps_what_it_said() -> None:
    shown: list[str] = []
    script = "import sys; print('compiling'); print('no compiler', file=sys.stderr); sys.exit(3)"
    done = run_shown([sys.executable, "-u", "-c", script], {}, shown.append)
    assert (done.returncode, done.stdout, shown) == (
        3,
        "compiling\nno compiler\n",
        ["compiling", "no compiler"],
    )


ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("given", ["a", "0", "65536", "-1", "8000.0"])
def test_a_port_that_is_none__is_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("PORT", given)
    with pytest.raises(StackError, match=f"PORT is '{given}': give a number from 1 to 65535"):
        Ports.from_environment()


def disk_with(monkeypatch: pytest.MonkeyPatch, free_mb: int) -> None:
    monkeypatch.setattr(
        devstack.shutil, "disk_usage", lambda _: SimpleNamespace(free=free_mb << 20)
    )


def test_a_disk_without_room__is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    disk_with(monkeypatch, devstack.NEEDED_MB - 1)
    with (
        pytest.raises(StackError, match="the disk is nearly full: 499 MB are free in"),
        stack_of(tmp_path, []),
    ):
        pass


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [("ANVIL", "anvil is not installed; run `make setup`"), ("APE", "Ape, which deploys")],
)
def test_a_group_of_packages_that_is_not_installed__says_what_to_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: str, sentence: str
) -> None:
    disk_with(monkeypatch, devstack.NEEDED_MB)
    monkeypatch.setattr(Ports, "require_free", lambda _: None)
    monkeypatch.setattr(devstack, "ANVIL", Path(sys.executable))
    monkeypatch.setattr(devstack, missing, tmp_path / "none")
    with pytest.raises(StackError, match=sentence), stack_of(tmp_path, []):
        pass


def test_only_scripts_of_ape__have_a_cli() -> None:
    """Ape imports every script with that name at each start: preflight alone brought the keeper."""
    named = {
        file.stem for file in (ROOT / "scripts").glob("*.py") if "def cli(" in file.read_text()
    }
    assert named == {"deploy", "verify"}


def test_whoever_answers__a_process_that_has_ended_is_told(tmp_path: Path, time: Time) -> None:
    """Another program may answer at the port that it could not have."""
    stack = stack_of(tmp_path, [], chain=process(is_alive=False))
    with pytest.raises(StackError, match="chain ended at start"):
        stack.wait_for(lambda: None)


def test_one_port_for_two__is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", "8100")
    monkeypatch.setenv("RPC_PORT", "8100")
    with pytest.raises(StackError, match="PORT and RPC_PORT are both 8100"):
        Ports.from_environment()


@pytest.mark.parametrize("name", ["logs", "postgres"])
def test_a_folder_with_what_no_stack_made__is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "mine").write_text("precious")
    with pytest.raises(StackError, match="set STACK_DIR to another folder"):
        stack_of(tmp_path, []).start()
    assert (tmp_path / name / "mine").read_text() == "precious"


def test_a_file_in_the_place_of_the_folder__is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StackError, match=r"STACK_DIR is .*file: File exists"):
        stack_of(tmp_path / "file", []).start()


def test_an_empty_stack_dir__counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STACK_DIR", "")
    assert devstack.directory_from_environment() == devstack.ROOT / ".local"


def test_the_stacks_operator__signs_in_with_its_wallet(tmp_path: Path) -> None:
    stack = stack_of(tmp_path, [])
    stack.facts = {
        "indexer_metrics_url": "http://127.0.0.1:41/metrics",
        "keeper_metrics_url": "http://127.0.0.1:42/metrics",
        "accounts": personas(),
        "operator_key": "op_local_1",
    }
    chosen = stack._defaults("postgresql+psycopg:///x")
    assert chosen["OPERATOR_ADDRESSES"] == personas()["operator"]["address"]
