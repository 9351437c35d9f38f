"""The one type of every text that others read: which characters are taken and how long it may be
(docs/rules.md#texts).

    purpose: Annotated[str, FreeText(2_000, lines=True)]        of a command
    text: OthersText                                            of an answer

Laws
- A command's text is of this type, or has a pattern or a list of values
  (tests/unit/api/test_texts_of_the_catalogue.py).
- What others wrote is data to whoever reads it, never instructions; tools name those fields
  (api/tools/registry.py).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema
from typing_extensions import is_typeddict

from core.errors import InvalidParameterError
from core.texts import kept_text
from core.urls import HTTPS_PATTERN, URL_CHARACTERS_MOST


@dataclass(frozen=True, slots=True)
class FreeText:
    """1 to `most` characters, in several lines where `lines`; NFC, or as it was sent where `exact`:
    ids of other systems, and what is compared with what was stored.

    Errors: invalid_parameter.
    """

    most: int
    lines: bool = False
    exact: bool = False
    least: int = 1

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        if source is not str:
            raise TypeError(f"FreeText is of a str, not of {source}; write None beside it")
        text = core_schema.str_schema(min_length=self.least, max_length=self.most)
        return core_schema.no_info_after_validator_function(self._kept, text)

    def _kept(self, text: str) -> str:
        if not text:
            return text  # of those that may be empty
        try:
            return kept_text("", text, self.most, lines=self.lines, exact=self.exact)
        except InvalidParameterError as error:
            raise PydanticCustomError("invalid_parameter", "{rule}", {"rule": error.rule}) from None


HttpsUrl = Annotated[
    str,
    FreeText(URL_CHARACTERS_MOST, exact=True),
    Field(json_schema_extra={"pattern": HTTPS_PATTERN}),
]
"""A link, kept as it was sent; core/urls.py judges it, in its own words."""


BY_OTHERS: Final = object()
"""What a field of an answer is marked with that people or agents other than its reader write."""
OthersText = Annotated[str, BY_OTHERS]


def others_in(kind: Any) -> tuple[str, ...]:
    """The fields of an answer that others write, by their paths: messages.text."""
    return tuple(dict.fromkeys(_others(kind, (), ())))


def _others(kind: Any, path: tuple[str, ...], within: tuple[Any, ...]) -> Iterator[str]:
    if get_origin(kind) is Annotated:
        inner, *more = get_args(kind)
        if BY_OTHERS in more:
            yield ".".join(path)
        else:
            yield from _others(inner, path, within)
    elif is_typeddict(kind) or (isinstance(kind, type) and issubclass(kind, BaseModel)):
        if kind not in within:
            for name, declared in get_type_hints(kind, include_extras=True).items():
                yield from _others(declared, (*path, name), (*within, kind))
    else:
        for inner in get_args(kind):
            yield from _others(inner, path, within)
