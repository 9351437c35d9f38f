"""docs/contracts-security.md is held to the tests it names: every pitfall is answered, and every
answer exists.
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "contracts-security.md").read_text()
PITFALLS = range(1, 36)
ROWS = {
    int(number): cells
    for number, cells in re.findall(
        r"^\| (\d+) \| (.*)$", PAGE.split("## Invariants")[0], re.MULTILINE
    )
}
NAMED = re.compile(r"`((?:test|invariant)_[a-z_0-9]+?)`(?: \(([A-Za-z, ]+)\))?")


def functions(path: Path) -> list[str]:
    return re.findall(r"function (\w+)\(", path.read_text())


def test_every_pitfall_has_a_row() -> None:
    assert list(ROWS) == list(PITFALLS)


def test_every_pitfall_is_answered_by_a_test_of_its_number() -> None:
    assert [
        number for number in PITFALLS if f"`test_pitfall_{number:02}`" not in ROWS[number]
    ] == []


def test_every_named_test_exists_where_the_page_says() -> None:
    attacks = ROOT / "tests" / "contracts" / "attacks"
    invariants = [
        name
        for path in (ROOT / "tests" / "contracts" / "invariants").glob("*.t.sol")
        for name in functions(path)
    ]
    missing = []
    for name, files in NAMED.findall(PAGE):
        places = (
            [functions(attacks / f"{file}.t.sol") for file in files.split(", ")]
            if files
            else [invariants]
        )
        missing += [
            (name, files)
            for found in places
            if not any(f.replace("testFuzz_", "test_").startswith(name) for f in found)
        ]

    assert missing == []


def test_every_pitfall_test_has_its_row() -> None:
    files = (ROOT / "tests" / "contracts" / "attacks").glob("*.t.sol")
    numbers = {
        int(n)
        for path in files
        for name in functions(path)
        for n in re.findall(r"_pitfall_(\d+)__", name)
    }

    assert numbers == set(PITFALLS)


def test_every_entry_of_vault_and_factory_is_tried_from_the_middle_of_a_call() -> None:
    attacks = (ROOT / "tests" / "contracts" / "attacks" / "Reentrancy.t.sol").read_text()
    untried = [
        f"{contract}.{entry['name']}"
        for contract, variable in (("MandateVault", "vault"), ("MandateVaultFactory", "factory"))
        for entry in json.loads((ROOT / "core" / "chain" / "abis" / f"{contract}.json").read_text())
        if entry["type"] == "function"
        and entry["stateMutability"] not in ("view", "pure")
        and f"abi.encodeCall({variable}.{entry['name']}," not in attacks
    ]

    assert untried == []
