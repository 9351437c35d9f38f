"""The slow job `notes`: all free notes as one file for note apps, and the links that they make
(docs/notes.md#the-vault).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from core.kg.notes import queries, views
from core.kg.notes.vault import vault_of
from keeper.schedule import Job, JobPlace, JobSkippedError

NAME: Final = "notes"
EVERY_S: Final = 60
KEPT_FOR: Final = timedelta(hours=1)


def jobs(place: JobPlace) -> tuple[Job, ...]:
    return (Job(NAME, EVERY_S, lambda now: run(place, now)),)


def run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """Read in one snapshot, written in one transaction.

    Made anew once an hour, and at once when the market has as many tokens as the vault has files:
    on a first start the market's past comes after the first vault. Errors: JobSkippedError.
    """
    with place.database.read() as reading:
        last = queries.last_made(reading)
        if last is not None and now < last.at + KEPT_FOR and views.count(reading) < last.notes:
            raise JobSkippedError("the vault of notes is less than an hour old")
        vault = vault_of(views.all_facts(reading, now), now)
    with place.database.write() as session:
        place.fence(session)
        changed = queries.replace_links(session, vault.links)
        queries.keep_export(session, vault.content, vault.notes, now)
    return {"notes": vault.notes, "bytes": len(vault.content), "links_changed": changed}
