"""What the drill changes by hand, and must then be told of: a byte of a backup, a byte of the
log's archive, a whole segment of it, a row of a restored ledger.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scripts.demo import StepFailedError
from tests.drill.place import BackupFailedError, DrillPlace, DrillServer

SEGMENT_NAME = 24  # characters


@dataclass(frozen=True, slots=True)
class Tamper:
    """`target`: of restores, the options that name the point."""

    place: DrillPlace
    target: tuple[str, ...]
    port: int
    say: Callable[[str], None]

    def data_file(self) -> None:
        """One byte in the middle of the largest file of the backup."""
        place = self.place.copied("tampered-data")
        files = [one for one in place.repository.glob("backup/*/*F/**/*") if one.is_file()]
        largest = max(
            (one for one in files if "manifest" not in one.name), key=lambda one: one.stat().st_size
        )
        self._flip(place, largest)
        server = DrillServer(place, "tampered-1", self.port)
        self._told("looking through the backups", place.verify)
        self._told("restoring", lambda: server.restore(*self.target))

    def segment(self) -> None:
        """One byte of the segment that the backup begins in: all of it is needed for any later point.

        What lies behind the point is no hindrance, and pgBackRest 2.45 does not compare what it gets
        with its checksum: Postgres finds the record that is damaged.
        """
        place = self.place.copied("tampered-log")
        (label,) = place.repository.glob("archive/*/*/*/*.backup")
        (segment,) = label.parent.glob(f"{label.name[:SEGMENT_NAME]}-*")
        self._flip(place, segment)
        self._told("looking through the archive", place.verify)
        server = DrillServer(place, "tampered-2", self.port)

        def recover() -> None:
            server.restore(*self.target)
            server.start(archive_mode="off")
            try:
                server.until_promoted()
            finally:
                server.stop()

        self._told("recovering up to the point", recover)

    def lost_segment(self) -> None:
        """A segment between two others is gone: what comes after it can't be reached any more."""
        place = self.place.copied("tampered-gap")
        (label,) = place.repository.glob("archive/*/*/*/*.backup")
        (segment,) = label.parent.glob(f"{label.name[:SEGMENT_NAME]}-*")
        segment.unlink()
        self.say(f"{segment.relative_to(place.repository)} taken away")
        self._told("looking for what is missing", place.verify)

    def row(self, server: DrillServer, table: str, change: str, faults: Callable[[], str]) -> None:
        """A row that its database's owner changed past the triggers."""
        for sentence in (
            f"alter table {table} disable trigger user",
            f"update {table} set {change}",
            f"alter table {table} enable trigger user",
        ):
            server.ask(sentence, "mandate")
        told = faults()
        kind = "mandates" if table == "mandate_event" else "credits"
        if not (f"ledgers of {kind}: " in told and "row_hash" in told):
            raise StepFailedError(f"a changed row of {table} is not told: {told or 'nothing'}")
        self.say(f"a row of {table} changed: {told}")

    def _flip(self, place: DrillPlace, path: Path) -> None:
        content = bytearray(path.read_bytes())
        at = len(content) // 2
        content[at] ^= 1
        path.write_bytes(content)
        self.say(f"byte {at} of {path.relative_to(place.repository)} changed")

    def _told(self, doing: str, work: Callable[[], None]) -> None:
        try:
            work()
        except BackupFailedError as error:
            self.say(f"{doing}: {' '.join(str(error).split())[:300]}")
            return
        raise StepFailedError(f"{doing}, and nothing was said of it")
