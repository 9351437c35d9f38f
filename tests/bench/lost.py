"""Executions of the chain that the record lacks."""

import time
from typing import Final

import psycopg

from scripts.demo import Story

SETTLED_S: Final = 60.0


def lost_events(database_url: str, story: Story) -> int:
    """Executions that the chain has and the mandate's ledger lacks, once the record has caught up."""
    query = """select count(distinct e.base_key) from mandate_event e join mandate m on m.id = e.mandate_id
                where m.public_id = %s and e.payload ? 'executed' and e.reported_by = 'chain'
                and not exists (select from mandate_event r where r.reverses_id = e.id)"""
    until = time.monotonic() + SETTLED_S
    while True:
        on_chain = len(story.logs("Executed"))
        with psycopg.connect(database_url) as connection:
            row = connection.execute(query, (story.id,)).fetchone()
        missing = on_chain - (0 if row is None else int(row[0]))
        if missing == 0 or time.monotonic() > until:
            return missing
        time.sleep(1)
