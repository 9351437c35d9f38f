"""Reads of record strips (docs/record-strips.md)."""

from collections.abc import Collection

from api.areas.records.schemas import RecordPath, RecordsQuery, RecordStrips
from api.areas.records.views.strip import PAPER_NOTE, RecordStrip, strips_of
from api.kernel.caller import Nobody
from api.kernel.operation import Answer, ReadCall, Refusal


def record(call: ReadCall, caller: Nobody, command: RecordPath) -> Answer[RecordStrip]:
    """Errors: Refusal not_found."""
    agent_id = int(command.id)
    return Answer(_strips(call, [agent_id], is_single=True)[agent_id])


def records(call: ReadCall, caller: Nobody, command: RecordsQuery) -> Answer[RecordStrips]:
    """Errors: Refusal not_found, naming the ids that are no agents'."""
    strips = _strips(call, command.ids)
    return Answer(
        RecordStrips(
            records={str(agent_id): strip for agent_id, strip in strips.items()},
            paper_note=PAPER_NOTE,
        )
    )


def _strips(
    call: ReadCall, agent_ids: Collection[int], *, is_single: bool = False
) -> dict[int, RecordStrip]:
    strips = strips_of(call, agent_ids, is_single=is_single)
    if unknown := [str(agent_id) for agent_id in agent_ids if agent_id not in strips]:
        advice = (
            "leave unknown ids out" if len(agent_ids) > 1 else "the Hall lists those that exist"
        )
        raise Refusal(
            "not_found",
            f"No agent has the id {', '.join(unknown)}; {advice}.",
            next_calls=("hall.list",),
        )
    return strips
