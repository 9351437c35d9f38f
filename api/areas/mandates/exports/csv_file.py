"""A statement as CSV by RFC 4180: UTF-8 without a mark, comma, CRLF, one header, the same number of cells on every line.

Laws
- The first column says what a line is: about, caution, total, figure, step, disclosure. A cell that means nothing on a line is empty, and
  so is what is unknown; money has six decimals; lists and objects are JSON.
- A text that a spreadsheet would run as a formula gets an apostrophe in front (`'=1+1`). Numbers are left alone, negative ones too.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from api.areas.mandates.exports.figures import figures, figures_of_total, issue_of, leaves

ABOUT = ("mandate_id", "agent_id", "vault_address", "strategy", "status", "market_mode")
STEP = (
    "id", "group", "at", "kind", "code", "status", "reported_by", "confirmed_on_chain", "est", "amount_usdc", "tx_hash", "why", "note",
    "resource", "target", "allowed_by", "breached", "clauses", "params",
)  # fmt: skip
OF_WEEK = ("line", "name", "value", *STEP)
OF_ALL = ("line", "mandate_id", "market_mode", "name", "value")

_NUMBER = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")  # noqa: RUF001 - spreadsheets run the wide ones too


def statement_csv(statement: Mapping[str, Any], head: str, caution: str) -> bytes:
    """One mandate's week. `head`: SEQ:HASH of its record."""
    about = [(name, statement[name]) for name in ABOUT] + [*leaves(statement["period"], "period."), ("record_head", head)]
    lines = [{"line": "about", "name": name, "value": value} for name, value in about]
    lines.append({"line": "caution", "name": statement["market_mode"], "value": caution})
    lines += _issue(statement)
    lines += [{"line": "figure", "name": name, "value": value} for name, value in figures(statement)]
    lines += [{"line": "step", **{name: step[name] for name in STEP}} for step in statement["steps"]]
    return _written(OF_WEEK, [*lines, *_disclosures(statement)])


def all_statements_csv(whole: Mapping[str, Any], cautions: Mapping[str, str]) -> bytes:
    """All mandates of a week. `cautions`: by market mode."""
    lines = [{"line": "about", "name": name, "value": value} for name, value in leaves(whole["period"], "period.")]
    lines += [{"line": "caution", "market_mode": mode, "name": mode, "value": text} for mode, text in cautions.items()]
    for mode, total in whole["totals"].items():
        lines += _issue(total, market_mode=mode)
        lines += [{"line": "total", "market_mode": mode, "name": name, "value": value} for name, value in figures_of_total(total)]
    for one in whole["mandates"]:
        whose = {"mandate_id": one["mandate_id"], "market_mode": one["market_mode"]}
        lines += [{"line": "about", **whose, "name": name, "value": one[name]} for name in ABOUT if name not in whose]
        lines += _issue(one, **whose)
        lines += [{"line": "figure", **whose, "name": name, "value": value} for name, value in figures(one)]
    return _written(OF_ALL, [*lines, *_disclosures(whole)])


def _issue(block: Mapping[str, Any], **whose: str) -> list[dict[str, str]]:
    """The caution of figures that are not the whole truth."""
    why = issue_of(block)
    return [] if why is None else [{"line": "caution", **whose, "name": "data_issue", "value": why}]


def _disclosures(statement: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"line": "disclosure", "name": one["code"], "value": one["text"]} for one in statement["disclosures"]]


def _written(columns: tuple[str, ...], lines: Iterable[Mapping[str, Any]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([cell(line.get(column)) for column in columns] for line in lines)
    return text.getvalue().encode()


def cell(value: Any) -> str:
    """One value as a cell; a text that would begin a formula is made plain text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    text = str(value)
    is_formula = text.lstrip().startswith(_FORMULA) or text.startswith(("\t", "\r", "\n"))
    return f"'{text}" if is_formula and not _NUMBER.fullmatch(text) else text
