"""Anchors in the check in the browser: what verify-record finds of each forgery, by the same names."""

import copy
from collections.abc import Callable, Iterator

import pytest

from core.db.embedded import EmbeddedPostgres
from tests.integration.client.anchoring import AnchoredRecord, anchored_record
from tests.integration.client.browser_check import checked_in_browser
from tests.integration.client.forging import Forgery
from tests.integration.client.tampering import WRONG_HASH
from tests.integration.client.test_anchors import check, names

pytestmark = pytest.mark.slow

Change = Callable[[Forgery], None]


def _dropped(number: int) -> Change:
    def change(forgery: Forgery) -> None:
        del forgery.anchors[number]

    return change


def _anchor(number: int, **changes: object) -> Change:
    return lambda forgery: forgery.anchors[number]["anchor"].update(changes)


def _all_dropped(forgery: Forgery) -> None:
    forgery.anchors.clear()


def _doubled(forgery: Forgery) -> None:
    forgery.anchors.append(copy.deepcopy(forgery.anchors[-1]))


def _row_altered(forgery: Forgery) -> None:
    forgery.body("report")["payload"]["why"] = "I never said that."
    forgery.seal()


CHANGES: dict[str, tuple[Change, str]] = {
    "a line dropped": (_dropped(1), "anchor.left_out"),
    "the first line dropped": (_dropped(0), "anchor.start"),
    "all lines dropped": (_all_dropped, "anchor.left_out"),
    "a line doubled": (_doubled, "anchor.order"),
    "another root": (_anchor(2, root=WRONG_HASH), "anchor.proof"),
    "another transaction": (_anchor(2, tx_hash=WRONG_HASH), "anchor.post"),
    "a height as text": (_anchor(2, block_number="7"), "anchor.form"),
    "a row altered since": (_row_altered, "anchor.head"),
}


@pytest.fixture(scope="module")
def anchored(postgres: EmbeddedPostgres, template: str) -> Iterator[AnchoredRecord]:
    with anchored_record(postgres, template) as record:
        yield record


def test_an_honest_record__has_an_anchor_for_every_post(anchored: AnchoredRecord) -> None:
    found = checked_in_browser(
        anchored.chain, {"honest": anchored.lines}, options=_options(anchored)
    )
    honest = found["honest"]
    assert (honest["findings"], honest["unchecked"]) == ([], [])
    assert honest["counts"]["anchors"] == 4


def test_forged_anchors__are_found_by_the_names_of_the_command(anchored: AnchoredRecord) -> None:
    records = {}
    for what, (change, _) in CHANGES.items():
        forgery = Forgery.of(anchored.lines)
        change(forgery)
        records[what] = forgery.lines()
    found = checked_in_browser(anchored.chain, records, options=_options(anchored))
    wanted = {what: sorted(names(check(anchored, lines))) for what, lines in records.items()}
    assert {what: one["names"] for what, one in found.items()} == wanted
    assert [what for what, (_, name) in CHANGES.items() if name not in wanted[what]] == []


def _options(record: AnchoredRecord) -> dict[str, list[str]]:
    return {
        "recordAnchors": [record.contract],
        "x402Adapters": [record.chain.contracts["x402_adapter"]],
    }
