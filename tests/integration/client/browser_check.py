"""The check in the browser, run over many records in one process of Node."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from tests.integration.chain_fixtures import DeployedChain
from tests.integration.client.test_node_clients import run


def checked_in_browser(
    chain: DeployedChain, records: Mapping[str, Sequence[bytes]], **each: Any
) -> dict[str, dict[str, Any]]:
    """What api/web/verify finds of each record, by name. `each`: `refused` methods of past blocks,
    `options` of verifyRecord.
    """
    listed = [
        {"name": name, "base64": base64.b64encode(b"".join(lines)).decode(), **each}
        for name, lines in records.items()
    ]
    return run(
        "verify_records.mjs",
        rpc_url=chain.anvil.url,
        factory=chain.contracts["factory"],
        records=listed,
    )
