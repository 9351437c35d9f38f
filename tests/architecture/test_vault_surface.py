"""What the contracts' tests try of the vault and of adapters is all that there is: held against the
ABI and the sources, so that what is new fails here until somebody places it.
"""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ABI = ROOT / "core" / "chain" / "abis" / "MandateVault.json"
VAULT = ROOT / "contracts" / "MandateVault.sol"
ATTACKS = ROOT / "tests" / "contracts" / "attacks" / "Reentrancy.t.sol"
CONFORMANCE = ROOT / "tests" / "contracts" / "conformance"
ADAPTERS = ROOT / "contracts" / "adapters"

CONSTANT = ("view", "pure")


def functions(*, changing: bool) -> set[str]:
    """Of the vault's ABI."""
    return {
        entry["name"]
        for entry in json.loads(ABI.read_text())
        if entry["type"] == "function" and (entry["stateMutability"] not in CONSTANT) == changing
    }


def tried(list_name: str) -> set[str]:
    """The functions in one of the attacks' lists, each once."""
    source = ATTACKS.read_text()
    body = source[source.index(f"function {list_name}()") :].split("\n    }\n", 1)[0]
    names = re.findall(r"abi\.encodeCall\(vault\.(\w+),", body)
    assert len(names) == len(set(names)), f"{list_name} names a function twice"
    declared = re.search(r"new bytes\[\]\((\d+)\)", body)
    assert declared is not None and int(declared[1]) == len(names)
    return set(names)


def with_modifier(name: str) -> set[str]:
    """The vault's functions whose head carries it."""
    heads = re.finditer(r"function (\w+)\([^{;]*?\{", VAULT.read_text())
    return {head[1] for head in heads if re.search(rf"\b{name}\b", head[0])}


def test_every_view_of_the_vault__is_tried_in_the_middle_of_a_call() -> None:
    guarded, free = tried("_views"), tried("_unguarded")
    assert guarded & free == set()
    assert guarded | free == functions(changing=False), (
        "a view is new or gone: name it in _views of Reentrancy.t.sol when it adds up what a call "
        "changes, and guard it; otherwise in _unguarded"
    )
    assert with_modifier("nonReentrantView") == guarded


def test_every_entry_that_changes_the_vault__is_guarded_and_tried() -> None:
    assert tried("_entries") == functions(changing=True)
    assert with_modifier("nonReentrant") == functions(changing=True)


def adapters() -> list[str]:
    """The contracts that a factory may list."""
    return sorted(
        name
        for file in ADAPTERS.glob("*.sol")
        for name in re.findall(r"^contract (\w+) is [^{]*\bIAdapter\b", file.read_text(), re.M)
    )


def test_adapters__are_found() -> None:
    assert {"TestVenueAdapter", "X402Adapter", "RelayAdapter"} <= set(adapters())


@pytest.mark.parametrize("adapter", adapters())
def test_every_adapter__passes_the_conformance_test(adapter: str) -> None:
    """tests/contracts/conformance/AdapterConformance.sol says what an adapter must keep."""
    file = CONFORMANCE / f"{adapter}.t.sol"
    assert file.exists(), f"{adapter} has no conformance test: write {file.relative_to(ROOT)}"
    source = file.read_text()
    assert re.search(r"^contract \w+ is [^{]*\bAdapterConformance\b", source, re.M)
    assert re.search(
        rf"function test_conformance__{adapter}\(\) public {{\s+_conforms\(\);\s+}}", source
    )
