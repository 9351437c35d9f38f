"""A statement as CSV; how its cells are written, and that no spreadsheet runs one:
api.areas.mandates.service.exports.csv_text.

The first column says what a line is: about, caution, total, figure, step, disclosure. A cell that
means nothing on a line is empty. Money has six decimals.
"""

from collections.abc import Mapping
from typing import Any

from api.areas.mandates.service.exports.csv_text import csv_text
from api.areas.mandates.service.exports.figures import figures, figures_of_total, issue_of, leaves

ABOUT = ("mandate_id", "agent_id", "vault_address", "strategy", "status", "market_mode")
STEP = (
    "id", "group", "at", "kind", "code", "status", "reported_by", "confirmed_on_chain", "est",
    "amount_usdc", "tx_hash", "why", "note",
    "resource", "target", "allowed_by", "breached", "clauses", "params",
)  # fmt: skip
OF_WEEK = ("line", "name", "value", *STEP)
OF_ALL = ("line", "mandate_id", "market_mode", "name", "value")


def statement_csv(statement: Mapping[str, Any], head: str, caution: str) -> bytes:
    """One mandate's week. `head`: SEQ:HASH of its record."""
    about = [(name, statement[name]) for name in ABOUT] + [
        *leaves(statement["period"], "period."),
        ("record_head", head),
    ]
    lines = [{"line": "about", "name": name, "value": value} for name, value in about]
    lines.append({"line": "caution", "name": statement["market_mode"], "value": caution})
    lines += _issue(statement)
    lines += [
        {"line": "figure", "name": name, "value": value} for name, value in figures(statement)
    ]
    lines += [
        {"line": "step", **{name: step[name] for name in STEP}} for step in statement["steps"]
    ]
    return csv_text(OF_WEEK, [*lines, *_disclosures(statement)])


def all_statements_csv(whole: Mapping[str, Any], cautions: Mapping[str, str]) -> bytes:
    """All mandates of a week. `cautions`: by market mode."""
    lines = [
        {"line": "about", "name": name, "value": value}
        for name, value in leaves(whole["period"], "period.")
    ]
    lines += [
        {"line": "caution", "market_mode": mode, "name": mode, "value": text}
        for mode, text in cautions.items()
    ]
    for mode, total in whole["totals"].items():
        lines += _issue(total, market_mode=mode)
        lines += [
            {"line": "total", "market_mode": mode, "name": name, "value": value}
            for name, value in figures_of_total(total)
        ]
    for one in whole["mandates"]:
        whose = {"mandate_id": one["mandate_id"], "market_mode": one["market_mode"]}
        lines += [
            {"line": "about", **whose, "name": name, "value": one[name]}
            for name in ABOUT
            if name not in whose
        ]
        lines += _issue(one, **whose)
        lines += [
            {"line": "figure", **whose, "name": name, "value": value}
            for name, value in figures(one)
        ]
    return csv_text(OF_ALL, [*lines, *_disclosures(whole)])


def _issue(block: Mapping[str, Any], **whose: str) -> list[dict[str, str]]:
    """The caution of figures that are not the whole truth."""
    why = issue_of(block)
    return [] if why is None else [{"line": "caution", **whose, "name": "data_issue", "value": why}]


def _disclosures(statement: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"line": "disclosure", "name": one["code"], "value": one["text"]}
        for one in statement["disclosures"]
    ]
