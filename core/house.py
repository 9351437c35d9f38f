"""Which agents the house runs, and whose record is shown with their rows (docs/gallery.md#the-house)."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic_settings import NoDecode

from core.environment import BY_COMMAS, optional

AgentId = Annotated[int, Field(ge=1, lt=10**18)]


class House(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    # The house's agents
    house_agents: Annotated[tuple[AgentId, ...], NoDecode, BY_COMMAS] = Field(
        default=(), max_length=1_000, description="user ids of the agents that the house runs"
    )
    house_runner: AgentId | None = optional("user id of the agent that runs the house's listings")
    record_runner: AgentId | None = optional("the agent whose record is shown with them instead")

    def is_house(self, agent_id: int) -> bool:
        return agent_id in self.house_agents

    @property
    def book_runner(self) -> int | None:
        """Whose record the house's own row holds; None: the house runs no agent."""
        return self.record_runner or self.house_runner or next(iter(self.house_agents), None)

    def runner_of(self, agent_id: int) -> int:
        """Whose record is shown with a row of that agent: its own, unless the house runs it; then
        the record runner's, else the house runner's, else still its own.
        """
        if not self.is_house(agent_id):
            return agent_id
        return self.record_runner or self.house_runner or agent_id
