"""All operations of the service, by area, and the reasons that they refuse with."""

from collections.abc import Iterable, Mapping

from api.kernel.operation import Area, Operation, Reason
from api.kernel.tool import Profile


class Catalogue:
    """Every area's operations and reasons, and those that the kernel refuses with. That they agree is
    tested (tests/unit/api/test_catalogue.py).
    """

    def __init__(self, areas: Iterable[Area], kernel_reasons: Mapping[str, Reason]) -> None:
        self.areas = tuple(areas)
        self.operations = tuple(operation for area in self.areas for operation in area.operations)
        self.by_key: Mapping[str, Operation] = {
            operation.key: operation for operation in self.operations
        }
        self.reasons = dict(kernel_reasons)
        for area in self.areas:
            self.reasons |= area.reasons

    def tools(self, profile: Profile) -> Mapping[str, Operation]:
        """The operations whose tools this profile shows, by the tool's name."""
        return {
            one.tool.name: one
            for one in self.operations
            if one.tool is not None and profile.shows(one.tool)
        }
