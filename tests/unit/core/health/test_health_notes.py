"""What health says when several things are wrong at once."""

from datetime import UTC, datetime

from core.health.rules import Health, IndexerFacts, judge_indexer, judge_replica

NOW = datetime(2026, 11, 22, tzinfo=UTC)
WELL = {
    "now": NOW,
    "beat_at": NOW,
    "cursor": 5,
    "head": 5,
    "moved_at": NOW,
    "block_at": int(NOW.timestamp()),
}


def test_what_a_person_has_to_close__is_named_beside_the_worst_trouble() -> None:
    found = judge_indexer(
        IndexerFacts(**WELL, state="degraded", open_findings=2, held_ledgers=1, held_facts=3)
    )  # type: ignore[arg-type]
    assert found.health is Health.DEGRADED
    assert "Its last round failed" in (found.note or "")
    assert "held back: 3" in (found.note or "")
    assert "Open findings of the auditor: 2" in (found.note or "")


def test_each_cause__is_named_once() -> None:
    found = judge_indexer(IndexerFacts(**WELL, state="following", held_ledgers=1, held_facts=3))  # type: ignore[arg-type]
    assert (found.note or "").count("held back: 3") == 1


def test_what_is_final_stands_still__is_said() -> None:
    at = {"cursor": 10_000, "head": 10_000}
    still, moving = (
        judge_indexer(IndexerFacts(**{**WELL, **at, "final": final})) for final in (6_400, 6_401)
    )  # type: ignore[arg-type]
    assert still.health is Health.DEGRADED
    assert "The final block is stuck at 6400, 3600 blocks back" in (still.note or "")
    assert moving.health is Health.OK


def test_a_replica__is_in_trouble_from_the_bound_on() -> None:
    assert judge_replica(0, 30) is None
    assert judge_replica(29.9, 30) is None
    assert "is 30 s behind, so the primary answers the reads" in (judge_replica(30, 30) or "")
    assert "is 3600 s behind" in (judge_replica(3_600.4, 30) or "")
    assert "No replica answers" in (judge_replica(None, 30) or "")
