"""Under which name `make idle` counts what it finds."""

import pytest

from tests.bench.idle import name_of


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python -m keeper.main run", "keeper"),
        ("python -m api.worker", "worker"),
        ("python -m indexer.main import-past 3", "scanner"),
        ("python -m scripts.devstack", "devstack"),
        ("postgres: mandate mandate [local] idle", "postgres"),
    ],
)
def test_a_process_is_counted_under_its_own_name(command: str, name: str) -> None:
    assert name_of(command) == name
