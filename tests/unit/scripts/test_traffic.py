"""What the soak counts as an error."""

import json

import pytest

from tests.bench.traffic import Tally, outcome


def refusal(reason: str) -> bytes:
    return json.dumps({"service": {"reason": reason}}).encode()


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, b"", "served"),
        (304, b"", "served"),
        (429, refusal("rate_limited"), "refused"),
        (503, refusal("temporarily_unavailable"), "refused"),
        (500, refusal("internal_error"), "error"),
        (500, b"Internal Server Error", "error"),
        (503, b"no upstream", "error"),
        (404, b"{}", "error"),
        (409, b"[]", "error"),
    ],
)
def test_an_answer__is_served_or_refuses_with_a_reason_or_is_an_error(
    status: int, body: bytes, kind: str
) -> None:
    assert outcome(status, body)[0] == kind


def test_percentiles__are_of_what_callers_waited() -> None:
    tally = Tally(latencies_s=[n / 1000 for n in range(1, 101)])
    assert (tally.p(50), tally.p(99), tally.p(100), Tally().p(99)) == (51.0, 100.0, 100.0, 0.0)
