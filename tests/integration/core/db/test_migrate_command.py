"""`mandate-wallet migrate` on the command line: it explains itself, and says what is wrong with
a URL without a traceback.
"""

import pytest
from sqlalchemy import text

from api.tables import import_tables
from core.db import migrate, revisions
from core.db.engine import Database


def test_help__explains_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert migrate.main(["--help"], import_tables) == 0
    assert "mandate-wallet migrate upgrade " in capsys.readouterr().out


@pytest.mark.parametrize("url", ["nonsense", "nosuch://host/name", "postgresql+nosuch://host/name"])
def test_a_url_of_no_database__is_a_sentence(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert migrate.main(["current", url], import_tables) == 1
    said = capsys.readouterr().err
    assert "write postgresql+psycopg://user:password@host/name" in said
    assert "Traceback" not in said


def test_a_database_that_does_not_answer__is_a_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        migrate.main(["current", "postgresql+psycopg://nobody@127.0.0.1:9/none"], import_tables)
        == 1
    )
    assert (
        capsys.readouterr().err
        == "The database does not answer; check the URL's host, port and password.\n"
    )


def test_the_url__comes_from_the_environment_and_stands_in_no_argument(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    assert migrate.main(["upgrade"], import_tables) == 0
    assert migrate.main(["current"], import_tables) == 0
    assert capsys.readouterr().out == f"{revisions.newest()}\n"
    monkeypatch.delenv("DATABASE_URL")
    assert migrate.main(["current"], import_tables) == 1
    assert capsys.readouterr().err == (
        "DATABASE_URL: it is not set: write postgresql+psycopg://user:password@host/name.\n"
    )


@pytest.mark.parametrize("command", ["upgrade", "adopt", "current", "check", "draft"])
def test_help_of_a_command__is_help_and_changes_nothing(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = revisions.newest()
    assert migrate.main([command, "--help"], import_tables) == 0
    assert "mandate-wallet migrate upgrade " in capsys.readouterr().out
    assert migrate.main([command, "--no-such-option"], import_tables) == 2
    assert revisions.newest() == before


def test_a_revision_that_this_code_does_not_know__is_a_sentence(
    database: Database, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with database.write() as session:
        session.execute(text("update alembic_version set version_num = '9999'"))
    assert migrate.main(["upgrade", database_url], import_tables) == 1
    assert capsys.readouterr().err == (
        f"Can't locate revision identified by '9999'. This code knows up to {revisions.newest()}.\n"
    )


def test_a_role_that_may_not_migrate__is_a_sentence(
    database: Database, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with database.write() as session:
        session.execute(text("create role nobody_of_the_tests login"))
    url = database_url.replace("://mandate@", "://nobody_of_the_tests@")
    try:
        assert migrate.main(["upgrade", url], import_tables) == 1
        assert capsys.readouterr().err == (
            "permission denied for table alembic_version; name the role that owns the tables.\n"
        )
    finally:
        with database.write() as session:
            session.execute(text("drop role nobody_of_the_tests"))
