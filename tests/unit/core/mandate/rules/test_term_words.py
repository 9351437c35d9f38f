"""The table that the clauses and a wallet's descriptor are made from."""

import re
from dataclasses import replace
from typing import Any

from core.mandate.chain.typed_data import TERMS_V2
from core.mandate.rules.clauses import CLAUSE_KEYS, clauses
from core.mandate.rules.targets import parse_targets
from core.mandate.rules.words import (
    TERMS,
    Hidden,
    Shown,
    days_words,
    fields_of,
    percent_text,
    usdc_words,
)
from tests.each import each
from tests.unit.core.mandate.rules.test_clauses import CHAIN, VENUE
from tests.unit.core.mandate.rules.test_clauses import TERMS as SIGNED

# every kind of target, so that each clause has all its words
TARGETS = parse_targets(
    [
        {"kind": "mandate_vault"},
        {"kind": "x402"},
        {"kind": "contract", "address": VENUE, "functions": [{"selector": "0x00000001"}]},
    ],
    CHAIN,
)


def words(text: str) -> set[str]:
    return set(re.findall(r"[a-z0-9]+", text.lower()))


def words_of_clauses() -> dict[str, set[str]]:
    """The words of each clause, of its key and of the names of its figures."""
    made = clauses(replace(SIGNED, approval_above=50_000_000), TARGETS, known={})
    return {
        one["key"]: words(
            f"{one['text_en']} {one['key']} {' '.join(one['params'])}".replace("_", " ")
        )
        for one in made
    }


def test_the_table__has_each_member_of_the_type_once() -> None:
    names = [term.name for term in TERMS]
    assert sorted(names) == sorted(member for _, member in TERMS_V2)


def test_a_label__is_made_of_words_of_its_clause() -> None:
    known = words_of_clauses()
    strange = {
        term.name: words(term.form.label) - known[term.clauses[0]] - {"hash"}
        for term in TERMS
        if term.clauses and isinstance(term.form, Shown)
    }
    assert {name: left for name, left in strange.items() if left} == {}


def test_labels__are_told_apart_by_their_words() -> None:
    labels = [term.form.label for term in TERMS if isinstance(term.form, Shown)]
    assert len(labels) == len(set(labels)) == 15


def test_what_nobody_enforces__is_labelled_stored() -> None:
    pending = {
        one["key"] for one in clauses(SIGNED, TARGETS, known={}) if one["status"] != "enforced"
    }
    stored = {
        term.clauses[0]
        for term in TERMS
        if isinstance(term.form, Shown) and "(stored)" in term.form.label
    }
    assert stored == pending == {"asking", "at_stop"}


def test_a_hidden_member__says_why() -> None:
    hidden = {term.name: term.form.because for term in TERMS if isinstance(term.form, Hidden)}
    assert hidden == {
        "issuedAt": "limits nothing: the end is signed by itself",
        "nonce": "only makes two otherwise equal documents different",
    }


@each(
    ("clause", "fields"),
    [
        ("stop_line", ("stopFloor", "stopFloorBps")),
        ("markets", ("allowedTargetsHash", "guardTargetsHash")),
        ("period", ("endsAt", "horizonDays", "issuedAt")),
        ("your_floors", ("owner", "endsAt")),
    ],
)
def test_fields_of__has_the_source_first(clause: str, fields: tuple[str, ...]) -> None:
    assert fields_of(clause) == fields


def test_each_clause__has_a_signed_member() -> None:
    assert [key for key in CLAUSE_KEYS if not fields_of(key)] == []
    assert {key for term in TERMS for key in term.clauses} == set(CLAUSE_KEYS)


@each(
    ("made", "text"),
    [
        (usdc_words(1_234_500_000), "1,234.5 USDC"),
        (usdc_words(1), "0.000001 USDC"),
        (usdc_words(0), "0 USDC"),
        (percent_text(1_050), "10.50"),
        (percent_text(1), "0.01"),
        (days_words(1), "1 day"),
        (days_words(30), "30 days"),
    ],
)
def test_figures__have_one_form(made: Any, text: str) -> None:
    assert made == text
