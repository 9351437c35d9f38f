"""`python -m core.db.migrate` on the command line: it explains itself, and says what is wrong with
a URL without a traceback.
"""

import pytest

from core.db import migrate


def test_help__explains_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert migrate.main(["--help"]) == 0
    assert "python -m core.db.migrate upgrade " in capsys.readouterr().out


@pytest.mark.parametrize("url", ["nonsense", "nosuch://host/name", "postgresql+nosuch://host/name"])
def test_a_url_of_no_database__is_a_sentence(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert migrate.main(["current", url]) == 1
    said = capsys.readouterr().err
    assert "write postgresql+psycopg://user:password@host/name" in said
    assert "Traceback" not in said


def test_a_database_that_does_not_answer__is_a_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert migrate.main(["current", "postgresql+psycopg://nobody@127.0.0.1:9/none"]) == 1
    assert (
        capsys.readouterr().err
        == "The database does not answer; check the URL's host, port and password.\n"
    )


def test_the_url__comes_from_the_environment_and_stands_in_no_argument(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    assert migrate.main(["upgrade"]) == 0
    assert migrate.main(["current"]) == 0
    assert capsys.readouterr().out == f"{migrate.head()}\n"
    monkeypatch.delenv("DATABASE_URL")
    assert migrate.main(["current"]) == 1
    assert "write postgresql+psycopg://user:password@host/name" in capsys.readouterr().err
