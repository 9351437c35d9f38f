"""What the runbook says to ask of the database can be asked, and ends nobody but who is named."""

import re
from pathlib import Path

import pytest
from sqlalchemy import text

from core.db.engine import Database
from indexer.main import NAME as INDEXER
from keeper.main import NAME as KEEPER

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "docs" / "operations.md", *sorted((ROOT / "docs" / "operations").glob("*.md")))
STATEMENTS = sorted(
    {one for page in PAGES for one in re.findall(r"`(select [^`]+)`", page.read_text())}
)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_of_a_page__is_understood(database_url: str, statement: str) -> None:
    database = Database(database_url)
    try:
        with database.read() as session:
            assert session.execute(text(f"explain {statement}")).all()
    finally:
        database.close()


def test_a_lead_is_taken_from_one_loop_and_not_from_all() -> None:
    ending = [one for one in STATEMENTS if "pg_terminate_backend" in one]
    named = {name for one in ending for name in re.findall(r"where name = '(\w+)'$", one)}
    assert len(ending) == len(named)
    assert named == {INDEXER, KEEPER}
