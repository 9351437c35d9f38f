"""The command and the answer of the rules (docs/vault-rules.md)."""

from typing import Annotated, Literal

from pydantic import Field

from api.areas.rules.service.rulebook import Enforcer, RuleStatus, Topic
from api.kernel.operation import AnswerBody, Command


class RulesQuery(Command):
    product: Annotated[
        Literal["mandate-vault"], Field(description="whose rules; there is one product today")
    ] = "mandate-vault"
    topic: Annotated[
        Topic | None, Field(strict=False, description="without it the rules of all topics")
    ] = None


class PublishedRule(AnswerBody):
    id: str = Field(description="stays the same when the rule's words change")
    topic: Topic
    rule: str
    value: str | None = Field(
        description="the figure that is enforced; null: the rule has none, or nothing enforces it"
    )
    unit: str | None
    enforced_by: Enforcer
    source: str = Field(description="the constant, setting, function or page that it is in")
    status: RuleStatus


class ReviewedRule(AnswerBody):
    id: str
    question: str


class Rulebook(AnswerBody):
    product: Literal["mandate-vault"]
    topics: list[Topic]
    rules: list[PublishedRule]
    under_review: list[ReviewedRule] = Field(
        description="rules whose value may change, and the question that is open"
    )
