"""The command and the answer of the rules (docs/vault-rules.md)."""

from typing import Annotated, Literal

from pydantic import Field

from api.areas.rules.service.rulebook import Enforcer, RuleStatus, Topic
from api.kernel.operation import AnswerBody, Command


class RulesQuery(Command):
    product: Annotated[
        Literal["mandate-vault"],
        Field(description="the product whose rules to read; there is only one today"),
    ] = "mandate-vault"
    topic: Annotated[
        Topic | None, Field(strict=False, description="only rules of this topic; left out: all")
    ] = None


class PublishedRule(AnswerBody):
    id: str = Field(description="stable id; unchanged when the wording changes")
    topic: Topic
    rule: str
    value: str | None = Field(
        description="the enforced value; null: the rule has none, or is not enforced"
    )
    unit: str | None
    enforced_by: Enforcer
    source: str = Field(description="constant, setting, function or page that defines the rule")
    status: RuleStatus


class ReviewedRule(AnswerBody):
    id: str
    question: str


class Rulebook(AnswerBody):
    product: Literal["mandate-vault"]
    topics: list[Topic]
    rules: list[PublishedRule]
    under_review: list[ReviewedRule] = Field(
        description="rules whose value may change, with the open question"
    )
