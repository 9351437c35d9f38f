"""The TypeScript package, built and run by node against the API on a socket, signs as the service
reads.
"""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from api.kernel.operation import Deps
from api.main import create_app
from scripts.build_client_ts import ROOT, build
from tests.integration.api.conftest import KEY
from tests.integration.api.mandates.stage import Stage
from tests.integration.api.serving import served

SCRIPT = ROOT / "tests" / "integration" / "client" / "node" / "signed_rows.mjs"
WITHIN_S = 60


@pytest.mark.slow
def test_the_typescript_client__signs_every_row_that_it_writes(
    stage: Stage, deps: Deps, mandate_id: str
) -> None:
    package: Path = build()
    with served(lambda base_url: create_app(replace(deps, base_url=base_url))) as base_url:
        settings = {
            "base_url": base_url,
            "package": str(package / "dist" / "src" / "index.js"),
            "agent_key": stage.agent[KEY],
            "wallet_key": stage.agent_wallet.key.to_0x_hex(),
            "mandate_id": mandate_id,
        }
        done = subprocess.run(
            ["node", str(SCRIPT)],
            input=json.dumps(settings),
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr or done.stdout
    seen, wallet = json.loads(done.stdout), stage.agent_wallet.address
    assert seen["signed_by"] == [wallet] * 3
    assert seen["newest"] == ["note", {"stop_requested": True}, wallet]
    assert (seen["signed"], seen["status"]) == (5, "working")
    assert seen["unsigned"] == "author_signature_missing"
    assert stage.faults(mandate_id) == []
