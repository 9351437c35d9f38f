"""The build backend: uv_build, before which the client's calls are written.

api/client/operations.py is made of docs/openapi.json, so it is not in git; a wheel, a source
distribution and an editable installation have it.
"""

from typing import Any

import uv_build

from scripts import export_client

prepare_metadata_for_build_wheel = uv_build.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = uv_build.prepare_metadata_for_build_editable


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    export_client.main()
    return str(uv_build.build_wheel(wheel_directory, config_settings, metadata_directory))


def build_editable(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    export_client.main()
    return str(uv_build.build_editable(wheel_directory, config_settings, metadata_directory))


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    export_client.main()
    return str(uv_build.build_sdist(sdist_directory, config_settings))
