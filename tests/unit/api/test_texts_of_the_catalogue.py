"""Every text that a call takes and keeps is held to the rules of texts, whatever call it is."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from api.catalogue import catalogue
from api.kernel.fields import JsonObject, Verbatim
from api.kernel.texts import FreeText
from tests.each import each

HOSTILE = ("pay \u202enow", "a\u200bb", "a\x1bb", "a\ue000b", "a\U000e0041b", "a\u0378b")
# Fields that nobody but the service reads.
UNREAD = {
    *("message", "recovery_code"),  # what a wallet signed, compared; a secret
    "Recover.agent_name",  # compared with what was given out
    *("args", "allowed_targets"),  # become calldata and rules, judged one by one
    *("ReportFill.price", "ReportFill.qty", "ListingPath.id"),  # judged by the domain
}


def leaves(kind: Any, given: tuple[Any, ...] = ()) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """The texts, free JSON and commands within a type, each with what is said of it."""
    if get_origin(kind) is Annotated:
        inner, *more = get_args(kind)
        yield from leaves(inner, (*given, *more))
    elif kind is str or kind is Any or (isinstance(kind, type) and issubclass(kind, BaseModel)):
        yield kind, given
    elif get_origin(kind) is dict and get_args(kind)[1] is Any:
        yield Any, given
    elif get_origin(kind) is not Literal:
        for inner in get_args(kind):
            yield from leaves(inner, () if get_origin(kind) in (list, dict) else given)


def texts_of(command: type[BaseModel]) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    for name, field in command.model_fields.items():
        for kind, given in leaves(field.annotation, tuple(field.metadata)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                yield from texts_of(kind)
            elif not {name, f"{command.__name__}.{name}"} & UNREAD:
                yield f"{command.__name__}.{name}", kind, given


WRITTEN = {
    (name, str(given)): (name, kind, given)
    for operation in catalogue().operations
    if operation.method != "GET"
    for name, kind, given in texts_of(operation.command)
}


def refusal_of(kind: Any, given: tuple[Any, ...], value: Any) -> str | None:
    declared = Annotated[(kind, *given)] if given else kind  # type: ignore[valid-type]  # made here
    strict = ConfigDict(strict=True)
    try:
        TypeAdapter(declared, config=strict).validate_python(value)
    except ValidationError as error:
        return str(error)
    return None


@each(("name", "kind", "given"), list(WRITTEN.values()))
@each("text", HOSTILE)
def test_each_text_of_a_write__refuses_what_hides_or_turns_text(
    name: str, kind: Any, given: tuple[Any, ...], text: str
) -> None:
    refusal = refusal_of(kind, given, text if kind is str else {"a": [text]})
    assert refusal is not None, f"{name}: declare it as FreeText (api/kernel/texts.py)"
    if kind is Any or any(isinstance(one, FreeText) for one in given):
        hidden = next(one for one in text if not one.isprintable())
        assert f"U+{ord(hidden):04X}" in refusal


def test_the_walk__finds_the_texts_that_strangers_read() -> None:
    found = {
        name
        for name, _, given in WRITTEN.values()
        if any(isinstance(one, FreeText) for one in given)
    }
    assert found >= {
        *("CreateDraft.purpose", "UpdateDraft.purpose", "Propose.title", "ReportEvent.why"),
        *("Connect.agent_name", "DeclareSelf.persona", "SeedPersona.persona", "MakeClaim.claim"),
        *("PostMessage.text", "CreateListing.title", "OfferedCitation.claim_text"),
        *("CreateTask.title", "CreateTask.subject", "SubmitProof.observed_result"),
        *("MinedEntry.field_value", "OpenCase.rule", "RejectCreation.reason"),
        *("ApplyForPilot.plan_text", "FundRulesBody.mandate", "ReplacePolicy.assets"),
    }


@each("name", ["\u2764\ufe0f", "\U0001f468\u200d\U0001f4bb", "Zo\u00eb", "\ud55c\uad6d"])
def test_a_name_of_an_emoji__is_taken(name: str) -> None:
    connect = catalogue().by_key["identity.connect"].command
    assert connect.model_validate({"agent_name": name}).model_dump() == {"agent_name": name}


@each("name", ["\u0301", "\u0301\u0308", " a", "a ", "a\u00a0b", "a\nb", "a\tb", "\ufe0f"])
def test_a_name_that_shows_nothing_or_is_spaced_oddly__is_refused(name: str) -> None:
    connect = catalogue().by_key["identity.connect"].command
    with pytest.raises(ValidationError):
        connect.model_validate({"agent_name": name})


def test_a_text__is_kept_as_its_nfc_and_an_id_as_it_was_sent() -> None:
    text = TypeAdapter(Annotated[str, FreeText(10)])
    assert text.validate_python("e\u0301") == "\u00e9"
    assert TypeAdapter(Annotated[str, FreeText(10, exact=True)]).validate_python("e\u0301") == (
        "e\u0301"
    )


def test_a_text__publishes_its_bounds() -> None:
    schema = TypeAdapter(Annotated[str, FreeText(10, least=2)]).json_schema()
    assert schema == {"type": "string", "minLength": 2, "maxLength": 10}


def test_free_json__is_composed_but_what_is_verbatim_is_not() -> None:
    assert TypeAdapter(JsonObject).validate_python({"a": ["e\u0301", " "]}) == {
        "a": ["\u00e9", " "]
    }
    assert TypeAdapter(Verbatim).validate_python({"a": "e\u0301"}) == '{"a": "e\u0301"}'


@each("value", ["a\u202eb", ["a\u200bb"], {"a\u200bb": 1}, {"a": {"b": ["x\U000e0041"]}}])
@each("kind", [Verbatim, JsonObject])
def test_free_json__is_refused_for_characters_that_no_text_has(kind: Any, value: Any) -> None:
    sent = value if kind is Verbatim or isinstance(value, dict) else {"a": value}
    with pytest.raises(ValidationError, match=r"leave out U\+(202E|200B|E0041)"):
        TypeAdapter(kind).validate_python(sent)
