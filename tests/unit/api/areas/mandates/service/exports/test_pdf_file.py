"""The statement on paper, read back from the PDF: each figure beside its words, as the JSON has
it.
"""

import io
from collections.abc import Iterator
from itertools import count

import pytest
from pypdf import PdfReader

from api.areas.mandates.service.exports import pdf_file
from api.areas.mandates.service.exports.figures import WORDS, figures, leaves, said
from api.areas.mandates.service.exports.pdf_file import all_statements_pdf, statement_pdf
from tests.unit.api.areas.mandates.service.exports.weeks import (
    CAUTION,
    HEAD,
    said_by_the_agent,
    week,
    whole,
)


def text_of(content: bytes) -> str:
    """The text of all pages with single spaces."""
    return " ".join(
        " ".join(page.extract_text() for page in PdfReader(io.BytesIO(content)).pages).split()
    )


def fonts_of(content: bytes) -> Iterator[str]:
    """What is embedded, without the mark of a subset."""
    for page in PdfReader(io.BytesIO(content)).pages:
        for font in page["/Resources"]["/Font"].values():  # type: ignore[index]  # pypdf types every object as any kind
            yield str(font.get_object()["/BaseFont"]).partition("+")[2]


def test_statement__every_figure__stands_beside_its_words() -> None:
    statement = week()
    text = text_of(statement_pdf(statement, HEAD, CAUTION))
    assert [
        name for name, value in figures(statement) if f"{WORDS[name]} {said(value)}" not in text
    ] == []
    for part in (
        "m_abcdefghij",
        statement["vault_address"],
        "Agent 1001",
        "2026-02-02 to 2026-02-09",
        CAUTION,
        HEAD,
        "Page 1 of 2",
    ):
        assert part in text


@pytest.mark.slow
def test_statement__every_step_and_disclosure__is_there() -> None:
    statement = week()
    text = text_of(statement_pdf(statement, HEAD, CAUTION))
    for step in statement["steps"]:
        assert f"{step['at'][:10]} {step['at'][11:19]} {step['code'].replace('_', ' ')}" in text
        assert (step["tx_hash"] or "") in text.replace(" ", "")
        assert (
            step["amount_usdc"] is None
            or f"{step['reported_by']} {step['status']} {step['amount_usdc']}" in text
        )
    assert "Outside clause 2 agent flagged 500.000000" in text
    assert [one["text"] for one in statement["disclosures"] if one["text"] not in text] == []


def test_statement__equal_data__gives_equal_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Printed at different seconds: a font that is cut to its letters must not carry the time."""
    seconds = count(4_000_000_000)
    monkeypatch.setattr("fontTools.ttLib.tables._h_e_a_d.timestampNow", lambda: next(seconds))
    assert statement_pdf(week(), HEAD, CAUTION) == statement_pdf(week(), HEAD, CAUTION)


def test_statement__in_korean__is_drawn_with_our_font() -> None:
    printed = statement_pdf(said_by_the_agent("가격이 내려서 조금 샀습니다"), HEAD, CAUTION)
    assert "가격이 내려서 조금 샀습니다" in text_of(printed)
    assert set(fonts_of(printed)) == {"Paper-latin", "Paper-latin-Bold", "Paper-korean"}
    assert set(fonts_of(statement_pdf(week(), HEAD, CAUTION))) == {
        "Paper-latin",
        "Paper-latin-Bold",
    }


@pytest.mark.slow
def test_statement__what_the_agent_writes__is_text_and_nothing_else() -> None:
    text = text_of(
        statement_pdf(
            said_by_the_agent("<b>x</b>{{ 7*7 }}<img src='http://127.0.0.1:9/a'> 🎉"), HEAD, CAUTION
        )
    )
    assert "<b>x</b>{{ 7*7 }}<img src='http://127.0.0.1:9/a'> [U+1F389]" in text


@pytest.mark.slow
def test_statement__of_more_steps_than_fit__says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    statement = week()
    in_all = len(statement["steps"])
    assert "steps. The figures count all" not in text_of(statement_pdf(statement, HEAD, CAUTION))
    monkeypatch.setattr(pdf_file, "STEPS_SHOWN", in_all - 1)
    text = text_of(statement_pdf(statement, HEAD, CAUTION))
    assert f"The newest {in_all - 1} of {in_all} steps. The figures count all of them" in text
    assert "instruction purpose" not in text


@pytest.mark.parametrize(("letters", "more"), [(300, False), (301, True)])
@pytest.mark.slow
def test_statement__a_long_reason__is_cut_and_says_so(letters: int, more: bool) -> None:
    text = text_of(
        statement_pdf(said_by_the_agent("ab" * 150 + "c" * (letters - 300)), HEAD, CAUTION)
    )
    assert "ab" * 150 in text.replace(" ", "")
    assert ("[... 1 more letters; the CSV has all]" in text) is more


@pytest.mark.slow
def test_all__totals_and_lines_of_mandates__are_those_of_the_json() -> None:
    found = whole()
    text = text_of(all_statements_pdf(found, {"paper": "P caution.", "testnet": "T caution."}))
    for total in found["totals"].values():
        assert [
            name for name, value in leaves(total) if f"{WORDS[name]} {said(value)}" not in text
        ] == []
    for one in found["mandates"]:
        shown = [
            one["worth"]["end"],
            one["flows"]["net_deposits"],
            one["result"]["realized"],
            one["result"]["estimated"],
        ]
        assert (
            " ".join([one["status"], one["market_mode"], *shown, one["flows"]["unexplained"]])
            in text
        )
        assert one["mandate_id"] in text
    assert "P caution. T caution." in text


def test_all__of_more_mandates_than_fit__says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    found = whole()
    in_all = len(found["mandates"])
    cautions = {"paper": "P caution.", "testnet": "T caution."}
    assert "The figures in all count all" not in text_of(all_statements_pdf(found, cautions))
    monkeypatch.setattr(pdf_file, "MANDATES_SHOWN", in_all - 1)
    text = text_of(all_statements_pdf(found, cautions))
    assert (
        f"The newest {in_all - 1} of {in_all} mandates. The figures in all count all of them"
        in text
    )
