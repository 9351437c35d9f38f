"""What a visitor sees before signing in."""

from api.areas.discovery.schemas import Overview
from api.kernel.caller import Nobody
from api.kernel.operation import Answer, NoInput, ReadCall
from core.mandate.queries import sample_id
from core.mandate.views import vault_totals
from core.money import usdc_text
from core.times import instant_text


def overview(call: ReadCall, caller: Nobody, command: NoInput) -> Answer[Overview]:
    found = vault_totals(call.db, call.deps.chain_id)
    return Answer(
        Overview(
            mandates_at_work=found.at_work,
            usdc_held=usdc_text(found.held_usdc_e6),
            refused_attempts=found.refused_attempts,
            sample_mandate_id=sample_id(call.db),
            as_of=instant_text(call.now),
        )
    )
