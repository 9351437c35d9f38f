"""A backup that is whole restores to the moment; one of which a byte changed is told, twice each."""

from pathlib import Path

import psycopg
import pytest

from scripts._ports import free_port
from tests.drill.place import BackupFailedError, DrillPlace, DrillServer
from tests.drill.tamper import Tamper

ROWS = 20_000


def test_a_moment__comes_back_exactly__and_a_changed_byte_is_told(stack_directory: Path) -> None:
    said: list[str] = []
    place = DrillPlace(stack_directory)
    port = free_port()
    original, second = (DrillServer(place, name, port + n) for n, name in enumerate(("one", "two")))
    place.make()
    place.configure(original.data, port)
    original.make()
    original.start()
    try:
        place.pgbackrest("stanza-create")
        original.ask(f"create table t as select g, md5(g::text) from generate_series(1, {ROWS}) g")
        place.pgbackrest("backup", "--type=full")
        original.next_second()
        original.ask("insert into t values (0, 'before the moment')")
        at = original.ask("select clock_timestamp()")
        original.ask("insert into t values (0, 'after it')")
        place.pgbackrest("check")
        place.verify()

        target = ("--type=time", f"--target={at}", "--target-action=promote")
        second.restore(*target)
        second.start(archive_mode="off")
        second.until_promoted()
        assert second.ask("select count(*) from t") == ROWS + 1
        assert original.ask("select count(*) from t") == ROWS + 2

        tamper = Tamper(place, target, port + 2, said.append)
        tamper.data_file()
        tamper.segment()
        tamper.lost_segment()
        assert "segments of the log are missing before" in said[-1]
        told = [line.partition(":")[0] for line in said]
        assert told[1:6:3] == ["looking through the backups", "looking through the archive"]
        assert told[2:6:3] == ["restoring", "recovering up to the point"]
        place.verify()  # the copies were tampered with
    finally:
        second.stop()
        original.stop()
    with pytest.raises(psycopg.OperationalError):
        original.ask("select 1")


def test_a_program_that_fails__is_told_with_its_own_words(stack_directory: Path) -> None:
    place = DrillPlace(stack_directory)
    place.make()
    place.configure(stack_directory / "none", free_port())
    with pytest.raises(BackupFailedError, match="pgbackrest: "):
        place.pgbackrest("check")
