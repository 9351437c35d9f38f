"""The build backend: uv_build, before which the client's calls are written.

api/client/operations.py is made of the catalogue, so it is not in git: whoever builds a wheel, a
source distribution or an editable installation needs what the service imports.
"""

import tomllib
from pathlib import Path
from typing import Any

import uv_build

ROOT = Path(__file__).resolve().parent.parent


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*project["dependencies"]]


get_requires_for_build_editable = get_requires_for_build_wheel
get_requires_for_build_sdist = get_requires_for_build_wheel
prepare_metadata_for_build_wheel = uv_build.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = uv_build.prepare_metadata_for_build_editable


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    _write_calls()
    return str(uv_build.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    _write_calls()
    return str(uv_build.build_editable(wheel_directory, config_settings, metadata_directory))


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    _write_calls()
    return str(uv_build.build_sdist(sdist_directory, config_settings))


def _write_calls() -> None:
    # here, since the frontend asks for the requirements before they are there
    from scripts import export_client

    export_client.main()
