"""The slow jobs of the contexts, a module each.

The worker finds them by folder (`keeper.worker.jobs_of`), so a new one edits no list.

A module exports `jobs(place: JobPlace) -> tuple[Job, ...]`. Nothing here has a key: what is to be
sent goes into the outbox.
"""
