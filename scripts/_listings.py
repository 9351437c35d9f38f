"""The simulated listings of a local stack."""

from datetime import UTC, datetime

from core.db.engine import Database
from core.listings.simulated import add_simulated


def add_simulated_listings(database_url: str) -> int:
    """Those that are there stay as they are; how many were added."""
    database = Database(database_url, application_name="devstack")
    try:
        with database.write() as session:
            return add_simulated(session, datetime.now(UTC))
    finally:
        database.close()
