"""A statement on paper: A4, the figures of its JSON digit by digit, its steps, what it does not
promise and how to check it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from api.areas.mandates.service.exports.figures import (
    UNKNOWN,
    WORDS,
    figures,
    figures_of_total,
    issue_of,
    said,
)
from api.areas.mandates.service.exports.printing import pdf_of
from api.kernel.pdf.letters import drawable

TEMPLATES = Path(__file__).parent / "templates"
# of a week, the newest; paper beyond that is read by nobody and takes seconds to print
STEPS_SHOWN = 200
MANDATES_SHOWN = 500
LETTERS_SHOWN = 300  # of a reason or a note, as they are drawn, for the same reason
HEADINGS: Mapping[str, str] = {
    "worth": "Worth",
    "cash": "Cash",
    "flows": "Flows",
    "result": "Result, net of fees",
    "fees": "Fees",
    "allowed_vs_used": "Allowed and used",
    "breaches": "Breaches",
}
# left and right of the page
HALVES = (("worth", "cash", "flows"), ("result", "fees", "allowed_vs_used", "breaches"))


def statement_pdf(statement: Mapping[str, Any], head: str, caution: str) -> bytes:
    """One mandate's week.

    `head`: SEQ:HASH of its record. Errors: Refusal temporarily_unavailable.
    """
    steps: Sequence[Mapping[str, Any]] = statement["steps"]
    values = {
        "statement": statement,
        "head": head,
        "cautions": [one for one in (caution, issue_of(statement)) if one is not None],
        "halves": [_blocks(statement, half) for half in HALVES],
        "steps": [
            {**step, "why": _short(step["why"]), "note": _short(step["note"])}
            for step in steps[:STEPS_SHOWN]
        ],
        "steps_in_all": len(steps),
        "unknown": UNKNOWN,
    }
    return pdf_of(TEMPLATES, "statement", values)


def all_statements_pdf(whole: Mapping[str, Any], cautions: Mapping[str, str]) -> bytes:
    """All mandates of a week. Errors: Refusal temporarily_unavailable."""
    totals = {
        mode: [(WORDS.get(name, name), said(value)) for name, value in figures_of_total(total)]
        for mode, total in whole["totals"].items()
    }
    values = {
        "whole": whole,
        "mandates": whole["mandates"][:MANDATES_SHOWN],
        "cautions": cautions,
        "totals": totals,
        "issues": {mode: issue_of(total) for mode, total in whole["totals"].items()},
        "unknown": UNKNOWN,
    }
    return pdf_of(TEMPLATES, "all_statements", values)


def _short(text: str | None) -> str | None:
    """The text, or its beginning and how much more there is."""
    if text is None:
        return None
    drawn = drawable(text)
    left = len(drawn) - LETTERS_SHOWN
    return (
        drawn
        if left <= 0
        else f"{drawn[:LETTERS_SHOWN]} [... {left} more letters; the CSV has all]"
    )


def _blocks(
    statement: Mapping[str, Any], names: Sequence[str]
) -> list[tuple[str, list[tuple[str, str]]]]:
    """(heading, lines of words and figure) of each block."""
    lines = figures(statement)
    return [
        (
            HEADINGS[block],
            [
                (WORDS.get(name, name), said(value))
                for name, value in lines
                if name.startswith(f"{block}.")
            ],
        )
        for block in names
    ]
