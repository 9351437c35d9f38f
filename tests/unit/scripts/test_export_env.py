"""`.env.example` names every setting, and read as it is it changes none."""

import os
import subprocess
from pathlib import Path

import pytest

from core.settings import Settings
from scripts.export_env import FILE, fields_by_heading, text

REQUIRED = {
    "DATABASE_URL": "postgresql+psycopg://nobody@127.0.0.1/none",
    "RPC_URLS": "http://127.0.0.1:8545",
    "DEPLOYMENT_FILE": "record.json",
}


def settings_of(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Settings:
    with monkeypatch.context() as patch:
        for name in Settings.model_fields:
            patch.delenv(name.upper(), raising=False)
        for name, value in (environment | REQUIRED).items():
            patch.setenv(name, value)
        return Settings()


def sourced(file: Path) -> dict[str, str]:
    """What `set -a; . FILE` adds to an empty environment."""
    done = subprocess.run(
        ["bash", "-c", 'set -eua; . "$1"; env -0', "bash", str(file)],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    found = dict(one.split("=", 1) for one in done.stdout.split("\0") if one)
    return {name: value for name, value in found.items() if name.lower() in Settings.model_fields}


def test_the_file__is_that_of_today_s_settings() -> None:
    assert FILE.read_text() == text()


def test_every_setting__stands_beneath_a_heading_once() -> None:
    named = [name for _, names in fields_by_heading() for name in names]
    assert sorted(named) == sorted(Settings.model_fields)


def test_the_file__has_no_value_of_a_setting_that_is_required() -> None:
    assert sourced(FILE) == dict.fromkeys(REQUIRED, "")


def test_the_file_with_its_defaults__is_no_other_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "environment"
    file.write_text(
        "".join(
            line.removeprefix("#") if not line.startswith("# ") else line
            for line in FILE.read_text().splitlines(keepends=True)
        )
    )
    assert sourced(file).keys() == {name.upper() for name in Settings.model_fields}
    assert settings_of(sourced(file), monkeypatch) == settings_of({}, monkeypatch)
