"""`indexer.rebuild` folds every vault's logs again, and repairs only when it is told to."""

import json
import os
from pathlib import Path

import pytest
from sqlalchemy import delete

from core.audit import queries as audit
from core.audit.rules import Fault, FindingKind
from core.blocks import queries as repository
from core.blocks.tables import RawLogRow
from core.hexes import bytes_of
from indexer.rebuild import RebuildRefusedError, prove_all
from tests.integration.chain_fixtures import CHAIN_ID, USDC, Ground
from tests.integration.indexer.conftest import Follower, Issued, now_utc
from tests.integration.nursery import ran

Working = tuple[Issued, str]


@pytest.fixture
def ground(short_epochs: Ground) -> Ground:
    return short_epochs


def lose_the_last_log_of(follower: Follower, vault: str) -> None:
    """As somebody may who has the owner's role."""
    with follower.database.write() as session:
        session.execute(
            delete(RawLogRow).where(
                RawLogRow.address == bytes_of(vault),
                RawLogRow.number == follower.tip.cursor.number,
            )
        )


def test_a_whole_record__is_proven_and_stays_as_it_is(follower: Follower, working: Working) -> None:
    follower.deployed.buy(working[1], USDC)
    follower.catch_up()
    rows = follower.rows(working[0])
    assert prove_all(follower.chain, is_repairing=False) == frozenset()
    assert prove_all(follower.chain, is_repairing=True) == frozenset()
    assert follower.rows(working[0]) == rows


def test_a_log_that_is_lost__is_named_and_comes_back_only_when_told_so(
    follower: Follower, working: Working
) -> None:
    mandate, vault = working
    follower.deployed.buy(vault, USDC)
    follower.catch_up()
    assert follower.log_proof.round() is False
    lose_the_last_log_of(follower, vault)
    fault = Fault(FindingKind.LOG, "log:lost", "a log is lost")
    with follower.database.write() as session:
        audit.add_finding(session, CHAIN_ID, fault, now_utc())
    for _ in range(2):
        assert prove_all(follower.chain, is_repairing=False) == {vault}
    with follower.database.read() as session:
        assert audit.open_counts(session, CHAIN_ID) == {"log": 1}
    assert prove_all(follower.chain, is_repairing=True) == frozenset()
    with follower.database.read() as session:
        assert repository.logs_of_block(session, CHAIN_ID, follower.tip.cursor.hash)
        assert audit.open_counts(session, CHAIN_ID) == {}
    assert follower.story(mandate)[-2:] == ["deposit", "move"]
    follower.assert_sound(mandate, vault)


def test_without_a_record_or_a_node_that_knows_its_block__it_is_refused(
    follower: Follower, working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(follower.chain.reader), "lens_of_each", lambda *asked: {})
    with pytest.raises(RebuildRefusedError, match="no node can read the vaults at block"):
        prove_all(follower.chain, is_repairing=False)


def test_while_an_indexer_leads__it_is_refused(
    follower: Follower, database_url: str, tmp_path: Path
) -> None:
    contracts = [
        {"name": name, "address": address} for name, address in follower.deployed.contracts.items()
    ]
    record = {"chain_id": CHAIN_ID, "block": 1, "commit": "0" * 40, "contracts": contracts}
    (tmp_path / "deployment.json").write_text(json.dumps(record))
    named = {
        "DATABASE_URL": database_url,
        "RPC_URLS": follower.deployed.anvil.url,
        "DEPLOYMENT_FILE": str(tmp_path / "deployment.json"),
    }
    done = ran("indexer.rebuild", env=os.environ | named | {"COLUMNS": "200"})
    assert done.returncode == 2
    assert "Refused: an indexer leads; stop it first" in done.stdout
    follower.leadership.release()
    done = ran("indexer.rebuild", env=os.environ | named | {"COLUMNS": "200"})
    assert done.returncode == 2
    assert "there is no record yet" in done.stdout
