"""CONTRIBUTING's recipe for a venue adapter: a file in core/mandate/venues, and every script knows
it.
"""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.mandate.venues.registry import Venue, venues
from tests.each import each

ROOT = Path(__file__).parents[3]
WITHIN_S = 60
BAZAAR = """
from core.mandate.venues.registry import Creation, Venue

VENUE = Venue(
    name="bazaar",
    contract="BazaarAdapter",
    creation=Creation(("usdc", "keeper"), (("USDC", "usdc"), ("payer", "keeper")), "Bazaar"),
    is_test=True,
)
"""
WHAT_SCRIPTS_KNOW = """
import json, sys
import core.mandate.venues
core.mandate.venues.__path__.append(sys.argv[1])
from scripts import _deployed_code, deploy, export_abis
from scripts._deployments import ADAPTERS, Deployed
from scripts._offices import Offices, belongs_on
from scripts._recorded import contract_of
at = {"usdc": "0x" + "11" * 20}
who = Offices("", "", "", "0x" + "22" * 20, "", "", "", "")
(step,) = (one for one in deploy.STEPS if one.name == "bazaar_adapter")
args = step.args(at, who)
made = Deployed(step.name, step.contract, "0x" + "33" * 20, 1, None, args, "0x")
print(json.dumps({
    "exported": "BazaarAdapter" in export_abis.EXPORTED,
    "described": "BazaarAdapter" in export_abis.DESCRIBED,
    "listed": "bazaar_adapter" in ADAPTERS,
    "recorded": contract_of("bazaar_adapter", on_devnet=False),
    "on_mainnet": belongs_on("bazaar_adapter", 8453),
    "deployed": [step.contract, *args],
    "immutables": [one.name for one in _deployed_code.EXPECTED[step.contract](made, at, 84532)],
}))
"""


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the scripts know with one more file in the folder."""
    folder = tmp_path_factory.mktemp("venues")
    (folder / "bazaar.py").write_text(BAZAAR)
    command = [sys.executable, "-c", WHAT_SCRIPTS_KNOW, str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=WITHIN_S
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_a_new_venue__has_its_abi_exported_and_described(known: dict[str, Any]) -> None:
    assert (known["exported"], known["described"]) == (True, True)


def test_a_new_venue__is_deployed_with_its_arguments(known: dict[str, Any]) -> None:
    assert known["deployed"] == ["BazaarAdapter", "0x" + "11" * 20, "0x" + "22" * 20]


def test_a_new_venue__is_listed_with_the_factory(known: dict[str, Any]) -> None:
    assert known["listed"]


def test_a_new_venue__belongs_in_the_record_by_its_contract(known: dict[str, Any]) -> None:
    assert known["recorded"] == "BazaarAdapter"


def test_a_new_venue__of_tests__stays_off_other_chains(known: dict[str, Any]) -> None:
    assert not known["on_mainnet"]


@pytest.mark.slow
def test_a_new_venue__is_verified_with_its_immutables(known: dict[str, Any]) -> None:
    assert known["immutables"][:2] == ["USDC", "payer"]
    assert "_cachedDomainSeparator" in known["immutables"]


@each("script", ["_deployments", "_offices", "_recorded", "deploy", "export_abis", "verify"])
@each("venue", venues().declared, ids=lambda venue: venue.name)
def test_a_script__names_no_adapters_contract(venue: Venue, script: str) -> None:
    tree = ast.parse((ROOT / "scripts" / f"{script}.py").read_text())
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert venue.contract not in texts
