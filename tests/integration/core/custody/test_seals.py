"""A restored backup holds seals of keys that were dropped since: which wallets these are is said,
and what it costs to find out.
"""

from sqlalchemy import text
from structlog.testing import capture_logs

from core.custody import queries as custody
from core.custody.keys import KeyMaker, KeyRing, version_of
from core.custody.seals import log_unknown
from core.db.engine import Database
from tests.integration.core.rows import NOW, add_account

NEW, OLD, OLDER = b"\x4e" * 32, b"\x4f" * 32, b"\x50" * 32


def sealed_with(database: Database, key: bytes, wallets: int) -> list[tuple[int, str]]:
    """(account, address) of new wallets."""
    made = []
    with database.write() as session:
        for _ in range(wallets):
            sealed = KeyMaker(KeyRing([key])).new_key(add_account(session, "agent"))
            assert custody.add_wallet(session, sealed, NOW)
            made.append((sealed.account_id, sealed.address))
    return made


def told(database: Database, *keys: bytes) -> list[dict[str, object]]:
    with capture_logs() as logs, database.read() as session:
        log_unknown(session, keys)
    return [{name: one[name] for name in ("key_version", "wallets", "accounts")} for one in logs]


def test_wallets_of_keys_that_are_set__are_not_told(database: Database) -> None:
    assert told(database) == []
    sealed_with(database, NEW, 2)
    sealed_with(database, OLD, 1)
    assert told(database, NEW, OLD) == []


def test_each_unknown_version__is_told_once_with_its_wallets(database: Database) -> None:
    sealed_with(database, NEW, 2)
    old, older = sealed_with(database, OLD, 2), sealed_with(database, OLDER, 1)
    expected = {
        version_of(key): ", ".join(f"{account} {address}" for account, address in wallets)
        for key, wallets in ((OLD, old), (OLDER, older))
    }
    assert {one["key_version"]: one["accounts"] for one in told(database, NEW)} == expected


def test_many_wallets_of_an_unknown_version__are_counted_and_the_first_twenty_named(
    database: Database,
) -> None:
    first = sealed_with(database, OLD, 23)[:20]
    [one] = told(database, NEW)
    assert one["wallets"] == 23
    assert (
        one["accounts"]
        == ", ".join(f"{account} {address}" for account, address in first) + " and 3 more"
    )


def test_without_any_key__every_wallet_is_told(database: Database) -> None:
    sealed_with(database, NEW, 1)
    assert [one["wallets"] for one in told(database)] == [1]


def test_versions__are_found_without_reading_every_wallet(database: Database) -> None:
    sealed_with(database, NEW, 1)
    sealed_with(database, OLD, 1)
    with database.write() as session:
        session.execute(
            text(
                "with made as (insert into account (kind, name, created_at) select 'agent', 'a', "
                "now() from generate_series(1, 20000) returning id) insert into custodial_wallet "
                "(account_id, address, ciphertext, key_version, created_at) select id, "
                "decode(lpad(to_hex(id), 40, '0'), 'hex'), '', :version, now() from made"
            ),
            {"version": version_of(NEW)},
        )
        session.execute(text("analyze custodial_wallet"))
    with database.read() as session:
        plan = "\n".join(session.scalars(text(f"explain {custody._KEY_VERSIONS.text}")))
    assert "Seq Scan" not in plan, plan
