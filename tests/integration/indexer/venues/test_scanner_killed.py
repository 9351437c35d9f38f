"""A scanner that is killed in mid-minute, and the one that takes over."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final

import pytest
from sqlalchemy import func, select

from core.db.engine import Database
from core.market.tables import MarketListingState, MarketSample
from tests.integration.chain_fixtures import ROOT
from tests.integration.indexer.venues.scanner_process import BASES, EXCHANGES

ALL: Final = len(BASES) * len(EXCHANGES)
WAIT_S: Final = 90.0


@contextmanager
def scanning(url: str, *ahead_s: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "tests.integration.indexer.venues.scanner_process", url]
    with subprocess.Popen(
        [*command, *ahead_s], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def looks(database: Database) -> dict[datetime, int]:
    """Rows of each minute, the first minute first."""
    query = select(MarketSample.ts, func.count()).group_by(MarketSample.ts)
    with database.read() as session:
        return dict(sorted((row[0], row[1]) for row in session.execute(query)))


def until(seen: Callable[[], bool]) -> None:
    ends = time.monotonic() + WAIT_S
    while not seen():
        assert time.monotonic() < ends
        time.sleep(0.05)


@pytest.mark.slow
def test_a_scanner_killed_in_mid_minute__leaves_its_spare_what_the_minute_lacks(
    database: Database, database_url: str
) -> None:
    with scanning(database_url) as first:
        assert first.stdout is not None
        ahead_s = first.stdout.readline().strip()
        until(lambda: len(looks(database)) == 2)
        first.kill()  # SIGKILL: nothing is told to it
        first.wait()
    (before, minute), (whole, begun) = zip(*looks(database).items(), strict=True)
    assert minute - before == timedelta(minutes=1)
    assert whole == ALL  # the minute before is whole
    assert 0 < begun < ALL

    with scanning(database_url, ahead_s):
        until(lambda: len(looks(database)) == 2 and looks(database)[minute] == ALL)

    assert looks(database)[before] == ALL
    with database.read() as session:
        pairs = select(MarketSample.listing_id, MarketSample.ts).distinct()
        assert session.scalar(select(func.count()).select_from(pairs.subquery())) == 2 * ALL
        assert set(session.scalars(select(MarketListingState.sampled_at))) == {minute}
