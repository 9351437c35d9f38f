"""The contracts that are trusted without being named: those of the published deployments.

trusted.json is {chain id: {"factory": [addresses], "x402_adapter": [addresses]}}, written from
scripts/deployments by `make docs` and shipped with the client, so that no record can bring a factory
of its own.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any

from core.mandate.rules.terms import address_from_text


def pinned(contract: str, chain_id: int) -> tuple[str, ...]:
    """Addresses of `contract` ("factory", "x402_adapter") on a chain; none on one without a
    published deployment.
    """
    found = _table().get(str(chain_id), {}).get(contract, [])
    return tuple(address_from_text(one, contract) for one in found)


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads((files(__package__ or "") / "trusted.json").read_text())
    return table
