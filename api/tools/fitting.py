"""A tool's answer has at most 60,000 characters, about 25,000 tokens: hosts cut or refuse longer ones.

Law: what is paged is read with a smaller limit (api/kernel/pipeline.py), so that its cursor goes on
where the answer ends. What is left, such as the steps of one mandate, ends earlier, and `note` says so.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from api.kernel.built import encoded

MOST_CHARACTERS: Final = 60_000
_NOTE_CHARACTERS: Final = 400


def fitted(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body, or as much of its lists as fits, the longest first."""
    if len(encoded(body)) <= MOST_CHARACTERS:
        return body
    cut: dict[str, Any] = _copy(body)
    whole: dict[str, int] = {}
    lists = dict(_lists(cut, ""))
    while lists and len(encoded(cut)) > MOST_CHARACTERS - _NOTE_CHARACTERS:
        name, longest = max(lists.items(), key=lambda one: len(encoded({"": one[1]})))
        if not longest:
            break
        whole.setdefault(name, len(longest))
        del longest[len(longest) // 2 :]
        lists = dict(_lists(cut, ""))
    cuts = ", ".join(
        f"{name} has {len(lists.get(name, ()))} of {number}" for name, number in whole.items()
    )
    return cut | {
        "note": f"Shortened to fit a tool's answer: {cuts[:200]}. The same call over HTTP returns everything."
    }


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _copy(one) for name, one in value.items()}
    return [_copy(one) for one in value] if isinstance(value, list) else value


def _lists(value: Any, place: str) -> Iterator[tuple[str, list[Any]]]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _lists(one, f"{place}.{name}" if place else name)
    elif isinstance(value, list):
        yield place, value
