"""The calls of the endpoint itself: a message that is no tool's call, and the page for people."""

from api.kernel.caller import Caller, Nobody
from api.kernel.operation import Answer, Call, Text
from api.kernel.tool import Profile
from api.tools import page
from api.tools.schemas import Admitted, ToolsQuery


def connect(call: Call, caller: Caller, command: ToolsQuery) -> Answer[Admitted]:
    """Admits a message of the protocol; the MCP server answers it."""
    return Answer(Admitted(profile=command.profile))


def show(call: Call, caller: Nobody, command: ToolsQuery) -> Answer[Text]:
    """The page, as HTML."""
    return Answer(
        Text(text=page.html(call.deps.catalogue, call.deps.base_url, Profile(command.profile)))
    )
