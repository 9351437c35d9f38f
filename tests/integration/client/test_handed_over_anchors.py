"""A stolen key posted a false root: after a handover the record is sound, and says what is unproven."""

import json
from collections.abc import Iterator

import pytest

from core.db.embedded import EmbeddedPostgres
from tests.integration.client.anchoring import AnchoredRecord, handed_over_record
from tests.integration.client.conftest import names
from tests.integration.client.forging import Forgery
from tests.integration.client.test_anchors import check

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def replaced(postgres: EmbeddedPostgres, template: str) -> Iterator[AnchoredRecord]:
    with handed_over_record(postgres, template) as record:
        yield record


def remark(record: AnchoredRecord, rows: int) -> str:
    stolen = record.first + 3
    return (
        f"epochs {stolen} to {stolen} were posted by a key that was handed over in block "
        f"{record.handed_over}, and have no anchor here: the times of {rows} rows of these hours are "
        "the service's word"
    )


def test_after_a_handover__the_record_is_sound_and_names_the_hours(
    replaced: AnchoredRecord,
) -> None:
    report = check(replaced, replaced.lines)

    assert (report.findings, report.unchecked) == ([], [])
    assert remark(replaced, rows=1) in report.remarks
    epochs = [one["anchor"]["epoch"] for one in map(json.loads, replaced.lines) if "anchor" in one]
    assert replaced.first + 3 not in epochs
    # what was honestly anchored before is proven as it was, and so is what came after
    assert epochs[:4] == [replaced.first + at for at in (-1, 0, 1, 2)]
    assert epochs[4:] == list(range(replaced.first + 4, epochs[-1] + 1))


def test_after_a_handover__another_hour_left_out_is_found(replaced: AnchoredRecord) -> None:
    for which in (2, 5):  # before the stolen hour, and after the handover
        forgery = Forgery.of(replaced.lines)
        del forgery.anchors[which]
        found = names(check(replaced, forgery.lines()))
        assert "anchor.left_out" in found, which


def test_after_a_handover__a_row_that_was_anchored_before_cannot_be_rewritten(
    replaced: AnchoredRecord,
) -> None:
    forgery = Forgery.of(replaced.lines)
    forgery.body("report")["amount_usdc"] = "4.000000"
    forgery.seal()
    assert "anchor.head" in names(check(replaced, forgery.lines()))


def test_a_handover_more_than_a_week_later__excuses_nothing(
    postgres: EmbeddedPostgres, template: str
) -> None:
    """Or a past that was shown could be taken back whenever a key is replaced."""
    with handed_over_record(postgres, template, after_s=8 * 86_400) as late:
        assert "anchor.left_out" in names(check(late, late.lines))


def test_a_false_root_in_the_block_of_the_handover__is_a_remark_all_the_same(
    postgres: EmbeddedPostgres, template: str
) -> None:
    """The thief sees the handover coming and posts right before it: no record was sound ever after."""
    with handed_over_record(postgres, template, is_overtaken=True) as overtaken:
        report = check(overtaken, overtaken.lines)

    assert report.findings == []
    assert remark(overtaken, rows=1) in report.remarks


def test_our_own_root_posted_by_the_thief_on_a_false_one__ends_no_record_for_good(
    postgres: EmbeddedPostgres, template: str
) -> None:
    """A quiet hour's root is that of the hour before, so a thief knows it. It is taken for ours, has its
    line, and stands before the handover: the false hour between is left out for ever.
    """
    with handed_over_record(postgres, template, is_replayed=True) as replayed:
        assert check(replayed, replayed.lines).findings == []
