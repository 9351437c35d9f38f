"""All tables of version 0.1.0, with their functions and triggers: a file for each context, by its name.

What a file refers to stands in one before it.
"""

from pathlib import Path

from alembic import op

revision = "0100"
down_revision = None
branch_labels = None
depends_on = None

FILES = (
    *("leadership", "jobs", "identity", "feeds", "safety", "alerts", "gallery"),
    *("mandate", "hall", "blocks", "quarantine", "audit", "anchors"),
    *("keeper", "custody", "credits", "payments", "transfers", "subscriptions", "reserve"),
    *("sponsored", "earn", "tasks", "rooms", "listings", "mining", "kg", "targets"),
    *("reports", "market", "market_scan", "market_warning", "market_usual", "market_shadow"),
    *("published", "fund", "perps", "append_only"),
)


def upgrade() -> None:
    # as it stands: neither parameters nor one statement at a time
    connection = op.get_bind().execution_options(no_parameters=True)
    for name in FILES:
        connection.exec_driver_sql((Path(__file__).with_suffix("") / f"{name}.sql").read_text())
