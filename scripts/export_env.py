"""Write .env.example from the settings: `python -m scripts.export_env`; `--check` only compares.

Names, defaults, bounds and meanings come from the fields of core/settings.py and of the classes that
it is made of; headings are the comments above the fields.
"""

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from annotated_types import Ge, Le
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from core.key_settings import KeySettings
from core.limits import MOST
from core.settings import Settings

FILE = Path(__file__).resolve().parent.parent / ".env.example"
HEAD = """\
# Settings of all processes, written by `make docs` from core/settings.py. Copy this file to .env and
# set what differs: a line that begins with # shows the default, which also applies to an empty value.
# compose.yaml reads .env and also needs DATABASE_PASSWORD; in a shell: set -a; . ./.env; set +a
# Details: docs/operations.md#settings.
"""
HEADING_OR_FIELD = re.compile(r"^    (?:# (?P<heading>.+)|(?P<field>[a-z]\w*): )", re.MULTILINE)
UNITS = {  # of names that end so
    "_ms": "milliseconds",
    "_s": "seconds",
    "_hours": "hours",
    "_days": "days",
    "_gwei": "gwei",
}


def fields_by_heading() -> Iterator[tuple[str, list[str]]]:
    """In the order of the source. Errors: ValueError for a field without a heading."""
    for model in Settings.__mro__:
        if not issubclass(model, BaseModel) or not model.__module__.startswith("core."):
            continue
        if model is KeySettings:
            yield "Keys", list(model.model_fields)
            continue
        found: dict[str, list[str]] = {}
        for match in HEADING_OR_FIELD.finditer(inspect.getsource(model)):
            if (heading := match["heading"]) is not None:
                found[heading] = []
            elif (name := match["field"]) in Settings.model_fields:
                if not found:
                    raise ValueError(f"{name} has no heading: write a comment above it")
                list(found.values())[-1].append(name)
        yield from found.items()


def text() -> str:
    groups = (
        "\n".join([f"# {heading}\n", *map(_lines_of, names)])
        for heading, names in fields_by_heading()
    )
    return f"{HEAD}\n\n" + "\n\n".join(groups)


def _lines_of(name: str) -> str:
    field = Settings.model_fields[name]
    meaning = "; ".join(filter(None, [field.description, _unit(name, field), _bounds(field)]))
    if field.is_required():
        return f"# {meaning}; required\n{name.upper()}=\n"
    return f"# {meaning}\n#{name.upper()}={default_text(field.default)}\n"


def _unit(name: str, field: FieldInfo) -> str | None:
    ending = re.search(r"(?<!_per)_[a-z]+$", name)
    unit = UNITS.get(ending[0]) if ending else None
    return None if unit is None or unit in (field.description or "") else unit


def _bounds(field: FieldInfo) -> str | None:
    least = next((one.ge for one in field.metadata if isinstance(one, Ge)), None)
    most = next((one.le for one in field.metadata if isinstance(one, Le)), None)
    if not isinstance(least, int | float) or not isinstance(most, int | float):
        return None
    if most < MOST:
        return f"{least} to {most}"
    return f"at least {least}" if least else None


def default_text(value: Any) -> str:
    """As a shell, systemd and compose read it alike."""
    if value is None or isinstance(value, SecretStr):
        return ""
    written = ",".join(map(str, value)) if isinstance(value, list | tuple | dict) else f"{value}"
    if not re.fullmatch(r"[\w./:,+-]*", written):
        raise ValueError(f"{written!r} would need quotes")
    return written.removesuffix(".0")


def main() -> None:
    if "--check" not in sys.argv:
        FILE.write_text(text())
    elif not FILE.exists() or FILE.read_text() != text():
        sys.exit(".env.example differs from the settings: run `make docs`")


if __name__ == "__main__":
    main()
