"""A report is never larger than it is worth."""

from typer.testing import CliRunner

from api.client.verify.findings import MOST_CHARACTERS, MOST_TEXTS, NAMES, Report, Verdict
from api.client.verify.main import app


def test_what_is_left_open__is_kept_up_to_its_bound() -> None:
    report = Report()
    for number in range(MOST_TEXTS + 7):
        report.unchecked.append(f"{number} " + "x" * 2 * MOST_CHARACTERS)
        report.remarks.append(str(number))
    assert len(report.unchecked) == len(report.remarks) == MOST_TEXTS + 1
    assert report.unchecked[-1] == "... and 7 more like these"
    assert len(report.unchecked[0]) == MOST_CHARACTERS + 3
    assert report.verdict is Verdict.UNCHECKED


def test_paper__is_claims_only_and_differences_come_before() -> None:
    report = Report(is_paper=True)
    assert report.verdict is Verdict.CLAIMS_ONLY
    report.unchecked.append("the node is away")
    assert report.verdict is Verdict.UNCHECKED
    report.say("row.time", 1, "at another time")
    assert report.verdict is Verdict.DIFFERENT


def test_the_command__prints_every_name_with_its_meaning() -> None:
    printed = CliRunner().invoke(app, ["--names"])
    lines = dict(line.split(maxsplit=1) for line in printed.stdout.splitlines())
    assert (printed.exit_code, lines) == (0, dict(NAMES))
