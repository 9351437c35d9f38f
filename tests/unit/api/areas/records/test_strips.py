"""When a part of a strip is unknown, and when it is a true zero."""

from datetime import UTC, datetime

import pytest

from api.areas.records.rules import Conduct, EndedMandate, HallStanding, StripFacts
from core.mandate.rules.lifecycle import Status
from tests.each import each

NOTHING, ONE = Conduct(), Conduct(mandates=1, refusals=2)
SHORT = Conduct(mandates=1, is_readable=False)
SNAPSHOT = HallStanding()


def facts(conduct: Conduct, hall: HallStanding | None, name: str | None = "quant") -> StripFacts:
    return StripFacts(agent_id=7, name=name, conduct=conduct, ended=(), refusals=(), hall=hall)


@each(
    ("conduct", "hall", "limits"),
    [
        (NOTHING, None, None),
        (NOTHING, SNAPSHOT, NOTHING),
        (ONE, None, ONE),
        (ONE, SNAPSHOT, ONE),
        (SHORT, None, None),
        (SHORT, SNAPSHOT, None),
    ],
)
def test_limits__are_zero_only_with_a_snapshot_and_null_while_a_ledger_is_short(
    conduct: Conduct, hall: HallStanding | None, limits: Conduct | None
) -> None:
    assert facts(conduct, hall).limits == limits


@each(("name", "shown"), [("quant", "quant"), ("", "agent-7"), (None, "agent-7")])
def test_agent_name__of_none_known__is_made_of_the_id(name: str | None, shown: str) -> None:
    assert facts(NOTHING, None, name).agent_name == shown


@pytest.mark.parametrize(("breaches", "kept"), [(0, True), (1, False)])
def test_an_ended_mandate__is_kept_without_a_breach(breaches: int, kept: bool) -> None:
    ended = EndedMandate(
        mandate_id="m_aaaaaaaaaa",
        status=Status.SETTLED,
        ended_at=datetime(2026, 1, 1, tzinfo=UTC),
        breaches=breaches,
    )
    assert ended.is_kept is kept
