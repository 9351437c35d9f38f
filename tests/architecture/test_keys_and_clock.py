"""Laws 4 and 6 of docs/architecture.md: who makes signers, and who reads the environment and the
clock.
"""

import ast
from pathlib import Path

import pytest

from tests.architecture.test_laws import PACKAGES, ROOT, name_of, real_names, sources

MAY_HOLD_A_KEY = {
    "api/main.py",
    "core/chain/signer.py",
    "core/custody/keys.py",
    "keeper/signers.py",
}
SIGNERS = ("LocalKeySigner", "RemoteSigner", "PrivateKey", "local_signer", "from_key", "decrypt")
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
        "local_signer('GUARD', None, file, password_file)",
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
    "api/worker.py": "hands the clock down",
    "core/chain/nodes.py": "a node that syncs is far behind the clock, too, one that others outbid with tomorrow is not",
    "core/startup.py": "holds the clock itself against the database's",
    "indexer/chain/context.py": "gives the metrics a clock by default",
    "indexer/main.py": "hands the clock down",
    "indexer/loop.py": "hands the clock down",
    "keeper/main.py": "hands the clock down",
    "api/payments/own_settler.py": "verify and settle of an x402 facilitator are given no time; x402's own reads the clock too",
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
