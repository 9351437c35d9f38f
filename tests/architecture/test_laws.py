"""The laws of docs/architecture.md that import-linter cannot see, checked on the syntax trees of
the four packages.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from sqlalchemy import Table

from api.tables import import_tables
from core.db.base import Base
from tests.append_only import append_only

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("core", "indexer", "keeper", "api")
# calls that take a row class and write nothing: SQLAlchemy's, and core.ledger's known_keys


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
    import_tables()
    tables = append_only("ledger")
    return {
        mapper.class_.__name__: table.name
        for mapper in Base.registry.mappers
        for table in mapper.tables
        if isinstance(table, Table) and table.name in tables
    }


@cache
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


def rules() -> list[Path]:
    """What is pure: the rules of every context, and the money, times and canonical forms that all
    use.
    """
    found = [
        file
        for file in sources("core", "api/areas")
        if "rules"
        in file.relative_to(ROOT).with_suffix("").parts[3 if "api" in file.parts else 2 :]
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

    assert [place.split(":")[0] for place in writers] == [
        "api/areas/mandates/service/exports/csv_text.py"
    ]


def test_transactions_are_sent_by_the_keepers_sender_and_the_settler_of_payments_alone() -> None:
    """And by the settler of payments, which sends one call of the token with a key of its own, and by
    the faucet of `make up`, for which anvil signs.

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
        "keeper/attempts.py",
        "api/payments/own_settler.py",
        "api/local_stack.py",
    }


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


STATISTICS = tuple(
    ROOT / place
    for place in ("core/market", "api/areas/feeds", "api/areas/claims", "api/areas/notes")
)
"""Where floats are right: statistics over market data (docs/market.md), and notes that tell of them.
No money is made of them.
"""


def test_the_domain_has_no_float() -> None:
    floats = [
        shown(file, node)
        for file in rules()
        if not any(map(file.is_relative_to, STATISTICS))
        for node in ast.walk(ast.parse(file.read_text()))
        if (isinstance(node, ast.Constant) and isinstance(node.value, float))
        or (isinstance(node, ast.Call) and name_of(node.func) == "float")
        or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div))
    ]

    assert floats == []


def test_no_money_is_made_of_market_statistics() -> None:
    """No rule of another context takes a value of core.market."""
    takers = [
        shown(file, node)
        for file in rules()
        if not any(map(file.is_relative_to, STATISTICS))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("core.market")
    ]

    assert takers == []


BROAD = ("Exception", "BaseException")
EDGES = {
    "api/main.py",
    "indexer/loop.py",
    "indexer/beside.py",
    "keeper/main.py",
    "keeper/requests/loop.py",
    "core/jobs/schedule.py",
    "core/jobs/each.py",
    "keeper/watch.py",
    "core/db/engine.py",
    "core/logs.py",
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
    """Names with a leading underscore that the source takes from another module, by an import or
    from a module that it imported; a sentence each.
    """
    tree = ast.parse(source)
    modules = modules_of(tree)
    taken = [
        (node.lineno, alias.name, node.module)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name.startswith("_")
    ] + [
        (node.lineno, node.attr, modules[node.value.id])
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if node.value.id in modules and node.attr.startswith("_") and not node.attr.endswith("__")
    ]
    return [
        f"{place}:{line} imports {name}, which is private to {module}: give it a public name, or "
        "move what needs it"
        for line, name, module in taken
    ]


def modules_of(tree: ast.AST) -> dict[str, str]:
    """The modules of this house that the source imported, by the name that it uses."""
    found = dict[str, str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom):
            found |= {
                alias.asname or alias.name: module
                for alias in node.names
                if is_module(module := f"{node.module}.{alias.name}")
            }
    return found


@cache
def is_module(name: str) -> bool:
    place = ROOT.joinpath(*name.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def test_a_private_name__is_imported_by_no_other_module() -> None:
    assert [
        sentence
        for file in sources(*PACKAGES, "scripts")
        for sentence in private_imports(str(file.relative_to(ROOT)), file.read_text())
    ] == []


@pytest.mark.parametrize(
    "source",
    [
        "from core.hexes import bytes_of, _nibbles\nfrom core._hexes import hex_of\n",
        "from core import hexes; X = hexes._nibbles, hexes.__name__\n",
        "import core.hexes as own; own._nibbles()\n",
    ],
)
def test_the_check_of_private_names__says_which_and_what_to_do(source: str) -> None:
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


OPENS = ("write", "pinned", "statements")  # of Database: what is no read session
KERNEL_OPENS = {
    "api/main.py",
    "api/kernel/credentials.py",
    "api/kernel/operation.py",
    "api/kernel/over_rate.py",
    "api/payments/metering.py",
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
        and file != ROOT / "api" / "worker.py"
        and not file.match(
            "api/areas/*/jobs.py"
        )  # no handler: a run writes by its own transactions
        for sentence in sessions_opened(place, file.read_text())
    ]

    assert found == [], "\n".join(found)


@pytest.mark.parametrize("method", OPENS)
def test_the_check_of_sessions__sees_one_that_a_handler_opens(method: str) -> None:
    source = f"with call.deps.database.{method}() as session:\n    pass\n"
    (sentence,) = sessions_opened("api/planted.py", source)

    assert sentence.startswith(f"api/planted.py:1 takes database.{method}: a handler has")
