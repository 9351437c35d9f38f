"""How far an agent's work has come, stage by stage: shown on its dashboard and in its owner's epoch
(docs/payouts.md#stages).

Law: task claims and mining submissions are counted apart on every line, and a figure that cannot be
read is the text not_recorded, never zero.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final, Literal, TypeVar

import structlog
from sqlalchemy.exc import DBAPIError

from api.areas.mining.views import entries as mining
from api.areas.tasks import views as tasks
from api.kernel.operation import AnswerBody
from core.db.engine import ReadSession

NotRecorded = Literal["not_recorded"]
Figure = int | NotRecorded
Read = TypeVar("Read")
NOT_RECORDED: Final[NotRecorded] = "not_recorded"

log = structlog.get_logger(__name__)


class Stage(AnswerBody):
    """Task market claims and mining submissions, counted separately."""

    task_claims: Figure
    mining_submissions: Figure


class Verified(AnswerBody):
    reproduced: Stage
    re_observed: Stage
    no_record_on_file: Stage


class ReviewStages(AnswerBody):
    submitted: Stage
    verified: Verified
    points_recorded: Stage
    paid: Stage
    rejected: Stage


def review_stages(session: ReadSession, agent_ids: Collection[int]) -> ReviewStages:
    """Of these agents together."""
    claims = _counts(session, tasks.stage_counts, agent_ids)
    submissions = _counts(session, mining.stage_counts, agent_ids)

    def stage(name: str) -> Stage:
        return Stage(
            task_claims=claims.get(name, NOT_RECORDED),
            mining_submissions=submissions.get(name, NOT_RECORDED),
        )

    return ReviewStages(
        submitted=stage("submitted"),
        verified=Verified(
            reproduced=stage("reproduced"),
            re_observed=stage("re_observed"),
            no_record_on_file=stage("no_record_on_file"),
        ),
        points_recorded=stage("points_recorded"),
        paid=stage("paid"),
        rejected=stage("rejected"),
    )


def _counts(
    session: ReadSession,
    read: Callable[[ReadSession, Collection[int]], Mapping[str, int]],
    agent_ids: Collection[int],
) -> Mapping[str, int]:
    return read_or_none(session, read, agent_ids) or {}


def read_or_none(
    session: ReadSession,
    read: Callable[[ReadSession, Collection[int]], Read],
    agent_ids: Collection[int],
) -> Read | None:
    """What is read; None when the database does not answer it, so that the rest is still shown."""
    try:
        with session.begin_nested():
            return read(session, agent_ids)
    except DBAPIError as error:
        if error.connection_invalidated:
            raise
        log.warning("figures not read", of=read.__module__, error=type(error).__name__)
        return None
