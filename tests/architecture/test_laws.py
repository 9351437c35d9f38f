"""The laws of docs/architecture.md that import-linter cannot see, checked on the syntax trees of
the four packages.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("core", "indexer", "keeper", "api")
LEDGER_ROWS = {"MandateEvent", "CreditEntry", "TransferEntry"}
LEDGER_TABLES = ("mandate_event", "credit_entry", "transfer_entry")


def sources(*folders: str) -> list[Path]:
    return sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))


def calls(file: Path) -> Iterator[ast.Call]:
    return (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call))


def name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def shown(file: Path, node: ast.AST) -> str:
    return f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"


def inserts_of_ledger_rows(file: Path) -> list[str]:
    """Calls that construct a row of a ledger or name it in an insert, and SQL text that inserts
    into one.
    """
    found = []
    for call in calls(file):
        is_row = name_of(call.func) in LEDGER_ROWS
        is_insert = name_of(call.func) == "insert" and any(
            name_of(arg) in LEDGER_ROWS for arg in call.args
        )
        if is_row or is_insert:
            found.append(shown(file, call))
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = " ".join(node.value.lower().split())
            if any(
                f"insert into {table}" in text or f"copy {table}" in text for table in LEDGER_TABLES
            ):
                found.append(shown(file, node))
    return found


def is_of_a_ledger(file: Path) -> bool:
    """core/<context>/ledger.py or core/<context>/ledger/."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return len(parts) > 2 and parts[0] == "core" and parts[2] == "ledger"


def test_rows_of_the_ledgers_are_inserted_by_the_ledgers_alone() -> None:
    outside = [
        file
        for file in sources(*PACKAGES, "scripts")
        if not is_of_a_ledger(file) and "migrations" not in str(file)
    ]

    assert [place for file in outside for place in inserts_of_ledger_rows(file)] == []


def test_the_check_of_inserts_sees_an_insert(tmp_path: Path) -> None:
    planted = tmp_path / "planted.py"
    planted.write_text(
        "session.execute(insert(MandateEvent).values(x=1))\n"
        "q = 'INSERT  INTO mandate_event VALUES (1)'\n"
    )

    assert len([node for node in calls(planted) if name_of(node.func) == "insert"]) == 1


def rules() -> list[Path]:
    """What is pure: the rules of every context, and the money, times and canonical forms that all
    use.
    """
    found = [
        file
        for file in sources("core")
        if "rules" in file.relative_to(ROOT).with_suffix("").parts[2:]
    ]
    shared = [
        ROOT / "core" / f"{name}.py"
        for name in ("canonical", "errors", "hexes", "money", "selectors", "times")
    ]
    assert len(found) > 40
    return [*found, *shared]


def test_csv_is_written_by_one_module_alone() -> None:
    """It is the one that no spreadsheet runs a cell of."""
    writers = [
        shown(file, call)
        for file in sources(*PACKAGES)
        for call in calls(file)
        if ast.unparse(call.func) in ("csv.writer", "csv.DictWriter")
    ]

    assert [place.split(":")[0] for place in writers] == ["api/kernel/csv_text.py"]


def test_transactions_are_sent_by_the_keepers_sender_and_the_settler_of_payments_alone() -> None:
    """And by the settler of payments, which sends one call of the token with a key of its own.

    api/client runs on the caller's machine, with the caller's key: no process of the service
    imports it (import-linter). refusals.py tells what nodes answer to sent bytes, and can send
    nothing.
    """
    senders = [
        shown(file, node)
        for file in sources(*PACKAGES)
        if not file.is_relative_to(ROOT / "api" / "client")
        and file != ROOT / "core" / "chain" / "refusals.py"
        for node in ast.walk(ast.parse(file.read_text()))
        if (
            isinstance(node, ast.Constant)
            and node.value in ("eth_sendRawTransaction", "eth_sendTransaction")
        )
        or (
            isinstance(node, ast.Attribute)
            and node.attr in ("send_raw_transaction", "send_transaction")
        )
    ]

    assert {place.split(":")[0] for place in senders} == {
        "keeper/sender.py",
        "api/kernel/payments/own_settler.py",
    }


def test_the_environment_is_read_by_settings_alone() -> None:
    readers = [
        shown(file, node)
        for file in sources(*PACKAGES)
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr in ("environ", "getenv")
        and file.name != "settings.py"
    ]

    assert readers == []


@pytest.mark.parametrize("name", ["now", "utcnow", "today"])
def test_the_domain_has_no_clock(name: str) -> None:
    assert [
        shown(file, call) for file in rules() for call in calls(file) if name_of(call.func) == name
    ] == []


def test_the_domain_has_no_float() -> None:
    floats = [
        shown(file, node)
        for file in rules()
        for node in ast.walk(ast.parse(file.read_text()))
        if (isinstance(node, ast.Constant) and isinstance(node.value, float))
        or (isinstance(node, ast.Call) and name_of(node.func) == "float")
        or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div))
    ]

    assert floats == []


def test_every_broad_except_stands_at_a_processs_edge_and_says_why() -> None:
    broad = [
        (file, node)
        for file in sources(*PACKAGES)
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or name_of(node.type) in ("Exception", "BaseException"))
    ]
    edges = {
        "api/main.py",
        "indexer/loop.py",
        "keeper/main.py",
        "keeper/spared.py",
        "keeper/requests/loop.py",
        "core/db/engine.py",
        "api/kernel/http.py",
        "api/client/verify/main.py",
    }

    assert [
        shown(file, node) for file, node in broad if str(file.relative_to(ROOT)) not in edges
    ] == []


def test_a_class_of_an_area__has_a_name_of_its_own() -> None:
    """Of the api and core: one name, one meaning."""
    named = [
        (node.name, file)
        for file in sources("api", "core")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
    ]
    names = [name for name, _ in named]
    of_areas = [
        (name, file)
        for name, file in named
        if file.relative_to(ROOT).parts[1] in ("areas", "tools") and "mandates" not in file.parts
    ]

    assert [
        f"{name} of {file.relative_to(ROOT)}" for name, file in of_areas if names.count(name) > 1
    ] == []


def private_imports(place: str, source: str) -> list[str]:
    """Names with a leading underscore that the source takes from another module, a sentence
    each.
    """
    return [
        f"{place}:{node.lineno} imports {alias.name}, which is private to {node.module}: give it a "
        "public name, or move what needs it"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name.startswith("_")
    ]


def test_a_private_name__is_imported_by_no_other_module() -> None:
    assert [
        sentence
        for file in sources(*PACKAGES, "scripts")
        for sentence in private_imports(str(file.relative_to(ROOT)), file.read_text())
    ] == []


def test_the_check_of_private_names__says_which_and_what_to_do() -> None:
    source = "from core.hexes import bytes_of, _nibbles\nfrom core._hexes import hex_of\n"
    (sentence,) = private_imports("api/planted.py", source)
    assert sentence == (
        "api/planted.py:1 imports _nibbles, which is private to core.hexes: give it a public name, "
        "or move what needs it"
    )


ADVISORY = ("pg_advisory", "pg_try_advisory", "hashtext", "pg_locks")


def lines_of_advisory_locks(file: Path) -> list[str]:
    return [
        f"{file.relative_to(ROOT)}:{number}"
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if any(word in line for word in ADVISORY)
    ]


def test_advisory_locks_are_numbered_and_taken_in_core_db_locks_alone() -> None:
    """A name that a caller chose, hashed by PostgreSQL, is any lock that the caller likes
    (docs/decisions/0021).
    """
    found = [
        line for file in sources(*PACKAGES, "scripts") for line in lines_of_advisory_locks(file)
    ]

    assert {line.split(":")[0] for line in found} == {"core/db/locks.py"}
