"""All operations of the service, by area, and the reasons that they refuse with."""

from collections import Counter
from collections.abc import Iterable, Mapping

from api.kernel.operation import Area, Operation, Read, Reason
from api.kernel.tool import Profile


class Catalogue:
    """Every area's operations and reasons, and those that the kernel refuses with.

    Errors: ValueError when they do not agree.
    """

    def __init__(self, areas: Iterable[Area], kernel_reasons: Mapping[str, Reason]) -> None:
        self.areas = tuple(areas)
        self.operations = tuple(operation for area in self.areas for operation in area.operations)
        self.by_key: Mapping[str, Operation] = {
            operation.key: operation for operation in self.operations
        }
        self.reasons = dict(kernel_reasons)
        for area in self.areas:
            for name, reason in area.reasons.items():
                if self.reasons.setdefault(name, reason) is not reason:
                    raise ValueError(f"the reason {name} has two homes; keep one of them")
        self._require_agreement()

    def _require_agreement(self) -> None:
        declared = Counter(str((one.method, one.path)) for one in self.operations)
        declared.update(one.key for one in self.operations)
        twice = [name for name, times in declared.items() if times > 1]
        if twice:
            raise ValueError(f"declared twice: {', '.join(sorted(twice))}")
        for area in self.areas:
            strange = [one.key for one in area.operations if one.area != area.name]
            if strange:
                raise ValueError(
                    f"{', '.join(strange)}: a key of the area {area.name} begins with {area.name}."
                )
        writing = [
            one.key
            for one in self.operations
            if one.method in ("GET", "HEAD") and not isinstance(one, Read)
        ]
        if writing:
            rule = "a GET is declared with Read, whose session cannot write"
            raise ValueError(f"{', '.join(writing)}: {rule} (CONTRIBUTING.md#a-route)")
        kept = [one.key for one in self.operations if one.sold and one.cache]
        if kept:
            raise ValueError(f"{', '.join(kept)}: what has a price has no ETag, and no free 304")
        unknown = {
            reason for operation in self.operations for reason in operation.refuses
        } - self.reasons.keys()
        unknown |= {
            key for reason in self.reasons.values() for key in reason.next_calls
        } - self.by_key.keys()
        if unknown:
            raise ValueError(
                f"named by a refusal and declared nowhere: {', '.join(sorted(unknown))}"
            )
        for area in self.areas:
            used = {reason for operation in area.operations for reason in operation.refuses}
            if unused := area.reasons.keys() - used:
                raise ValueError(
                    f"{', '.join(sorted(unused))}: no operation of {area.name} refuses with it; "
                    "name it in the `refuses` of those that do, or delete it "
                    "(CONTRIBUTING.md#a-route)"
                )

    def tools(self, profile: Profile) -> Mapping[str, Operation]:
        """The operations whose tools this profile shows, by the tool's name."""
        return {
            one.tool.name: one
            for one in self.operations
            if one.tool is not None and profile.shows(one.tool)
        }
