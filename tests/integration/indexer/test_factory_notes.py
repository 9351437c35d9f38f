"""The factory's notes: who is owed them is written down with the block, the ledgers get them in
slices, in order, once.
"""

import pytest
from sqlalchemy import select

from core.alerts.tables import OwnerAlert
from core.db.engine import WriteSession
from core.mandate.chain import calldata
from core.mandate.ledger import deferred
from core.mandate.tables import MandateEvent, OwedNote
from indexer.chain import factory_notes, ledgers
from tests.integration.chain_fixtures import CHAIN_ID
from tests.integration.indexer.conftest import Follower, Issued
from tests.integration.indexer.test_alerts import alerts, factory_call, owner_of, propose
from tests.personas import OWNER

LETTERS = "abcde"


@pytest.fixture(autouse=True)
def slices_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factory_notes, "LEDGERS_A_SLICE", 2)


@pytest.fixture
def five(follower: Follower) -> list[tuple[Issued, str]]:
    """Five working mandates of an owner each; the indexer has seen them."""
    issued = [
        follower.issue(f"m_{letter * 10}", nonce=nonce)
        for nonce, letter in enumerate(LETTERS, start=2)
    ]
    vaults = [follower.deployed.create_vault(mandate.terms) for mandate in issued]
    follower.catch_up()
    return list(zip(issued, vaults, strict=True))


def noted(follower: Follower) -> list[int]:
    """The mandates with a note of a proposal, in the order of writing."""
    event = MandateEvent.payload["event"].astext
    with follower.database.read() as session:
        found = session.scalars(
            select(MandateEvent.mandate_id)
            .where(event == "KeeperProposed")
            .order_by(MandateEvent.id)
        )
        return list(found)


def ids(five: list[tuple[Issued, str]]) -> list[int]:
    return [mandate.id for mandate, _ in five]


@pytest.mark.slow
def test_the_block_writes_no_ledger__slices_are_written_beside_it(
    follower: Follower, five: list[tuple[Issued, str]]
) -> None:
    factory_call(follower, calldata.propose_keeper(OWNER.address))
    follower.tip.round()
    seen = [(noted(follower), True)]
    for _ in range(4):
        is_left = follower.write_slice()
        seen.append((noted(follower), is_left))
    one = ids(five)
    assert seen == [([], True), (one[:2], True), (one[:4], True), (one, False), (one, False)]


@pytest.mark.slow
def test_a_restart_between_slices__goes_on_and_writes_each_note_once(
    follower: Follower, five: list[tuple[Issued, str]]
) -> None:
    factory_call(follower, calldata.propose_keeper(OWNER.address))
    follower.tip.round()
    for _ in range(3):
        follower.write_slice()
        follower.restart()
    assert noted(follower) == ids(five)
    assert sorted(alerts(follower)) == sorted(
        (owner_of(follower, mandate), "KeeperProposed", False) for mandate, _ in five
    )


@pytest.mark.slow
def test_a_slice_that_is_rolled_back__is_written_by_the_next_round(
    follower: Follower, five: list[tuple[Issued, str]]
) -> None:
    factory_call(follower, calldata.propose_keeper(OWNER.address))
    follower.tip.round()
    follower.write_slice()
    session = WriteSession(follower.database.engine, expire_on_commit=False)
    owed = deferred.next_owed(session, CHAIN_ID, 2)
    assert owed is not None
    deferred.paid(session, owed)
    session.close()
    for _ in range(2):
        follower.write_slice()
    assert noted(follower) == ids(five)


@pytest.mark.slow
def test_a_later_event__never_overtakes_an_earlier_one_in_a_ledger(
    follower: Follower, five: list[tuple[Issued, str]]
) -> None:
    factory_call(follower, calldata.propose_keeper(OWNER.address))
    follower.tip.round()
    follower.write_slice()
    factory_call(follower, calldata.cancel_keeper_proposal())
    follower.catch_up()
    said = [
        [row.payload.get("event") for row in follower.rows(mandate)[-2:]] for mandate, _ in five
    ]
    assert said == [["KeeperProposed", "KeeperProposalCancelled"]] * 5


@pytest.mark.slow
def test_a_mandate_that_ends_before_its_slice__was_owed_the_note_and_gets_it(
    follower: Follower, five: list[tuple[Issued, str]]
) -> None:
    last, vault = five[-1]
    factory_call(follower, calldata.propose_keeper(OWNER.address))
    follower.tip.round()
    follower.write_slice()
    follower.deployed.succeed(OWNER, vault, calldata.stop("enough"))
    follower.deployed.succeed(OWNER, vault, calldata.settle())
    follower.catch_up()
    assert follower.mandate(last).status == "settled"
    assert [row.payload.get("event") for row in follower.rows(last)][-1] == "KeeperProposed"
    follower.assert_sound(last, vault)


@pytest.mark.slow
def test_a_mandate_that_ended_before_the_block_or_got_its_vault_after__is_owed_nothing(
    follower: Follower, five: list[tuple[Issued, str]]
) -> None:
    vault = five[0][1]
    follower.deployed.succeed(OWNER, vault, calldata.stop("enough"))
    follower.deployed.succeed(OWNER, vault, calldata.settle())
    late = follower.issue("m_late234567", nonce=9)
    factory_call(follower, calldata.propose_keeper(OWNER.address))
    follower.deployed.create_vault(late.terms)
    follower.catch_up()
    assert noted(follower) == ids(five)[1:]


@pytest.mark.slow
def test_a_reorg_between_slices__reverses_what_was_written_and_owes_nothing(
    follower: Follower, five: list[tuple[Issued, str]]
) -> None:
    factory_call(follower, calldata.propose_keeper(OWNER.address))
    follower.tip.round()
    follower.write_slice()
    follower.deployed.anvil.reorg(1)
    follower.catch_up()
    with follower.database.read() as session:
        assert session.scalars(select(OwedNote)).all() == []
        assert {
            alert.withdrawn_at is not None for alert in session.scalars(select(OwnerAlert))
        } == {True}
    assert [follower.story(mandate) for mandate, _ in five] == [
        ["signed", "vault_created", "deposit"]
    ] * 5
    for mandate, vault in five:
        follower.assert_sound(mandate, vault)


@pytest.mark.slow
def test_a_reorg_that_brings_the_event_again__notes_each_ledger_once(
    follower: Follower, five: list[tuple[Issued, str]]
) -> None:
    raw = propose(follower)
    follower.deployed.rpc.call("eth_sendRawTransaction", [raw])
    follower.deployed.anvil.mine(1)
    while follower.tip.cursor.hash != follower.head_hash:
        follower.tip.round()
    follower.write_slice()
    follower.deployed.anvil.reorg(2, [(raw, 1)])
    follower.catch_up()
    assert [follower.story(mandate).count("args") for mandate, _ in five] == [1] * 5


@pytest.mark.slow
def test_ledgers_that_all_refuse_their_note__are_a_sign_of_the_loop_each(
    follower: Follower, five: list[tuple[Issued, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand are searched and held in one transaction, which takes longer than the watchdog
    waits: it would be begun again for ever.
    """

    def refuse(*_: object) -> int:
        raise ValueError("refused by the test")

    factory_call(follower, calldata.propose_keeper(OWNER.address))
    monkeypatch.setattr(factory_notes, "LEDGERS_A_SLICE", len(five))
    monkeypatch.setattr(ledgers, "append", refuse)
    signs: list[None] = []
    follower.restart(sign=lambda: signs.append(None))
    follower.tip.round()
    follower.write_slice()
    assert noted(follower) == []
    assert len(signs) >= 3 * len(five)
