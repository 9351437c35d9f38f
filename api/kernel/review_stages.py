"""How far an agent's work has come, stage by stage: shown on its dashboard and in its owner's epoch
(docs/payouts.md#stages).

Law: task claims and mining submissions are counted apart on every line, and a figure that cannot be
read is the text not_recorded, never zero.
"""

from collections.abc import Collection
from typing import Final, Literal

from sqlalchemy.orm import Session

from api.kernel.operation import AnswerBody
from core.mining import views as mining
from core.tasks import views as tasks

NotRecorded = Literal["not_recorded"]
Figure = int | NotRecorded
NOT_RECORDED: Final[NotRecorded] = "not_recorded"


class Stage(AnswerBody):
    """Task market claims and mining submissions are counted apart on every line."""

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


def review_stages(session: Session, agent_ids: Collection[int]) -> ReviewStages:
    """Of these agents together."""
    claims = tasks.stage_counts(session, agent_ids)
    submissions = mining.stage_counts(session, agent_ids)

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
