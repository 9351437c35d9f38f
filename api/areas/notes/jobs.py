"""The slow job `notes`: all free notes as one file for note apps, and the links that they make
(docs/notes.md#the-vault).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from api.areas.notes import queries, views
from api.areas.notes.queries import LastVault
from api.areas.notes.rendering.vault import vault_of
from api.kernel.jobs import AreaJob, JobPlace
from core.jobs.schedule import JobSkippedError

NAME: Final = "notes"
EVERY_S: Final = 60
LIMIT_S: Final = 600
KEPT_FOR: Final = timedelta(hours=1)
A_FILE_KEPT: Final = timedelta(milliseconds=100)  # a hundred times what writing it takes


def run(place: JobPlace, now: datetime) -> Mapping[str, Any]:
    """Made anew once an hour, and sooner when the market has as many tokens as the vault has files:
    on a first start the market's past comes after the first vault. Nobody else writes links, so that
    those that were read are there until this writes. Errors: JobSkippedError.
    """
    with place.database.read() as session:
        last = queries.last_made(session)
        if last is not None and is_kept(last, views.count_kept(session), now):
            raise JobSkippedError("the vault of notes is new enough")
    vault = vault_of(views.all_facts(place.database.read, now), now)
    with place.database.read() as session:
        old = queries.links(session)
    gone, added = old - vault.links, vault.links - old
    with place.database.write() as session:
        queries.change_links(session, gone=gone, added=added)
        queries.keep_export(session, vault.content, vault.notes, now)
    changed = len(gone) + len(added)
    return {"notes": vault.notes, "bytes": len(vault.content), "links_changed": changed}


def is_kept(last: LastVault, tokens: int, now: datetime) -> bool:
    """Whether another one need not be made yet. One that lacks tokens is kept too, the longer the
    more files it has, so that a market that grows all day is no reason to write files all day.
    """
    lacks_tokens = tokens >= last.notes
    kept_for = min(KEPT_FOR, last.notes * A_FILE_KEPT) if lacks_tokens else KEPT_FOR
    return timedelta(0) <= now - last.at < kept_for  # or a clock was set back


JOBS: Final = (AreaJob(NAME, EVERY_S, LIMIT_S, run),)
