"""The record that is shown with a listing: of the agent that runs it, computed at read time."""

from collections.abc import Collection, Mapping
from typing import TypeAlias

from api.kernel.operation import Call

ShownRecord: TypeAlias = None


def records_of(call: Call, agent_ids: Collection[int]) -> Mapping[int, ShownRecord]:
    """By agent; who is not in it has no record that can be read."""
    return {}
