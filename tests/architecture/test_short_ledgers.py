"""Answers come to a ledger's state by one way, which says whether the ledger is short of facts
(core/quarantine/rules.py).
"""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOADERS = {
    "load_head",
    "load_heads",
    "load_before",
    "load_at",
    "load_rows",
    "load_balance",
    "load_balances",
    "lock_balance",
    "load_sum",
}
LEDGERS = {"mandate_ledger", "transfer_ledger"}
OF_THE_QUARANTINE = ("core.quarantine.queries", "core.quarantine.views.held")


def ways_round(source: str) -> list[str]:
    """What a module takes from a ledger or from the quarantine without going by a Reading."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Attribute)
            and node.attr in LOADERS
            and isinstance(node.value, ast.Name)
            and node.value.id in LEDGERS
        ):
            found.append(f"{node.value.id}.{node.attr}")
        if isinstance(node, ast.ImportFrom):
            of_ledger = node.module is not None and node.module.endswith(".ledger.writer")
            found += [alias.name for alias in node.names if of_ledger and alias.name in LOADERS]
            found += [
                alias.name
                for alias in node.names
                if f"{node.module}.{alias.name}" in OF_THE_QUARANTINE
            ]
            found += [node.module] if node.module in OF_THE_QUARANTINE else []
    return found


def test_the_areas__load_no_state_past_its_gaps() -> None:
    """Their views may join the quarantine, as those of contexts do."""
    found_in = sorted((ROOT / "api" / "areas").rglob("*.py"))
    areas = [file for file in found_in if "views" not in file.parts and file.name != "views.py"]
    found = {str(file.relative_to(ROOT)): ways_round(file.read_text()) for file in areas}
    assert {file: ways for file, ways in found.items() if ways} == {}


def test_the_check__sees_each_way_round() -> None:
    planted = (
        "from core.mandate.ledger.writer import load_head\nfrom core.quarantine import queries\n"
        "from core.quarantine.queries import shorts_of\nx = transfer_ledger.load_balance(1)\n"
    )
    assert sorted(ways_round(planted)) == [
        "core.quarantine.queries",
        "load_head",
        "queries",
        "transfer_ledger.load_balance",
    ]
