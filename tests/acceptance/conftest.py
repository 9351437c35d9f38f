"""Folders for stacks: short paths that other users can enter, since Postgres runs as its own user and has a socket there."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def stack_folder() -> Iterator[Path]:
    parent = Path(tempfile.mkdtemp(prefix="stack-"))
    parent.chmod(0o755)
    yield parent / "s"
    shutil.rmtree(parent, ignore_errors=True)


@pytest.fixture
def stack_directory() -> Iterator[Path]:
    with stack_folder() as folder:
        yield folder
