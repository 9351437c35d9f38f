"""What verify-record trusts without being told comes from the published deployments alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from api.client.verify import trusted
from scripts.export_api import trusted_text

FACTORY = "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0"
USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"


def deployment(folder: Path, name: str) -> None:
    contracts = [{"name": "usdc", "address": USDC}, {"name": "factory", "address": FACTORY}]
    record: dict[str, Any] = {"chain_id": 84532, "contracts": contracts}
    (folder / f"{name}.json").write_text(json.dumps(record))


def test_a_published_deployment__is_trusted_for_its_chain(tmp_path: Path) -> None:
    deployment(tmp_path, "sepolia")
    assert json.loads(trusted_text(tmp_path)) == {
        "84532": {
            "factory": [FACTORY],
            "record_anchor": [],
            "x402_adapter": [],
        }
    }


def test_the_local_chain__is_trusted_by_nobody(tmp_path: Path) -> None:
    deployment(tmp_path, "devnet")
    assert json.loads(trusted_text(tmp_path)) == {}


def test_pinned__is_of_the_chain_and_the_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"84532": {"factory": [FACTORY.lower()]}}
    monkeypatch.setattr(trusted, "_table", lambda: table)
    assert trusted.pinned("factory", 84532) == (FACTORY,)
    assert trusted.pinned("factory", 8453) == ()
    assert trusted.pinned("x402_adapter", 84532) == ()
