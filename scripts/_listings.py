"""The simulated listings of a local stack, and the vaults that signal them.

`python -m scripts._listings` migrates the empty database of DATABASE_URL and adds them: a process of its
own, since the stack's would hold for good what that imports.
"""

import os
import sys
from datetime import UTC, datetime
from typing import Final

from sqlalchemy.exc import OperationalError

from api.areas.mining.rules.registry import CONTRACT_ADDRESS
from api.areas.mining.views.entries import simulated_without
from core.db import migrate
from core.db.engine import Database, WriteSession
from core.fund.simulated import add_simulated as add_vaults
from core.listings.simulated import add_made_up, add_simulated

EMPTY_LEAST: Final = 200  # without a contract address, at each start


def add_simulated_listings(database_url: str) -> int:
    """How many were added."""
    database = Database(database_url, application_name="devstack")
    try:
        with database.write() as session:
            add_vaults(session, datetime.now(UTC))
            return keep_simulated(session, datetime.now(UTC))
    finally:
        database.close()


def keep_simulated(session: WriteSession, now: datetime) -> int:
    """Those that are there stay as they are; how many were added."""
    added = add_simulated(session, now)
    lacking = EMPTY_LEAST - simulated_without(session, CONTRACT_ADDRESS)
    return added + add_made_up(session, max(0, lacking), now)


def main() -> None:
    url = os.environ["DATABASE_URL"]
    try:
        is_used = migrate.current(url) is not None
    except OperationalError as error:
        sys.exit(f"the database in DATABASE_URL does not answer: {str(error.orig).splitlines()[0]}")
    if is_used:
        sys.exit(
            "the database in DATABASE_URL is not empty, and the stack starts from scratch; use "
            "another one, or unset it"
        )
    migrate.upgrade(url)
    add_simulated_listings(url)


if __name__ == "__main__":
    main()
