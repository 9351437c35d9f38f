"""Answers of many rows, built as the JSON objects that their models declare.

    handler          Answer(BuiltBody[BoardPage]({...}))     its bytes are made on the call's thread
    pipeline         the body as it is                       nothing is validated or copied again;
                                                             another's bytes are made here, beside the event loop
    tests            the body equals what the model itself would write of it

Validating two hundred rows of forty fields costs more than reading them. The declared model stays
the documentation (OpenAPI, client, tools), and tests hold each body to it.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, Generic, TypeVar

import msgspec
from pydantic import BaseModel

from core.texts import escaped_json, shown_json

ModelT = TypeVar("ModelT", bound=BaseModel, covariant=True)

encoded: Final = msgspec.json.Encoder().encode
"""The JSON of an object, in UTF-8; a float that is not finite is null."""

# Lines that their hashes are checked against, and what the specification keeps verbatim.
EXACT: Final = frozenset({"rules", "stop_conditions"})
_MAY_HIDE: Final = re.compile(rb"[\x7f-\xff]|\\[bfru]")


class BuiltBody(dict[str, Any], Generic[ModelT]):
    """What a model of that type would be sent as, with its bytes (`text`): JSON values alone, unset
    fields left out.

    The one place where what was stored before the rules of texts is made to be seen
    (core/texts.py): `\\u{202e}` in each value, JSON's own escape in what is `EXACT`.
    """

    __slots__ = ("text",)

    def __init__(self, fields: Mapping[str, Any]) -> None:
        text: bytes = encoded(fields)
        if _MAY_HIDE.search(text) and (shown := shown_json(fields, EXACT)) != fields:
            fields, text = shown, encoded(shown)
        super().__init__(fields)
        self.text = text if text.isascii() else escaped_json(text.decode()).encode()
