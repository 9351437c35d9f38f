"""A record with a gap says so: in what is exported, and to whoever verifies it without us."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from api.areas.mandates.views import record as mandate_record
from api.client.verify.findings import Report, Verdict
from api.client.verify.verification import Options, verify
from core.errors import OutsideError
from core.mandate.tables import Mandate
from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.conftest import Follower, Issued
from tests.integration.indexer.refusing import Refusals
from tests.integration.indexer.test_quarantine import buy

Working = tuple[Issued, str]


def exported(follower: Follower, mandate: Issued) -> Iterator[bytes]:
    contracts = follower.deployed.contracts
    with follower.database.read() as session:
        opened = mandate_record.opening(
            session, session.get_one(Mandate, mandate.id), contracts["factory"]
        )
    text = "".join(mandate_record.chunks(follower.database, opened))
    return iter(text.encode().splitlines(keepends=True))


def verified(follower: Follower, mandate: Issued) -> Report:
    contracts = follower.deployed.contracts
    options = Options(factory=contracts["factory"], x402_adapter=contracts["x402_adapter"])
    return verify(
        exported(follower, mandate), [follower.deployed.rpc], options, lambda part, done, of: None
    )


@pytest.fixture
def short(follower: Follower, working: Working) -> tuple[Issued, str, Refusals, int]:
    """A mandate whose second move is refused, and whose third waits; the block of the gap."""
    refusals = Refusals(follower.database)
    buy(follower, working, 10 * USDC)
    refusals.add(buy(follower, working, 20 * USDC))
    buy(follower, working, 5 * USDC)
    follower.catch_up()
    return *working, refusals, follower.tip.cursor.number - 1


def test_a_record_with_a_gap__is_neither_sound_nor_tampered_with(
    follower: Follower, short: tuple[Issued, str, Refusals, int]
) -> None:
    mandate, _, _, block = short
    report = verified(follower, mandate)
    assert report.findings == []
    assert report.verdict is Verdict.UNCHECKED
    assert f"short of facts of the chain (2) from block {block} on" in report.unchecked[0]
    assert report.shown["limits"]["used"]["left_total"] == {
        "value": None,
        "source": "none",
        "basis": "data_issue",
    }
    assert report.shown["progress"]["data_issue"] is True


def test_a_record_that_hides_more_than_its_gap__differs(
    follower: Follower, short: tuple[Issued, str, Refusals, int]
) -> None:
    mandate, _, _, _ = short
    lines = [
        line.replace(b'"held":{"facts":2', b'"held":{"facts":1')
        for line in exported(follower, mandate)
    ]
    options = Options(factory=follower.deployed.contracts["factory"])
    report = verify(lines, [follower.deployed.rpc], options, lambda part, done, of: None)
    assert [finding.name for finding in report.findings] == ["row.left_out", "row.left_out"]


def test_a_record_whose_gap_was_filled__is_sound(
    follower: Follower, short: tuple[Issued, str, Refusals, int]
) -> None:
    mandate, vault, refusals, _ = short
    refusals.drop()
    follower.retry_all()
    follower.assert_sound(mandate, vault)
    assert verified(follower, mandate).verdict is Verdict.SOUND


def test_a_replica_that_is_behind__ends_the_text_before_its_head(
    follower: Follower, working: tuple[Issued, str]
) -> None:
    """What was opened at one database may be read from another."""
    factory = follower.deployed.contracts["factory"]
    with follower.database.read() as session:
        mandate = session.get_one(Mandate, working[0].id)
        opened = mandate_record.opening(session, mandate, factory)
    said = mandate_record.chunks(follower.database, replace(opened, seq=opened.seq + 1))
    with pytest.raises(OutsideError, match="is behind"):
        list(said)
