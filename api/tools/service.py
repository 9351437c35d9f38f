"""The calls of the endpoint itself: a message that is no tool's call, and the page for people."""

from api.kernel.caller import Caller, Nobody
from api.kernel.operation import Answer, Call
from api.kernel.tool import Profile
from api.tools import page
from api.tools.schemas import Connected, HelpPage, ToolsQuery


def connect(call: Call, caller: Caller, command: ToolsQuery) -> Answer[Connected]:
    """Admits a message of the protocol; the MCP server answers it."""
    return Answer({"profile": command.profile})


def show(call: Call, caller: Nobody, command: ToolsQuery) -> Answer[HelpPage]:
    """`page` is HTML."""
    return Answer({"page": page.html(call.deps.catalogue, call.deps.base_url, Profile(command.profile))})
