"""What an operation says of the tool that makes the same call."""

from dataclasses import dataclass
from enum import StrEnum

ID = "id"  # of a twin's path


class Profile(StrEnum):
    """Which tools a client is shown, by the query `profile` of /mcp; each shows all of the one
    before it.
    """

    CONNECTOR = "connector"
    CLAW = "claw"
    FULL = "full"

    def shows(self, tool: "Tool") -> bool:
        return list(Profile).index(tool.profile) <= list(Profile).index(self)


class ToolKind(StrEnum):
    """What a tool does to its world, in the words of the specification's table."""

    READ = "read"  # changes nothing
    WRITE = "write"  # adds
    DESTRUCTIVE = "write destructive"  # replaces what stood


@dataclass(frozen=True, slots=True)
class Tool:
    """`title`: for people. `profile`: the first one that shows it. `id_argument`: what the id of the
    twin's path is called as an argument, where the specification says so.
    """

    name: str
    title: str
    kind: ToolKind
    profile: Profile
    id_argument: str = ID
