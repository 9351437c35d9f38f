"""What the endpoint itself takes: the query of /mcp."""

from typing import Literal

from api.kernel.operation import Command


class ToolsQuery(Command):
    """Which tools are shown (docs/mcp.md#profiles); values as in api.catalog.Profile."""

    profile: Literal["connector", "claw", "full"] = "connector"
