"""The descriptors as they are published."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest

from api.areas.mandates.rules.clear_signing import (
    ERC_VERSION,
    FACTORY_CALLS,
    SCHEMA,
    VAULT_CALLS,
    PublishedFactory,
)
from api.areas.mandates.service import owner_calls
from scripts.export_descriptors import (
    OUR_SCHEMA,
    descriptors,
    faults,
    published_places,
    published_schema,
)
from tests.each import each

FACTORY = "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0"
USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
PLACES = [PublishedFactory(84_532, FACTORY, USDC)]
RULES = json.loads(OUR_SCHEMA.read_text())
TERMS = "eip712-MandateTerms"
VAULT = "calldata-MandateVault"
CAMEL = re.compile(r"_([a-z])")


def deployment(folder: Path, name: str, *contracts: tuple[str, str]) -> None:
    record = {
        "chain_id": 84_532,
        "contracts": [{"name": one, "address": address} for one, address in contracts],
    }
    (folder / f"{name}.json").write_text(json.dumps(record))


def test_published_deployments__fill_the_addresses(tmp_path: Path) -> None:
    deployment(tmp_path, "sepolia", ("usdc", USDC), ("factory", FACTORY))
    assert published_places(tmp_path) == PLACES


def test_the_local_chain__is_in_no_published_file(tmp_path: Path) -> None:
    deployment(tmp_path, "devnet", ("usdc", USDC), ("factory", FACTORY))
    assert published_places(tmp_path) == []


def test_a_deployment_that_is_not_finished__is_left_out(tmp_path: Path) -> None:
    deployment(tmp_path, "sepolia", ("usdc", USDC))
    assert published_places(tmp_path) == []


@pytest.mark.parametrize("places", [[], PLACES])
def test_every_descriptor__is_of_our_schema(places: list[PublishedFactory]) -> None:
    assert faults(descriptors(places), RULES) == []


def test_our_schema__names_the_version_of_the_erc() -> None:
    assert ERC_VERSION in RULES["title"]
    assert RULES["properties"]["$schema"]["const"] == SCHEMA


def broken(name: str, field: dict[str, Any]) -> list[str]:
    made = copy.deepcopy(descriptors(PLACES))
    (form, *_) = made[name]["display"]["formats"].values()
    form["fields"][0] = field
    return faults(made, RULES)


SHOWN = {"path": "publicId", "label": "Mandate", "format": "raw"}


@each(
    ("field", "count"),
    [
        (SHOWN, 0),
        ({key: value for key, value in SHOWN.items() if key != "label"}, 1),
        (SHOWN | {"label": ""}, 1),
        (SHOWN | {"format": "rawest"}, 1),
        (SHOWN | {"format": "date"}, 1),
        (SHOWN | {"params": {"base": "%"}}, 1),
        (SHOWN | {"visible": "never"}, 1),
        ({"path": "publicId", "visible": "never"}, 1),
        ({"$id": "a reason", "path": "publicId", "visible": "never"}, 0),
        (SHOWN | {"value": 1}, 1),
    ],
)
def test_our_schema__takes_a_field_with_label_and_format_or_with_its_reason(
    field: dict[str, Any], count: int
) -> None:
    assert len(broken(TERMS, field)) == count


def test_our_schema__refuses_an_address_cut_short() -> None:
    made = descriptors([PublishedFactory(84_532, FACTORY[:-1], USDC)])
    assert [line.partition(":")[0] for line in faults(made, RULES)] == list(made)


def test_another_file__is_not_taken_for_the_published_schema(tmp_path: Path) -> None:
    other = tmp_path / "erc7730-v2.schema.json"
    other.write_text("{}")
    with pytest.raises(SystemExit, match="has sha256 44136fa3"):
        published_schema(other)


def test_every_call_that_the_api_builds_for_an_owner__has_its_words() -> None:
    """approve is USDC's, and wallets have the descriptor of ERC-20."""
    source = Path(owner_calls.__file__).read_text()
    built = {
        CAMEL.sub(lambda match: match[1].upper(), name)
        for name in re.findall(r"calldata\.([a-z_]+)\(", source)
    }
    described = {call.function for call in (*FACTORY_CALLS, *VAULT_CALLS)}
    assert {"createVault", "deposit", "withdraw", "stop", "setAgent"} <= built
    assert built - described == {"approve"}


def test_the_event_that_names_a_vault__has_its_whole_signature() -> None:
    made = descriptors(PLACES)[VAULT]["context"]["contract"]["factory"]["deployEvent"]
    assert made.startswith("VaultCreated(address,bytes32,address,address,string,(string,address,")
    assert made.endswith(",(address,bytes4,uint8,uint8)[])")
