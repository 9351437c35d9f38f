"""What `make preflight` finds wrong, each thing by its own sentence."""

import json
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from eth_account import Account
from sqlalchemy import make_url, text

from core.chain.abi import call_by_signature
from core.db.engine import Database
from core.findings import PartFinding, right, wrong
from core.hexes import bytes_of
from core.settings import Settings
from scripts import _preflight as preflight
from scripts._preflight import CHECKS, Check, Preflight, asked_of
from scripts.preflight import findings_of
from tests.each import each
from tests.integration.chain_fixtures import CHAIN_ID, DeployedChain
from tests.personas import DEPLOYER, KEEPER, OWNER, STRANGER

NOBODY_LISTENS = "http://127.0.0.1:1"


class Place(NamedTuple):
    deployed: DeployedChain
    database_url: str
    record: Path

    def asked(self, **changes: Any) -> Preflight:
        settings: dict[str, Any] = {
            "database_url": self.database_url,
            "rpc_urls": self.deployed.anvil.url,
            "deployment_file": self.record,
            "keeper_private_key": KEEPER.private_key,
            **changes,
        }
        return asked_of(Settings(**settings))


@pytest.fixture
def place(deployed: DeployedChain, database_url: str, tmp_path: Path) -> Place:
    record = tmp_path / "record.json"
    contracts: list[dict[str, Any]] = [
        {
            "name": name, "contract": "FiatToken", "address": address, "block": 1, "tx": None,
            "args": [], "creation_hash": "",
        }
        for name, address in deployed.contracts.items()
    ]  # fmt: skip
    record.write_text(
        json.dumps({"chain_id": CHAIN_ID, "block": 1, "commit": "0" * 40, "contracts": contracts})
    )
    return Place(deployed, database_url, record)


def found(check: Check, place: Place, **changes: Any) -> list[PartFinding]:
    asked = place.asked(**changes)
    try:
        return list(findings_of(check, asked))
    finally:
        asked.close()


def faults(check: Check, place: Place, **changes: Any) -> str:
    return "\n".join(
        f"{one.what}: {one.says}" for one in found(check, place, **changes) if not one.is_right
    )


@each(
    "check",
    [preflight.check_nodes, preflight.check_clock, preflight.check_database, preflight.check_factory,
     preflight.check_guard, preflight.check_keeper, preflight.check_settler],
)  # fmt: skip
def test_where_all_is_right__nothing_is_wrong(place: Place, check: Check) -> None:
    told = found(check, place)
    assert told
    assert faults(check, place) == ""


def test_a_node_of_another_chain__is_named(place: Place) -> None:
    record = json.loads(place.record.read_text())
    place.record.write_text(json.dumps(record | {"chain_id": 8453}))
    said = faults(preflight.check_nodes, place, chain_id=8453)
    assert "it serves chain 84532, CHAIN_ID is 8453: put another node into RPC_URLS" in said


def test_a_node_that_is_down__leaves_the_other_uncompared(place: Place) -> None:
    said = faults(
        preflight.check_nodes, place, rpc_urls=f"{place.deployed.anvil.url},{NOBODY_LISTENS}"
    )
    assert "node 127.0.0.1:1: no answer" in said
    assert "nodes agree: fewer than two nodes can be compared" in said


def test_a_head_that_is_old__is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 120)
    assert " s old: wait until it is synced" in faults(preflight.check_nodes, place)


@pytest.mark.parametrize(
    ("off_s", "says"), [(300, "300 s ahead of the database's"), (-300, "300 s behind the")]
)
def test_a_clock_off_by_five_minutes__is_named(
    place: Place, monkeypatch: pytest.MonkeyPatch, off_s: int, says: str
) -> None:
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + off_s)
    said = faults(preflight.check_clock, place)
    assert says in said
    assert "synchronise it with NTP" in said


def test_a_database_that_is_down__is_named(place: Place) -> None:
    said = faults(
        preflight.check_database, place, database_url="postgresql+psycopg://u:hidden@127.0.0.1:1/no"
    )
    assert "database: no connection (OperationalError): is it up" in said
    assert "hidden" not in said


def test_a_database_that_takes_no_writes__is_named(place: Place) -> None:
    name = make_url(place.database_url).database
    database = Database(place.database_url)
    with database.write() as session:
        session.execute(text(f'alter database "{name}" set default_transaction_read_only = on'))
    database.close()
    try:
        said = faults(preflight.check_database, place)
    finally:
        with database.engine.connect() as connection:
            connection.exec_driver_sql("set transaction read write")
            connection.exec_driver_sql(
                f'alter database "{name}" reset default_transaction_read_only'
            )
            connection.commit()
        database.close()
    assert "database: it is read-only: make room on its disk" in said


def test_a_database_that_refuses__is_told_in_its_words(place: Place) -> None:
    url = make_url(place.database_url).set(database="nosuch").render_as_string(hide_password=False)
    said = faults(preflight.check_database, place, database_url=url)
    assert 'no connection (database "nosuch" does not exist): is it up, and is DATABASE_URL' in said


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("drop table alembic_version", "it was never migrated: run `mandate-wallet migrate"),
        ("update alembic_version set version_num = '0003'", "it is at 0003, of before 0.1.0"),
        ("update alembic_version set version_num = '0070'", "the last migration before 0.1.0"),
        ("update alembic_version set version_num = '9999'", "9999, which this code does not know"),
        ("alter table room drop column message_count", "1 tables or columns differ from it"),
    ],
)
def test_half_a_migration__is_named(
    place: Place, database: Database, statement: str, says: str
) -> None:
    with database.write() as session:
        session.execute(text(statement))
    assert says in faults(preflight.check_database, place)


def test_a_record_of_another_deployment__is_named(place: Place) -> None:
    record = json.loads(place.record.read_text())
    for one in record["contracts"]:
        one["address"] = "0x" + "11" * 20
    place.record.write_text(json.dumps(record))
    assert "factory: no answer" in faults(preflight.check_factory, place)


def test_a_record_that_is_not_whole__is_named(place: Place) -> None:
    assert faults(preflight.check_contracts, place).startswith("record: ")


def test_a_place_without_compiled_contracts__says_that_it_compares_no_bytes(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "ARTIFACTS", tmp_path / "none")
    monkeypatch.setattr(preflight, "record_faults", lambda record, **_: ())
    told = found(preflight.check_contracts, place)
    assert [one.is_right for one in told] == [True, True]
    assert "nothing is compiled here" in told[1].says
    content = json.loads(place.record.read_text())
    content["contracts"].append(
        {**content["contracts"][0], "name": "gone", "address": STRANGER.address}
    )
    place.record.write_text(json.dumps(content))
    said = faults(preflight.check_contracts, place)
    assert f"gone has no code at {STRANGER.address}" in said


def test_a_place_without_compiled_contracts__asks_for_the_code_of_our_own_contracts(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = json.loads(place.record.read_text())
    for one in content["contracts"]:
        if one["name"] == "factory":
            one["contract"] = "MandateVaultFactory"  # and not Circle's, which is never compared
    place.record.write_text(json.dumps(content))
    monkeypatch.setattr(preflight, "ARTIFACTS", tmp_path / "none")
    monkeypatch.setattr(preflight, "record_faults", lambda record, **_: ())
    assert faults(preflight.check_contracts, place) == ""


def test_a_factory_that_is_paused__is_named(place: Place) -> None:
    factory = place.deployed.contracts["factory"]
    place.deployed.succeed(DEPLOYER, factory, call_by_signature("pause()", ()))
    assert "factory: it is paused" in faults(preflight.check_factory, place)


def test_a_guard_of_another_account__is_named(place: Place) -> None:
    said = faults(preflight.check_guard, place, guard_private_key=STRANGER.private_key)
    assert f"guard: the key is of {STRANGER.address}, the factory obeys" in said


def test_a_keeper_without_funds__is_named(place: Place) -> None:
    keeper = KEEPER.address
    place.deployed.rpc.call("anvil_setBalance", [keeper, "0x1"])
    said = faults(preflight.check_keeper, place)
    assert "Send at least" in said
    assert keeper in said


def test_a_keeper_that_the_factory_does_not_obey__is_named(place: Place) -> None:
    said = faults(
        preflight.check_keeper,
        place,
        keeper_private_key=STRANGER.private_key,
    )
    assert "keeper: The factory names the keeper" in said


def test_no_key__is_named(place: Place) -> None:
    said = faults(preflight.check_keeper, place, keeper_private_key=None)
    assert said.startswith("keeper: no key is set")


def test_a_payee_whom_nobody_settles_for__is_named(place: Place) -> None:
    said = faults(preflight.check_settler, place, x402_pay_to=OWNER.address)
    assert "X402_PAY_TO is set but nobody settles" in said


@pytest.mark.parametrize("prefix", ["guard", "x402_settle"])
def test_a_key_in_plain_or_of_everybody_off_a_local_chain__is_named(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, prefix: str
) -> None:
    check = {
        "guard": preflight.check_guard,
        "x402_settle": preflight.check_settler,
    }[prefix]
    keystore, password = tmp_path / "key.json", tmp_path / "password"
    password.write_text("right\n")
    keystore.write_text(
        json.dumps(Account.encrypt(bytes_of(STRANGER.private_key), "right", iterations=2))
    )
    monkeypatch.setattr(Preflight, "client", lambda asked: "op-geth/v1")
    both = {"x402_pay_to": OWNER.address}
    plain = {f"{prefix}_private_key": STRANGER.private_key}
    stored = {f"{prefix}_keystore": keystore, f"{prefix}_keystore_password_file": password}
    said = faults(check, place, **both, **plain)
    assert f"{prefix.upper()}_PRIVATE_KEY: accepted on a local chain only" in said
    assert "this is a public test account" in faults(check, place, **both, **stored)


def test_a_disk_that_is_full__is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10**12, 10**12, 10**8)
    )
    said = faults(preflight.check_disk, place)
    assert "0.1 GB are free, 5 are required: free some" in said
    # where only a page is printed less will do
    assert said.count("required") == 1


def test_a_port_that_is_taken__and_one_that_is_set_twice__are_named(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = faults(preflight.check_ports, place, port=port)
        assert f"port {port}: PORT: cannot listen at 127.0.0.1 (Address already in use)" in said
    said = faults(preflight.check_ports, place, port=port, keeper_metrics_port=port)
    assert f"port {port}: PORT and KEEPER_METRICS_PORT are the same" in said


def test_a_part_that_fails__is_a_finding(place: Place) -> None:
    def fails(asked: Preflight) -> Iterator[PartFinding]:
        yield right("first", "there")
        raise OSError("gone")

    assert found(fails, place)[1] == wrong("fails", "gone (OSError)")


def test_nothing_answers__and_every_part_has_its_line(place: Place) -> None:
    nowhere = {"rpc_urls": NOBODY_LISTENS, "database_url": "postgresql+psycopg://127.0.0.1:1/no"}
    silent = {preflight.check_proxies, preflight.check_venues}  # there are none of these
    for check in CHECKS.values():
        assert bool(found(check, place, **nowhere)) == (check not in silent)


def test_nothing_answers__and_no_sentence_ends_without_what_to_do(place: Place) -> None:
    nowhere = {"rpc_urls": NOBODY_LISTENS, "database_url": "postgresql+psycopg://127.0.0.1:1/no"}
    told = [one for check in CHECKS.values() for one in found(check, place, **nowhere)]
    assert [one for one in told if not one.is_right and one.says.endswith("Error)")] == []
    assert [one for one in told if not one.is_right and "sqlalche.me" in one.says] == []


def test_without_a_proxy__nothing_is_said_of_one(place: Place) -> None:
    assert found(preflight.check_proxies, place) == []


def test_a_replica_that_does_not_answer__is_named(place: Place) -> None:
    nowhere = "postgresql+psycopg://127.0.0.1:1/no"
    said = faults(preflight.check_proxies, place, database_read_url=nowhere)
    assert (
        "replica: No replica answers at DATABASE_READ_URL, so the primary answers all reads" in said
    )


def test_a_pooler_that_is_none__or_sets_no_bounds__is_named(place: Place) -> None:
    nowhere = "postgresql+psycopg://127.0.0.1:1/no"
    said = faults(preflight.check_proxies, place, database_pooled_url=nowhere)
    assert "is PgBouncer up, and is DATABASE_POOLED_URL right?" in said
    said = faults(preflight.check_proxies, place, database_pooled_url=place.database_url)
    assert "pooler: a statement through it has no bound: set connect_query" in said
