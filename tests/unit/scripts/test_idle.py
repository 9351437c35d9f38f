"""What `make idle` counts, and under which name."""

from tests.bench.idle import Process, cpu_s, descended

INIT = Process(1, 0, "init", 100.0)
STACK = Process(10, 1, "python -m scripts.devstack", 1.0)
KEEPER = Process(11, 10, "python -m keeper.main run", 2.0)
IMPORT = Process(12, 11, "python -m indexer.main import-past 3", 4.0)
POSTMASTER = Process(20, 1, "/bin/postgres -D /tmp/cluster", 8.0)
BACKEND = Process(21, 20, "postgres: mandate mandate [local] idle", 16.0)
OTHERS = Process(30, 1, "postgres: of somebody else", 32.0)
RUNNING = {p.pid: p for p in (INIT, STACK, KEEPER, IMPORT, POSTMASTER, BACKEND, OTHERS)}


def test_the_roots_and_all_below_them_are_counted() -> None:
    found = descended(RUNNING, {STACK.pid, POSTMASTER.pid})
    assert found == [STACK, KEEPER, IMPORT, POSTMASTER, BACKEND]


def test_the_import_that_a_scanner_starts__is_the_scanners() -> None:
    assert cpu_s([KEEPER, IMPORT, BACKEND]) == {"keeper": 2.0, "scanner": 4.0, "postgres": 16.0}


def test_keeper_and_worker__are_two_lines() -> None:
    worker = Process(13, 10, "python -m api.worker", 1.0)
    assert cpu_s([KEEPER, worker]) == {"keeper": 2.0, "worker": 1.0}
