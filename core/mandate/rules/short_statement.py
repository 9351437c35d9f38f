"""What a week's statement does not know of a ledger that is short: null, so that no figure and no
sum of figures passes for the truth.

A gap that begins after the week's end takes nothing from the week; one that begins in it leaves
what was known at its start.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.mandate.rules.short_progress import NONE

AT_THE_START = (("worth", "start"), ("cash", "start"))
# blocks of which missing facts may move every figure
MOVED = ("worth", "cash", "flows", "result", "fees")
MOST_NAMED = 5


def short_statement(answer: Mapping[str, Any], *, is_start_known: bool) -> dict[str, Any]:
    """The answer with null for what the missing facts may move.

    What was signed and what agents were flagged for stays.
    """
    changed = {name: _emptied(answer[name]) for name in MOVED}
    changed["worth"]["source"] = NONE
    if is_start_known:
        for block, name in AT_THE_START:
            changed[block][name] = answer[block][name]
    breaches = answer["breaches"]
    changed["breaches"] = breaches | {"reverts": {"count": None}, "refusals": {"count": None}}
    if "allowed_vs_used" in answer:
        used = answer["allowed_vs_used"]
        day = used["busiest_day"] | {"used": None, "ended_at": None}
        changed["allowed_vs_used"] = {
            "largest_move": used["largest_move"] | {"used": None},
            "busiest_day": day,
        }
    return {**answer, "status": None, **changed}


def unwritten_statement(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The statement of a week before the mandate was written: no figure of it is 0."""
    short = short_statement(answer, is_start_known=False)
    return short | {"breaches": short["breaches"] | {"violations": {"count": None, "codes": []}}}


def _emptied(block: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _emptied(value) if isinstance(value, Mapping) else None
        for name, value in block.items()
    }


def summed(sums: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sums, null where one of the parts is: one unknown makes the sum unknown.

    Says `data_issue` when a part does.
    """
    known = {name: _summed(value, [part[name] for part in parts]) for name, value in sums.items()}
    return known | issue_of_parts(parts)


def _summed(value: Any, parts: Sequence[Any]) -> Any:
    if isinstance(value, Mapping):
        return {name: _summed(one, [part[name] for part in parts]) for name, one in value.items()}
    return None if None in parts else value


def issue_of_parts(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """{data_issue, data_issue_reason} of what was made of several mandates' numbers; empty when all
    of them are whole.
    """
    named = [part["mandate_id"] for part in parts if part.get("data_issue")]
    if not named:
        return {}
    first, more = ", ".join(named[:MOST_NAMED]), len(named) - MOST_NAMED
    names = first if more <= 0 else f"{first} and {more} more"
    reason = (
        f"The numbers of {names} are not the whole truth, so sums with them are not either; each "
        "mandate's own reason says why."
    )
    return {"data_issue": True, "data_issue_reason": reason}
