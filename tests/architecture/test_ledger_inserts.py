"""Law 3 of docs/architecture.md: rows of a ledger are inserted by its own `ledger` alone."""

import ast
import re
from pathlib import Path

import pytest

from tests.architecture import test_laws
from tests.architecture.test_laws import (
    PACKAGES,
    ledgers,
    name_of,
    real_names,
    shown,
    sources,
)

READS = {
    "select",
    "select_from",
    "join",
    "outerjoin",
    "aliased",
    "correlate",
    "get",
    "exists",
    "known_keys",
}
NAMES = ("__table__", "__tablename__")  # by which a row class leads to its table


def inserts_of_ledger_rows(file: Path) -> list[str]:
    """What could insert a row of a ledger, a sentence each: a call that constructs one or takes its
    class and is not a read, its table's insert, SQL text that inserts, and the table's name as a
    string, which copy_lines takes.
    """
    tree = ast.parse(file.read_text())
    real = real_names(tree)

    def row_of(node: ast.AST) -> str | None:
        name = name_of(node) if isinstance(node, ast.Name | ast.Attribute) else ""
        return found if (found := real.get(name, name)) in ledgers() else None

    def text_of(node: ast.AST) -> str:
        if isinstance(node, ast.JoinedStr):
            return "".join(map(text_of, node.values))
        if isinstance(node, ast.FormattedValue):
            value = node.value
            row = row_of(value.value) if isinstance(value, ast.Attribute) else None
            return ledgers()[row] if row else "_"
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""

    def writes(call: ast.Call) -> bool:
        called = real.get(name_of(call.func), name_of(call.func))
        taken = [*call.args, *(one.value for one in call.keywords)]
        taken += [
            one.value for one in taken if isinstance(one, ast.Attribute) and one.attr in NAMES
        ]
        return (
            row_of(call.func) is not None
            or (called not in READS and any(map(row_of, taken)))
            or (called == "insert" and any(map(row_of, ast.walk(call))))
        )

    names = "|".join(ledgers().values())
    inserting = re.compile(
        rf'\b(?:insert\s+into|merge\s+into|copy)\s+(?:only\s+)?(?:"?\w+"?\.)?"?(?:{names})\b', re.I
    )
    declared = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and "__tablename__" in map(name_of, node.targets)
    }
    return [
        f"{shown(file, node)} writes rows of a ledger: only its own ledger may, so call a "
        "function of it (docs/architecture.md, Laws, 3)"
        for node in ast.walk(tree)
        if (isinstance(node, ast.Call) and writes(node))
        or inserting.search(text_of(node))
        or (node not in declared and text_of(node) in ledgers().values())
    ]


def is_of_a_ledger(file: Path) -> bool:
    """ledger.py or ledger/ of a context or of an area."""
    parts = file.relative_to(test_laws.ROOT).with_suffix("").parts
    return (parts[0] == "core" and parts[2:3] == ("ledger",)) or (
        parts[:2] == ("api", "areas") and parts[3:4] == ("ledger",)
    )


def test_rows_of_the_ledgers_are_inserted_by_the_ledgers_alone() -> None:
    outside = [
        file
        for file in sources(*PACKAGES, "scripts")
        if not is_of_a_ledger(file) and "migrations" not in str(file)
    ]

    found = [sentence for file in outside for sentence in inserts_of_ledger_rows(file)]
    assert found == [], "\n".join(found)


def test_the_ledgers__are_those_that_the_tables_declare() -> None:
    assert ledgers() == {
        "CreditEntry": "credit_entry",
        "FundSignal": "fund_signal",
        "MandateEvent": "mandate_event",
        "MarketWarning": "warning_event",
        "TransferEntry": "transfer_entry",
    }


@pytest.mark.parametrize(
    "planted",
    [
        "CreditEntry(seq=1)",
        "tables.CreditEntry(seq=1)",
        "from core.credits.tables import CreditEntry as Row\nRow(seq=1)",
        "Row = CreditEntry\nRow(seq=1)",
        "insert(CreditEntry)",
        "from sqlalchemy.dialects.postgresql import insert as pg_insert\npg_insert(CreditEntry)",
        "CreditEntry.__table__.insert()",
        "insert(CreditEntry.__table__)",
        "db.bulk_insert_mappings(CreditEntry, [])",
        "db.bulk_insert_mappings(mapper=CreditEntry, mappings=[])",
        "db.bulk_save_objects([CreditEntry(seq=1)])",
        "Base.metadata.tables['credit_entry']",
        "copy_lines(db, 'credit_entry', (), [])",
        "copy_lines(db, CreditEntry.__tablename__, (), [])",
        "q = 'INSERT  INTO credit_entry VALUES (1)'",
        "q = 'insert into public.credit_entry values (1)'",
        'q = \'INSERT INTO "public"."credit_entry" VALUES (1)\'',
        "q = f'insert into {CreditEntry.__tablename__} values (1)'",
        "q = 'COPY credit_entry (seq) FROM STDIN'",
    ],
)
def test_the_check_of_inserts__sees_an_insert(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, planted: str
) -> None:
    monkeypatch.setattr(test_laws, "ROOT", tmp_path)
    file = tmp_path / "planted.py"
    file.write_text(planted)

    found = inserts_of_ledger_rows(file)
    assert found
    assert all("its own ledger may" in sentence for sentence in found)


@pytest.mark.parametrize(
    "sound",
    [
        "select(CreditEntry).where(CreditEntry.seq == 1)",
        "session.get(CreditEntry, 1)",
        "insert(Account)",
        "q = 'select seq from credit_entry'",
        "q = 'insert into credit_entry_count values (1)'",
        "__tablename__ = 'credit_entry'",
    ],
)
def test_the_check_of_inserts__lets_reads_pass(tmp_path: Path, sound: str) -> None:
    file = tmp_path / "sound.py"
    file.write_text(sound)

    assert inserts_of_ledger_rows(file) == []
