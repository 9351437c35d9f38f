"""What the process that follows the chain does without: each of these takes tens of megabytes, in it
and in the one that forks it.
"""

import subprocess
import sys

import pytest

MODULES = "import sys, indexer.main; print(*sys.modules)"
OF_SIMULATOR = "import sys, indexer.venues.chosen; print(*sys.modules)"


def imported(code: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def of_indexer() -> set[str]:
    return imported(MODULES)


@pytest.mark.parametrize("heavy", ["numpy", "ccxt"])
def test_the_indexer_does_not_import(heavy: str, of_indexer: set[str]) -> None:
    assert heavy not in of_indexer


def test_a_simulated_market_does_not_import_the_exchanges_library() -> None:
    assert "ccxt" not in imported(OF_SIMULATOR)
