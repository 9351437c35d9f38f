"""The door: what a mandate is and how to get one, for a caller that knows nothing yet.

It charges nothing (docs/rules.md#kinds-of-402).
"""

from api.areas.mandates.schemas.answers import Door, DoorBlock
from api.areas.mandates.schemas.commands import CreateDraft
from api.kernel.caller import Nobody
from api.kernel.operation import Answer, Call, NoInput
from api.kernel.refusals import PAYABLE_HEADER, next_items

DETAIL = (
    "A mandate gives an agent a budget instead of a key. Nothing is charged here: connect, let "
    "your owner sign a mandate, accept it."
)
NEXT = ("identity.connect", "identity.nonce", "mandates.board", "mandates.list")


def door(call: Call, caller: Nobody, command: NoInput) -> Answer[Door]:
    """402 without `accepts` and without PAYMENT-REQUIRED, and a header that says so: a client that
    pays 402s leaves it alone.
    """
    calls = next_items(NEXT, {}, call.deps.catalogue)
    block = DoorBlock(
        reason="mandate_required",
        error="mandate_required",
        retry_safe=False,
        who_fixes="owner",
        next=calls,
    )
    body = Door(
        detail=DETAIL,
        charged=False,
        payable=False,
        schema_=CreateDraft.model_json_schema(),
        next=calls,
        service=block,
    )
    return Answer(body, status=402, headers={PAYABLE_HEADER: "none"})
