""".editorconfig agrees with the formatters, and .gitattributes names files that exist."""

import configparser
import json
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def editorconfig() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string("[top]\n" + (ROOT / ".editorconfig").read_text())
    return parser


def test_editorconfig__agrees_with_ruff() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    python = editorconfig()["*.py"]

    assert int(python["max_line_length"]) == project["tool"]["ruff"]["line-length"]
    assert int(python["indent_size"]) == 4  # ruff format's own


def test_editorconfig__agrees_with_biome() -> None:
    formatter = json.loads((ROOT / "biome.json").read_text())["formatter"]
    every, web = editorconfig()["*"], editorconfig()["*.{js,css}"]

    assert int(web["max_line_length"]) == formatter["lineWidth"]
    assert (every["indent_style"], int(every["indent_size"])) == (
        formatter["indentStyle"],
        formatter["indentWidth"],
    )


def test_generated_and_vendored_files__are_marked_and_exist() -> None:
    rows = [
        line.split()
        for line in (ROOT / ".gitattributes").read_text().splitlines()
        if line and line[0] != "#"
    ]
    marked = [
        path
        for path, *attributes in rows
        if {"linguist-generated", "linguist-vendored"} & set(attributes)
    ]

    assert "docs/openapi.json" in marked
    assert [path for path in marked if not any(ROOT.glob(path))] == []
