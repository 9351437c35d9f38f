"""The laws of docs/architecture.md that import-linter cannot see, checked on the syntax trees of
the four packages.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from sqlalchemy import Table

from core.db.base import Base
from core.db.metadata import append_only

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("core", "indexer", "keeper", "api")
# calls that take a row class and write nothing: SQLAlchemy's, and core.ledger's known_keys
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


def sources(*folders: str) -> list[Path]:
    return sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))


def calls(file: Path) -> Iterator[ast.Call]:
    return (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call))


def name_of(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def shown(file: Path, node: ast.AST) -> str:
    return f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"


@cache
def ledgers() -> dict[str, str]:
    """The table of each row class that is declared with LEDGER (core.db.base)."""
    tables = append_only("ledger")
    return {
        mapper.class_.__name__: table.name
        for mapper in Base.registry.mappers
        for table in mapper.tables
        if isinstance(table, Table) and table.name in tables
    }


def real_names(tree: ast.AST) -> dict[str, str]:
    """What the file imports, or assigns, under a name of its own, by that name."""
    found = {
        alias.asname: alias.name.rpartition(".")[2]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name | ast.Attribute):
            real = name_of(node.value)
            if real in ledgers():
                found |= {to.id: real for to in node.targets if isinstance(to, ast.Name)}
    return found


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
        f"{shown(file, node)} writes rows of a ledger: only core/<context>/ledger may, so call a "
        "function of it (docs/architecture.md, Laws, 3)"
        for node in ast.walk(tree)
        if (isinstance(node, ast.Call) and writes(node))
        or inserting.search(text_of(node))
        or (node not in declared and text_of(node) in ledgers().values())
    ]


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

    found = [sentence for file in outside for sentence in inserts_of_ledger_rows(file)]
    assert found == [], "\n".join(found)


def test_the_ledgers__are_those_that_the_tables_declare() -> None:
    assert ledgers() == {
        "CreditEntry": "credit_entry",
        "MandateEvent": "mandate_event",
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
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    file = tmp_path / "planted.py"
    file.write_text(planted)

    found = inserts_of_ledger_rows(file)
    assert found
    assert all("core/<context>/ledger may" in sentence for sentence in found)


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


MAY_HOLD_A_KEY = {
    "api/kernel/payments/settlers.py",
    "api/main.py",  # the relay guard, and whether a key in the settings is one
    "core/chain/signer.py",
    "core/custody/keys.py",
    "keeper/signers.py",
}
SIGNERS = ("LocalKeySigner", "RemoteSigner", "PrivateKey", "from_keystore", "from_key", "decrypt")
SIGNERS_OF_ACCOUNT = ("create", "from_mnemonic", "sign_message", "sign_transaction")


def keys_held(place: str, source: str) -> list[str]:
    """Calls that make a signer or a key, a sentence each."""
    tree = ast.parse(source)
    real = real_names(tree)
    return [
        f"{place}:{node.lineno} calls {ast.unparse(node.func)}: only the modules of MAY_HOLD_A_KEY "
        "make signers, so take one as an argument (docs/architecture.md, Laws, 4)"
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for called in (real.get(name_of(node.func), name_of(node.func)),)
        if called in SIGNERS
        or (
            called in SIGNERS_OF_ACCOUNT
            and isinstance(node.func, ast.Attribute)
            and real.get(name_of(node.func.value), name_of(node.func.value)) == "Account"
        )
    ]


def test_signers_are_made_in_named_modules_alone() -> None:
    found = [
        sentence
        for file in sources(*PACKAGES)
        if not file.is_relative_to(ROOT / "api" / "client")
        and (place := str(file.relative_to(ROOT))) not in MAY_HOLD_A_KEY
        for sentence in keys_held(place, file.read_text())
    ]

    assert found == [], "\n".join(found)


@pytest.mark.parametrize(
    "planted",
    [
        "LocalKeySigner(key)",
        "from core.chain.signer import LocalKeySigner as Signer\nSigner(key)",
        "LocalKeySigner.from_keystore(file, 'x')",
        "Account.from_key(key)",
        "Account.create()",
        "from eth_account import Account as A\nA.create()",
        "PrivateKey(key)",
    ],
)
def test_the_check_of_signers__sees_one(planted: str) -> None:
    (sentence,) = keys_held("api/planted.py", planted)
    assert sentence.endswith("(docs/architecture.md, Laws, 4)")


MAY_READ_THE_CLOCK = {
    "api/client": "runs on the caller's machine",
    "api/main.py": "hands the clock down",
    "indexer/chain/context.py": "gives the metrics a clock by default",
    "indexer/main.py": "hands the clock down",
    "indexer/loop.py": "hands the clock down",
    "keeper/main.py": "hands the clock down",
    "keeper/heads.py": "sets its own clock's zero by it",
    "api/kernel/payments/own_settler.py": "x402 asks a facilitator for its own time",
}
ENVIRONMENT = ("environ", "environb", "getenv")
CLOCK = (
    ("datetime", "now"),
    ("datetime", "utcnow"),
    ("datetime", "today"),
    ("date", "today"),
    ("time", "time"),
    ("time", "time_ns"),
)


def may_read_the_clock(place: str) -> bool:
    return any(place == named or place.startswith(f"{named}/") for named in MAY_READ_THE_CLOCK)


def outside_read(place: str, source: str) -> list[str]:
    """Where the environment or the clock is read, a sentence each."""
    tree = ast.parse(source)
    real = real_names(tree)
    names = [
        (node.lineno, alias.name, node.module or "")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ] + [
        (node.lineno, node.attr, real.get(name_of(node.value), name_of(node.value)))
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
    ]
    environment = [
        f"{place}:{line} reads the environment: only settings.py does, and hands values down "
        "(docs/architecture.md, Laws, 6)"
        for line, name, of in names
        if name in ENVIRONMENT and Path(place).name != "settings.py"
    ]
    clock = [
        f"{place}:{line} reads the clock: take `now` as an argument (docs/architecture.md, Laws, 6)"
        for line, name, of in names
        if (of, name) in CLOCK and not may_read_the_clock(place)
    ]
    return environment + clock


def test_the_environment_and_the_clock_are_read_where_values_are_handed_down() -> None:
    found = [
        sentence
        for file in sources(*PACKAGES)
        for sentence in outside_read(str(file.relative_to(ROOT)), file.read_text())
    ]

    assert found == [], "\n".join(found)


@pytest.mark.parametrize(
    "planted",
    [
        "import os\nos.environ['A']",
        "os.getenv('A')",
        "from os import environ",
        "from os import getenv as env",
        "datetime.now(UTC)",
        "from datetime import datetime as dt\ndt.now(UTC)",
        "date.today()",
        "time.time()",
        "import time as t\nt.time_ns()",
        "from time import time",
    ],
)
def test_the_check_of_environment_and_clock__sees_a_read(planted: str) -> None:
    (sentence,) = outside_read("api/planted.py", planted)
    assert sentence.endswith("(docs/architecture.md, Laws, 6)")


def io_of(place: str, source: str) -> list[str]:
    """What a rule does that import-linter cannot see, a sentence each: it opens a file, or imports
    more of urllib than urllib.parse.
    """
    return [
        f"{place}:{node.lineno} does I/O: a rule takes values and answers values "
        "(docs/architecture.md, Laws, 2)"
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.Call) and ast.unparse(node.func) == "open")
        or (
            isinstance(node, ast.Import | ast.ImportFrom)
            and any(
                one.startswith("urllib") and one not in ("urllib.parse", "urllib.parse.urlsplit")
                for alias in node.names
                for one in (f"{getattr(node, 'module', '')}.{alias.name}".lstrip("."),)
            )
        )
    ]


def test_the_rules_do_no_io() -> None:
    found = [
        sentence
        for file in rules()
        for sentence in io_of(str(file.relative_to(ROOT)), file.read_text())
    ]

    assert found == [], "\n".join(found)


@pytest.mark.parametrize(
    "planted",
    ["open('x')", "import urllib.request", "from urllib import request", "import urllib"],
)
def test_the_check_of_io_in_rules__sees_it(planted: str) -> None:
    (sentence,) = io_of("core/planted/rules.py", planted)
    assert sentence.endswith("(docs/architecture.md, Laws, 2)")


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


BROAD = ("Exception", "BaseException")
EDGES = {
    "api/main.py",
    "indexer/loop.py",
    "keeper/main.py",
    "keeper/spared.py",
    "keeper/requests/loop.py",
    "core/db/engine.py",
    "api/kernel/http.py",
    "api/client/verify/main.py",
}


def broad_excepts(place: str, source: str) -> list[str]:
    """Where every exception is caught, alone, among others or by suppress, a sentence each."""
    tree = ast.parse(source)
    real = real_names(tree)
    caught = [
        (node.lineno, [node.type] if node.type else [])
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
    ] + [
        (node.lineno, list[ast.expr](node.args))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and real.get(name_of(node.func), name_of(node.func)) == "suppress"
    ]
    return [
        f"{place}:{line} catches every exception: name those that are expected; only a process's "
        "edge, a file of EDGES, catches all"
        for line, kinds in caught
        if not kinds or any(name_of(one) in BROAD for kind in kinds for one in _kinds_in(kind))
    ]


def _kinds_in(kind: ast.expr) -> list[ast.expr]:
    return kind.elts if isinstance(kind, ast.Tuple) else [kind]


def test_every_broad_except_stands_at_a_processs_edge() -> None:
    found = [
        sentence
        for file in sources(*PACKAGES)
        if (place := str(file.relative_to(ROOT))) not in EDGES
        for sentence in broad_excepts(place, file.read_text())
    ]

    assert found == [], "\n".join(found)


@pytest.mark.parametrize(
    "planted",
    [
        "try:\n    f()\nexcept:\n    g()",
        "try:\n    f()\nexcept Exception:\n    g()",
        "try:\n    f()\nexcept (ValueError, Exception):\n    g()",
        "with suppress(ValueError, Exception):\n    f()",
        "with contextlib.suppress(BaseException):\n    f()",
        "from contextlib import suppress as quiet\nwith quiet(Exception):\n    f()",
    ],
)
def test_the_check_of_broad_excepts__sees_one(planted: str) -> None:
    (sentence,) = broad_excepts("api/planted.py", planted)
    assert "catches every exception" in sentence


MAKERS = ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag", "namedtuple", "NamedTuple", "TypedDict")


def classes_named(source: str) -> list[str]:
    """Those of class statements, and of calls that make a class: Enum("Name", ...)."""
    tree = ast.parse(source)
    return [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)] + [
        str(node.args[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and name_of(node.func) in MAKERS
        and node.args
        and isinstance(node.args[0], ast.Constant)
    ]


def test_a_class_of_an_area__has_a_name_of_its_own() -> None:
    """Of the api and core: one name, one meaning."""
    named = [
        (name, file) for file in sources("api", "core") for name in classes_named(file.read_text())
    ]
    names = [name for name, _ in named]
    found = [
        f"{file.relative_to(ROOT)} names a class {name}, which another module does too: give it a "
        "name of its own (docs/glossary.md)"
        for name, file in named
        if file.relative_to(ROOT).parts[1] in ("areas", "tools")
        and "mandates" not in file.parts
        and names.count(name) > 1
    ]

    assert found == [], "\n".join(found)


def test_the_check_of_class_names__sees_calls_that_make_one() -> None:
    source = 'class A: ...\nB = Enum("B", "X")\nC = namedtuple("C", "x")\n'
    assert classes_named(source) == ["A", "B", "C"]


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


OPENS = ("write", "write_session", "pinned", "statements")  # of Database: what is no read session
KERNEL_OPENS = {
    "api/main.py",
    "api/kernel/credentials.py",
    "api/kernel/payments/metering.py",
    "api/kernel/pipeline.py",
}


def sessions_opened(place: str, source: str) -> list[str]:
    """Where a session that can write is opened, a sentence each."""
    return [
        f"{place}:{node.lineno} takes database.{node.attr}: a handler has the session of its call, "
        "which for a GET only reads (docs/architecture.md, Laws, 8)"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and node.attr in OPENS
        and name_of(node.value).lstrip("_") == "database"
    ]


def test_a_session_that_writes__is_opened_by_the_kernel_alone() -> None:
    found = [
        sentence
        for file in sources("api")
        if (place := str(file.relative_to(ROOT))) not in KERNEL_OPENS
        for sentence in sessions_opened(place, file.read_text())
    ]

    assert found == [], "\n".join(found)


@pytest.mark.parametrize("method", OPENS)
def test_the_check_of_sessions__sees_one_that_a_handler_opens(method: str) -> None:
    source = f"with call.deps.database.{method}() as session:\n    pass\n"
    (sentence,) = sessions_opened("api/planted.py", source)

    assert sentence.startswith(f"api/planted.py:1 takes database.{method}: a handler has")
