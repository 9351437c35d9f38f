"""Statements as CSV and PDF through HTTP: the same figures as the JSON, a name to save under, and
refusals that say what to do.
"""

import csv
import io
import json

import httpx
import pytest
from pypdf import PdfReader

from api.areas.mandates.service.exports.figures import WORDS, figures, said
from api.catalogue import catalogue
from tests.each import each
from tests.integration.api.mandates.stage import ADAPTER, USDC, Stage, reason

WEEK = "2026-W47"


@pytest.fixture
def mandate_id(stage: Stage) -> str:
    """It spent 200 of 1000, and its agent says why in a way that a spreadsheet would run."""
    found = stage.working()
    stage.executed(found, 200 * USDC)
    stage.post(
        f"/mandates/{found}/events",
        stage.agent,
        {"kind": "note", "why": "=HYPERLINK(1), 가격"},
        status=200,
    )
    return found


def exported(stage: Stage, path: str, form: str) -> httpx.Response:
    answer = stage.call("GET", path, stage.owner, week=WEEK, format=form)
    assert answer.status_code == 200, answer.text
    return answer


def lines_of(answer: httpx.Response) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(answer.content.decode(), newline=""), strict=True))


def text_of(answer: httpx.Response) -> str:
    return " ".join(
        " ".join(
            page.extract_text() for page in PdfReader(io.BytesIO(answer.content)).pages
        ).split()
    )


def test_statement__as_csv__has_the_figures_of_the_json(stage: Stage, mandate_id: str) -> None:
    path = f"/mandates/{mandate_id}/statement"
    answer = exported(stage, path, "csv")
    shown = {line["name"]: line["value"] for line in lines_of(answer) if line["line"] == "figure"}
    told = dict(figures(stage.get(path, stage.owner, week=WEEK)))
    texts = {name: value for name, value in told.items() if isinstance(value, str)}
    assert {name: shown[name] for name in texts} == texts
    assert (shown["flows.spent"], shown["flows.deposits"], len(shown)) == (
        "200.000000",
        "1000.000000",
        len(told),
    )
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert (
        answer.headers["content-disposition"]
        == f'attachment; filename="statement-{mandate_id}-{WEEK}.csv"'
    )
    assert [line["why"] for line in lines_of(answer) if line["why"]] == ["'=HYPERLINK(1), 가격"]


@pytest.mark.slow
def test_statement__as_pdf__has_the_figures_of_the_json_and_the_records_head(
    stage: Stage, mandate_id: str
) -> None:
    path = f"/mandates/{mandate_id}/statement"
    answer = exported(stage, path, "pdf")
    text = text_of(answer)
    told = figures(stage.get(path, stage.owner, week=WEEK))
    assert [name for name, value in told if f"{WORDS[name]} {said(value)}" not in text] == []
    assert "TEST NETWORK: chain id 84532" in text and "=HYPERLINK(1), 가격" in text
    head = json.loads(
        stage.call("GET", f"/mandates/{mandate_id}/record", stage.owner).text.splitlines()[-1]
    )["head"]
    assert f"{head['seq']}:{head['row_hash']}" in text
    assert answer.headers["content-type"] == "application/pdf"
    assert (
        answer.headers["content-disposition"]
        == f'attachment; filename="statement-{mandate_id}-{WEEK}.pdf"'
    )


@pytest.mark.parametrize("path", ["/mandates/{id}/statement", "/me/statement"])
def test_statement__with_a_byte_order_mark__is_the_same_csv_behind_it(
    stage: Stage, mandate_id: str, path: str
) -> None:
    """Excel reads a CSV without one as the code page of its machine."""
    path = path.format(id=mandate_id)
    plain = exported(stage, path, "csv").content
    query = {"week": WEEK, "format": "csv"}
    marked = stage.call("GET", path, stage.owner, **query, bom="1")
    assert (marked.status_code, marked.content) == (200, b"\xef\xbb\xbf" + plain)
    assert marked.content.decode("utf-8-sig").startswith("line,")
    assert stage.call("GET", path, stage.owner, **query, bom="0").content == plain


@each("form", ["json", "pdf"])
@each("path", ["/mandates/{id}/statement", "/me/statement"])
def test_statement__with_a_mark_in_another_form__is_refused_with_the_field_named(
    stage: Stage, mandate_id: str, path: str, form: str
) -> None:
    path = path.format(id=mandate_id)
    answer = stage.call("GET", path, stage.owner, format=form, bom="1")
    assert reason(answer) == (400, "invalid_parameter")
    assert answer.json()["detail"].startswith("bom: only a CSV has a byte-order mark")


def test_every_route_of_a_csv__takes_a_mark() -> None:
    routes = [one for one in catalogue().operations if "text/csv" in one.media]
    assert len(routes) == 2
    assert all("bom" in one.command.model_fields for one in routes)


@each("form", ["xlsx", "PDF", ""])
@each("path", ["/mandates/{id}/statement", "/me/statement"])
def test_statement__in_another_form__is_refused_with_the_field_named(
    stage: Stage, mandate_id: str, path: str, form: str
) -> None:
    answer = stage.call("GET", path.format(id=mandate_id), stage.owner, format=form)
    assert reason(answer) == (400, "invalid_parameter")
    assert answer.json()["detail"] == "format: write 'json', 'csv' or 'pdf'."


def test_statement_of_all__of_an_owner_without_mandates__says_so(stage: Stage) -> None:
    assert "None was signed." in text_of(exported(stage, "/me/statement", "pdf"))
    assert {line["line"] for line in lines_of(exported(stage, "/me/statement", "csv"))} == {
        "about",
        "disclosure",
    }


def reported_falsely(stage: Stage, mandate_id: str) -> str:
    """The path of the statement."""
    tx_hash = "0x" + "ab" * 32
    stage.executed(mandate_id, 10 * USDC, tx_hash=tx_hash)
    body = {"kind": "buy", "amount_usdc": "11", "tx_hash": tx_hash, "payload": {"target": ADAPTER}}
    stage.post(f"/mandates/{mandate_id}/events", stage.agent, body, status=202)
    return f"/mandates/{mandate_id}/statement"


@pytest.mark.slow
def test_statement__of_a_false_report__says_on_paper_what_the_chain_says(
    stage: Stage, mandate_id: str
) -> None:
    path = reported_falsely(stage, mandate_id)
    assert "Not what the chain says: other amount" in text_of(exported(stage, path, "pdf"))
