"""The door: what a mandate is and how to get one, for a caller that knows nothing yet. It charges nothing (docs/rules.md#kinds-of-402)."""

from typing import Any

from api.areas.mandates.answers import Door
from api.areas.mandates.schemas import CreateDraft
from api.kernel.caller import Nobody
from api.kernel.operation import Answer, Call, NoInput
from api.kernel.refusals import PAYABLE_HEADER, next_items

DETAIL = "A mandate gives an agent a budget instead of a key. Nothing is charged here: connect, let your owner sign a mandate, accept it."
NEXT = ("identity.connect", "identity.nonce", "mandates.board", "mandates.list")


def door(call: Call, caller: Nobody, command: NoInput) -> Answer[Door]:
    """402 without `accepts` and without PAYMENT-REQUIRED, and a header that says so: a client that pays 402s leaves it alone."""
    calls = next_items(NEXT, {}, call.deps.catalogue)
    block: dict[str, Any] = {"reason": "mandate_required", "error": "mandate_required", "retry_safe": False, "who_fixes": "owner"}
    body = {"detail": DETAIL, "charged": False, "payable": False, "schema": CreateDraft.model_json_schema(), "next": calls}
    return Answer(body | {"service": block | {"next": calls}}, status=402, headers={PAYABLE_HEADER: "none"})
