"""What the endpoint itself takes: the query of /mcp."""

from typing import Literal

from api.kernel.operation import AnswerBody, Command


class ToolsQuery(Command):
    """Which tools are shown (docs/mcp.md#profiles); values as in api.kernel.tool.Profile."""

    profile: Literal["connector", "claw", "full"] = "connector"


class Admitted(AnswerBody):
    """What the MCP server needs to answer a message."""

    profile: Literal["connector", "claw", "full"]
