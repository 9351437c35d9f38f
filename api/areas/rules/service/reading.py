"""The rules, as a caller reads them."""

from api.areas.rules.schemas import PublishedRule, ReviewedRule, Rulebook, RulesQuery
from api.areas.rules.service.rulebook import UNDER_REVIEW, Topic, vault_rules
from api.kernel.caller import Nobody
from api.kernel.operation import Answer, Call


def mandate_vault(call: Call, caller: Nobody, command: RulesQuery) -> Answer[Rulebook]:
    shown = [
        one
        for one in vault_rules(call.deps.limits)
        if command.topic is None or one.topic is command.topic
    ]
    ids = {one.id for one in shown}
    return Answer(
        Rulebook(
            product=command.product,
            topics=list(Topic),
            rules=[PublishedRule.of(one) for one in shown],
            under_review=[
                ReviewedRule(id=id_, question=question)
                for id_, question in UNDER_REVIEW.items()
                if id_ in ids
            ],
        )
    )
