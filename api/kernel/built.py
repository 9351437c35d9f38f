"""Answers of many rows, built as the JSON objects that their models declare.

    handler          built(BoardPage, {...})     on the call's thread, with its bytes
    pipeline         the object as it is          nothing is validated or copied again
    tests            the object equals what the model itself would write of it

Validating two hundred rows of forty fields costs more than reading them. The declared model stays
the documentation (OpenAPI, client, tools), and tests hold each object to it.
"""

from collections.abc import Mapping
from math import isfinite
from typing import Any, TypeVar, cast

import msgspec
from pydantic import BaseModel

AnswerT = TypeVar("AnswerT", bound=BaseModel)

_encode = msgspec.json.Encoder().encode


class BuiltBody(dict[str, Any]):
    """A body with the bytes that say the same."""

    __slots__ = ("text",)

    def __init__(self, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self.text: bytes = _encode(fields)


class _Built:
    def __init__(self, body: BuiltBody) -> None:
        self.body = body

    def model_dump(self, **_: object) -> BuiltBody:
        return self.body


def built(kind: type[AnswerT], fields: Mapping[str, Any]) -> AnswerT:
    """What a model of `kind` would be sent as: JSON values alone, unset fields left out."""
    return cast("AnswerT", _Built(BuiltBody(fields)))


def short(value: float | None) -> float | None:
    """Eight significant digits; what is not finite is not known."""
    if value is None or not isfinite(value):
        return None
    return float(f"{value:.8g}")
