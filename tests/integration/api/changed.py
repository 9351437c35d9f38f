"""The product's catalogue with one operation changed."""

from dataclasses import replace
from typing import Any

from api.catalogue import areas
from api.kernel.catalogue import Catalogue
from api.kernel.operation import Area
from api.kernel.refusals import REASONS


def catalogue_with(key: str, **changes: Any) -> Catalogue:
    return Catalogue([_changed(area, key, changes) for area in areas()], REASONS)


def _changed(area: Area, key: str, changes: dict[str, Any]) -> Area:
    return replace(
        area,
        operations=tuple(
            replace(one, **changes) if one.key == key else one for one in area.operations
        ),
    )
