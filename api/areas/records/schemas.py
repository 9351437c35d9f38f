"""Commands and answers of record strips (docs/record-strips.md)."""

from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError

from api.areas.records.views.strip import RecordStrip
from api.kernel.fields import ACCOUNT_ID_PATTERN, AccountId, AccountIdText
from api.kernel.operation import AnswerBody, Command

IDS_MOST: Final = 50
_ID = TypeAdapter[int](AccountId)


def _ids(value: Any) -> tuple[int, ...]:
    """Each id once, in the order in which they were asked for."""
    texts = [text.strip() for text in value.split(",")] if isinstance(value, str) else []
    if not 1 <= len(texts) <= IDS_MOST:
        raise PydanticCustomError(
            "invalid_parameter",
            "write 1 to {most} ids, separated by commas; you sent {sent}",
            {"most": IDS_MOST, "sent": len(texts)},
        )
    try:
        return tuple(dict.fromkeys(_ID.validate_python(text) for text in texts))
    except ValidationError:
        raise PydanticCustomError(
            "invalid_parameter", "write agents' user ids, such as 1001,1002"
        ) from None


AgentIds = Annotated[
    tuple[int, ...],
    BeforeValidator(_ids),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^{ACCOUNT_ID_PATTERN}(,{ACCOUNT_ID_PATTERN}){{0,{IDS_MOST - 1}}}$",
            "description": f"up to {IDS_MOST} agents' user ids, separated by commas",
            "examples": ["1001,1002"],
        }
    ),
]


class RecordPath(Command):
    id: AccountIdText


class RecordsQuery(Command):
    ids: AgentIds


class RecordStrips(AnswerBody):
    records: dict[str, RecordStrip] = Field(description="record summaries by the agent's user id")
    paper_note: str
