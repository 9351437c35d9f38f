"""Notes as text: what each tier shows, and that their links are those that the rules know."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from api.areas.notes.rendering.markdown import index_text, note_text
from api.areas.notes.rendering.vault import vault_of
from api.areas.notes.rules.facts import (
    NoteClaim,
    NoteEvent,
    NoteFacts,
    NoteLink,
    NoteOnchain,
    NoteProject,
    NoteTier,
    NoteTrackRecord,
)
from api.areas.notes.rules.names import INDEX
from api.areas.notes.rules.note import edges
from tests.unit.api.areas.notes.rules.test_note import NOON, WHOLE, venue
from tests.vaults import faults_of, front_and_body, wikilinks_of

VERIFIED = NoteClaim("backer", "Led the round", "https://e.example/a", True, NOON, "Fund One")
RUMOUR = NoteClaim("partnership", "<b>Soon</b> [x](javascript:1)", "javascript:1", False, NOON)
FULL = replace(
    WHOLE,
    related=("CON", "NO"),
    links=(NoteLink("eip155:1:0x1", "eip155:10:0x2", ("okx",), True, False),),
    events=(
        NoteEvent("withdraw_closed", "okx", NOON, "eip155:1"),
        NoteEvent("delist_notice", "okx", NOON, None, "X will be delisted", "https://e.example/n"),
        NoteEvent("delist_notice", "okx", NOON, None, "[[evil]]", "javascript:alert(1)"),
    ),
    project=(NoteProject("website_url", "https://x.example/", "okx", NOON),),
    onchain=(NoteOnchain("eip155:1", 1e6, 50, None, 7, NOON),),
    claims=(VERIFIED, RUMOUR),
    track_record=NoteTrackRecord(5, 3, 12.5, NOON),
)


def body_of(facts: NoteFacts, tier: NoteTier) -> str:
    return front_and_body(note_text(facts, tier, NOON))[1]


@pytest.mark.parametrize("tier", NoteTier)
def test_the_links_of_a_note__are_its_edges_and_the_index(tier: NoteTier) -> None:
    written = set(wikilinks_of(body_of(FULL, tier)))
    assert written == {one.path for one in edges(FULL)} | {INDEX}


@pytest.mark.parametrize("tier", NoteTier)
def test_claims_and_the_paper_fund__are_on_both_tiers(tier: NoteTier) -> None:
    body = body_of(FULL, tier)
    verified, rumours = body.index("Verified claims"), body.index("**Not facts.**")
    assert verified < body.index("Led the round") < rumours < body.index("Soon")
    assert "- *Unverified.* partnership: \\<b\\>Soon" in body
    assert "(source `javascript:1`, 2026-11-26)" in body
    assert (
        "Paper trades, never real money: 5 closed since 2026-11-26, 3 with a gain, 12.5 USD" in body
    )


@pytest.mark.parametrize("tier", NoteTier)
def test_without_claims_or_trades__their_sections_are_absent(tier: NoteTier) -> None:
    body = body_of(WHOLE, tier)
    assert "Community intel" not in body
    assert "Shadow-fund" not in body


def test_claims_of_a_token_that_nobody_lists__are_shown() -> None:
    body = body_of(NoteFacts(token="NEW", claims=(VERIFIED, RUMOUR)), NoteTier.FREE)
    assert "Coverage is limited" in body
    assert "- Backer: [[backer/fund_one--" in body
    assert "## Community intel" in body


def test_what_is_not_known__is_no_text() -> None:
    body = body_of(replace(WHOLE, venues=(), onchain=()), NoteTier.PRO)
    assert "None" not in body
    assert "unknown" in body  # of deposits and withdrawals, which are neither open nor closed


def test_a_figure_that_is_not_known__is_left_out_of_its_line() -> None:
    body = body_of(FULL, NoteTier.PRO)
    assert (
        "- `eip155:1`, 2026-11-26: supply 1,000,000; holders 50; transfers in 24 hours 7\n" in body
    )


def test_a_notices_link__is_one_only_to_https() -> None:
    body = body_of(FULL, NoteTier.FREE)
    assert "[X will be delisted](<https://e.example/n>)" in body
    assert "\\[\\[evil\\]\\] `javascript:alert(1)`" in body


def test_notes_with_all_sections__are_a_vault_without_faults() -> None:
    tokens = [NoteFacts(token=one, is_known=True, exchanges=("okx",)) for one in ("CON", "NO")]
    assert faults_of(vault_of([FULL, *tokens], NOON).content) == []


def test_a_vault_whose_links_lead_nowhere__has_faults() -> None:
    """Or the test of vaults could not fail."""
    assert [one.partition(":")[0] for one in faults_of(vault_of([FULL], NOON).content)] == [
        "X.md"
    ] * 2


def test_the_index__has_tokens_by_how_they_begin() -> None:
    text = index_text(["NO", "BTC", "비트", "1INCH", "CON"], 5, datetime(2026, 11, 26, tzinfo=UTC))
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert headings == ["## 1", "## B", "## C", "## N", "## 비"]
    assert "5 tokens have a note.\n\n## 1" in text


def test_an_index_of_the_first__says_how_many_there_are() -> None:
    """It said that 20,000 tokens have a note wherever there were more."""
    text = index_text(["BTC"], 20_001, datetime(2026, 11, 26, tzinfo=UTC))
    assert "20,001 tokens have a note. These are 1 of them; `GET /kg/notes` lists all" in text


def test_one_price__is_of_listings_that_are_there_and_were_seen_at_the_same_time() -> None:
    """The last price of a delisted pair, or of one that stands still, was compared with those of now."""
    here = replace(venue("okx", 1.0), price_usd=10.0, sampled_at=NOON)
    venues = (
        here,
        replace(here, exchange="gate", price_usd=10.2),
        replace(here, exchange="mexc", price_usd=15.0, status="delisted"),
        replace(here, exchange="bybit", price_usd=20.0, sampled_at=NOON - timedelta(hours=1)),
    )
    body = body_of(replace(WHOLE, venues=venues), NoteTier.PRO)
    one_price = body.partition("## One Price")[2].partition("##")[0]
    assert "From the lowest to the highest: 2.0 % of the median" in one_price
    assert one_price.count("X/USDT") == 3
