"""CSV by RFC 4180: read back by a reader that knows nothing of us, each cell is what the JSON
says.
"""

import csv
import io
import json
from typing import Any

from api.areas.mandates.service.exports.csv_file import STEP, all_statements_csv, statement_csv
from api.areas.mandates.service.exports.csv_text import cell
from api.areas.mandates.service.exports.figures import figures, leaves
from tests.unit.api.areas.mandates.service.exports.weeks import (
    CAUTION,
    HEAD,
    said_by_the_agent,
    week,
    whole,
)


def lines_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline=""), strict=True))


def named(lines: list[dict[str, str]], line: str) -> dict[str, str]:
    return {one["name"]: one["value"] for one in lines if one["line"] == line}


def plain(value: Any) -> str:
    """What a figure's cell holds, said independently of `cell`: JSON without the quotes of a
    text.
    """
    return (
        ""
        if value is None
        else value
        if isinstance(value, str)
        else json.dumps(value, separators=(",", ":"))
    )


def test_statement__every_figure__is_that_of_the_json() -> None:
    statement = week()
    lines = lines_of(statement_csv(statement, HEAD, CAUTION))
    assert named(lines, "figure") == {name: plain(value) for name, value in figures(statement)}
    assert named(lines, "figure")["result.estimated"] == "-29.990000"
    assert named(lines, "about")["record_head"] == HEAD
    assert named(lines, "caution") == {"testnet": CAUTION}
    assert list(named(lines, "disclosure")) == [
        "net_of_fees",
        "past_results",
        "estimates",
        "off_switch",
    ]


def test_statement__every_step__is_one_line_of_its_fields() -> None:
    statement = week()
    steps = [
        line for line in lines_of(statement_csv(statement, HEAD, CAUTION)) if line["line"] == "step"
    ]
    assert [[step[name] for name in STEP] for step in steps] == [
        [cell(step[name]) for name in STEP] for step in statement["steps"]
    ]
    assert set(statement["steps"][0]) == set(STEP)
    assert [step["amount_usdc"] for step in steps if step["code"] == "action_buy"] == ["500.000000"]


def test_statement__lines__end_with_crlf_and_have_equally_many_cells() -> None:
    content = statement_csv(week(), HEAD, CAUTION)
    assert content.startswith(b"line,name,value,id,") and content.endswith(b"\r\n")
    assert b"\n" not in content.replace(b"\r\n", b"")
    assert {len(row) for row in csv.reader(io.StringIO(content.decode(), newline=""))} == {22}


def test_statement__quotes_commas_and_line_breaks_of_the_agent__stay_in_their_cell() -> None:
    why = 'He said "sell", then:\r\n1,2,3\n안녕'
    steps = lines_of(statement_csv(said_by_the_agent(why), HEAD, CAUTION))
    assert [step["why"] for step in steps if step["why"]] == [why.replace("\r\n", "\n")]


def test_all__totals_and_every_figure_of_every_mandate__are_those_of_the_json() -> None:
    found = whole()
    lines = lines_of(all_statements_csv(found, {"paper": "P", "testnet": "T"}))
    for mode, total in found["totals"].items():
        shown = {
            line["name"]: line["value"]
            for line in lines
            if line["line"] == "total" and line["market_mode"] == mode
        }
        assert shown == {name: plain(value) for name, value in leaves(total)}
    for one in found["mandates"]:
        shown = {
            line["name"]: line["value"]
            for line in lines
            if line["line"] == "figure" and line["mandate_id"] == one["mandate_id"]
        }
        assert shown == {name: plain(value) for name, value in figures(one)}
    assert named(lines, "caution") == {"paper": "P", "testnet": "T"}
