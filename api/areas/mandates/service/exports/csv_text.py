"""Every CSV that the service writes: RFC 4180, UTF-8 without a mark (a route adds one
that is asked for), comma, CRLF, one header,
equally many cells on every line.

Laws
- No character is hidden: it is `\\u{202e}` in a text, an escape inside JSON (core/texts.py).
- Unknown is an empty cell, yes and no are true and false, lists and objects are JSON. Numbers are
  left alone, negative ones too.
- No cell is run as a formula, wherever a spreadsheet ends it: at its commas, or, where the
  machine's list separator is another, at a semicolon, a tab or a line break inside the text. A text
  gets an apostrophe in front of what would begin a formula there (`'=1+1`, `a;'=1+1`); inside JSON
  that sign is written as an escape, which reads back as itself (`";\\u003d1"`).
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from core.texts import escaped_json, shown

_NUMBER = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
_SIGNS = "=+\\-@＝＋－＠"  # noqa: RUF001 - spreadsheets run the wide ones too
_ENDS = r"[;\t\r\n\v\f\x85\u2028\u2029]"
# what a reader may drop before it looks at the sign
_PASSED_OVER = rf"(?:(?!{_ENDS})[\s\"\x00-\x1f\u200b-\u200f\u2060\ufeff])*"
_FORMULA = re.compile(rf"(\A|{_ENDS})(?={_PASSED_OVER}[{_SIGNS}])")
_IN_JSON = re.compile(rf"({_ENDS}{_PASSED_OVER})([{_SIGNS}])")


def csv_text(columns: Sequence[str], lines: Iterable[Mapping[str, Any]]) -> bytes:
    """A header and a line for each mapping, which may leave columns out.

    Line and column names are ours and are not escaped.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([cell(line.get(column)) for column in columns] for line in lines)
    return text.getvalue().encode()


def cell(value: Any) -> str:
    """One value as a cell that no spreadsheet runs."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int):
        written = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return _IN_JSON.sub(
            lambda found: f"{found[1]}\\u{ord(found[2]):04x}", escaped_json(written)
        )
    text = shown(str(value))
    if _NUMBER.fullmatch(text):
        return text
    begins = text.startswith(("\t", "\r", "\n"))
    return ("'" if begins else "") + _FORMULA.sub(r"\1'", text)
