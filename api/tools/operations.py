"""The endpoint of the tools, which are the operations of every area that name one."""

from api.kernel.auth import ANYBODY, ANYBODY_OR_KEY_OR_OWNER
from api.kernel.operation import Area, CallBounds, Read, Reason, Write
from api.tools.service import connect, show

AREA = Area(
    name="tools",
    about="The same calls as tools (MCP).",
    operations=(
        Write(
            key="tools.endpoint",
            path="/mcp",
            auth=ANYBODY_OR_KEY_OR_OWNER,
            summary="Call the tools of this service (MCP, Streamable HTTP); profile selects which "
            "are shown.",
            handler=connect,
            refuses=("origin_not_allowed",),
            bounds=CallBounds(per_minute="tool_messages_per_address_per_minute"),
        ),
        Read(
            key="tools.help",
            path="/mcp",
            auth=ANYBODY,
            summary="Read how to connect a client to the tools; a web page.",
            handler=show,
            media=("text/html",),
            refuses=("origin_not_allowed",),
        ),
    ),
    reasons={
        "origin_not_allowed": Reason(
            403, False, "caller", (), example="This origin may not call the tools."
        ),
    },
    capabilities=("tools",),
)
