"""What a ledger refuses is held back, with what comes after it; all others go on, and it is taken
when it can be.
"""

import random
from collections.abc import Sequence
from datetime import timedelta

import pytest
from sqlalchemy import select

from core.alerts import queries as alerts
from core.alerts.tables import OwnerAlert
from core.chain.abi import topic_of
from core.chain.blocks import TransactionReceipt
from core.db.outage import OutageError
from core.health import views as health
from core.health.rules import Health, judge_indexer
from core.mandate.chain import calldata
from core.mandate.tables import Mandate
from core.transfers.rules import FourStates
from indexer.chain.facts import deposit_key
from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.conftest import Follower, SampleLedger, now_utc
from tests.integration.indexer.refusing import DISK_FULL, TOO_LARGE, Refusals, counted, facts, held
from tests.integration.indexer.test_deposits import Watched
from tests.integration.indexer.test_payments import link
from tests.personas import AGENT, DEPLOYER, STRANGER
from tests.slow import few

# Logs what it is sent: four topics and the data.
FORGING = "0x60803610602057606035604035602035600035608036038060806000376000a45b00"


def key_of(receipt: TransactionReceipt, vault: str) -> str:
    log = next(log for log in receipt.logs if log.address == vault)
    return f"log:{receipt.tx_hash}:{log.log_index}"


def buy(follower: Follower, pair: SampleLedger, amount: int = 10 * USDC) -> str:
    """The key of the fact."""
    return key_of(follower.deployed.buy(pair[1], amount), pair[1])


def reasons(follower: Follower, pair: SampleLedger) -> list[str]:
    return [fact.reason for fact in held(follower.database, pair[0].id)]


def moves(follower: Follower, pair: SampleLedger) -> int:
    return follower.story(pair[0]).count("move")


def as_history(follower: Follower) -> None:
    """What stands on the chain is far below the head, and a range to whoever has not seen it."""
    follower.deployed.anvil.mine(200)


@pytest.mark.parametrize("by_range", [False, True], ids=["at the tip", "in a range"])
@pytest.mark.parametrize("state", few(["23514", TOO_LARGE], plain=1))
def test_a_row_that_the_database_refuses__is_held_with_what_follows_and_the_others_stand(
    follower: Follower,
    ledgers: Sequence[SampleLedger],
    refusals: Refusals,
    state: str,
    by_range: bool,
) -> None:
    first, *others = ledgers
    kept = buy(follower, first)
    refusals.add(bad := buy(follower, first), state)
    after = [buy(follower, first), *(buy(follower, pair) for pair in others)]
    if by_range:
        as_history(follower)
    follower.catch_up()
    assert follower.tip.cursor.hash == follower.head_hash
    assert moves(follower, first) == 1
    assert follower.rows(first[0])[-1].base_key == kept
    found = held(follower.database, first[0].id)
    assert [(fact.base_key, fact.reason, fact.tries) for fact in found] == [
        (bad, "database", 1),
        (after[0], "behind", 0),
    ]
    assert found[0].note == f"The database refuses it (SQLSTATE {state})."
    for mandate, vault in others:
        assert moves(follower, (mandate, vault)) == 1
        follower.assert_sound(mandate, vault)


def test_what_comes_later__queues_and_is_taken_in_order_when_the_cause_is_mended(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals
) -> None:
    first, second, _ = ledgers
    refusals.add(buy(follower, first))
    follower.catch_up()
    for _ in range(3):
        buy(follower, first)
        buy(follower, second)
        follower.catch_up()
    assert (moves(follower, first), moves(follower, second)) == (0, 3)
    assert reasons(follower, first) == ["database", "behind", "behind", "behind"]
    refusals.drop()
    buy(follower, first)
    follower.catch_up()
    assert moves(follower, first) == 0
    [done] = follower.retry_all()
    assert (done.released, done.refusal) == (5, None)
    assert follower.retry_all() == []
    follower.assert_sound(*first)
    blocks = [row.block_number or 0 for row in follower.rows(first[0])[1:]]
    assert blocks == sorted(blocks)
    buy(follower, first)
    follower.catch_up()
    follower.assert_sound(*first)


@pytest.mark.slow
def test_a_fact_that_is_refused_again__stays_held_with_those_behind_it(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals
) -> None:
    first = ledgers[0]
    refusals.add(one := buy(follower, first))
    buy(follower, first)
    refusals.add(two := buy(follower, first), TOO_LARGE)
    buy(follower, first)
    follower.catch_up()
    [done] = follower.retry_all()
    assert (done.released, reasons(follower, first)) == (
        0,
        ["database", "behind", "behind", "behind"],
    )
    assert held(follower.database, first[0].id)[0].tries == 2
    refusals.drop(one)
    [done] = follower.retry_all()
    assert done.released == 2
    found = held(follower.database, first[0].id)
    assert [(fact.base_key == two, fact.reason, fact.tries) for fact in found] == [
        (True, "database", 1),
        (False, "behind", 0),
    ]
    assert TOO_LARGE in found[0].note


@pytest.mark.slow
def test_a_reorg__withdraws_what_its_blocks_had_held(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals
) -> None:
    first = ledgers[0]
    refusals.add(buy(follower, first))
    buy(follower, first)
    follower.catch_up()
    follower.deployed.anvil.reorg(2)
    follower.catch_up()
    assert held(follower.database, first[0].id) == []
    assert [fact.withdrawn_at is not None for fact in facts(follower.database)] == [True, True]
    assert [alert.withdrawn_at is not None for alert in owner_alerts(follower)] == [True]
    refusals.drop()  # the same transaction would be refused again
    buy(follower, first)
    follower.catch_up()
    follower.assert_sound(*first)


@pytest.mark.slow
def test_a_reorg_of_what_waits__leaves_the_first_one_held(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals
) -> None:
    first = ledgers[0]
    refusals.add(bad := buy(follower, first))
    buy(follower, first)
    follower.catch_up()
    follower.deployed.anvil.reorg(1)
    follower.catch_up()
    assert [fact.base_key for fact in held(follower.database, first[0].id)] == [bad]
    refusals.drop()
    follower.retry_all()
    follower.assert_sound(*first)


@pytest.mark.slow
def test_facts_that_were_taken_later__are_reversed_as_any_others(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals
) -> None:
    first = ledgers[0]
    refusals.add(buy(follower, first))
    follower.catch_up()
    refusals.drop()
    follower.retry_all()
    follower.deployed.anvil.reorg(1)
    follower.catch_up()
    assert moves(follower, first) == 0
    follower.assert_sound(*first)


def test_a_reverted_call_and_a_factory_note__queue_too(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals
) -> None:
    first, second, _ = ledgers
    refusals.add(buy(follower, first))
    reverted = follower.deployed.buy(first[1], 500 * USDC)
    assert reverted.status == 0
    follower.deployed.succeed(
        DEPLOYER, follower.deployed.contracts["factory"], calldata.propose_keeper(STRANGER.address)
    )
    follower.catch_up()
    assert follower.story(second[0])[3:] == ["args"]
    assert reasons(follower, first) == ["database", "behind", "behind"]
    assert {fact.base_key.partition(":")[0] for fact in held(follower.database, first[0].id)} == {
        "log",
        "revert",
    }
    refusals.drop()
    follower.retry_all()
    assert sorted(follower.story(first[0])[3:]) == ["args", "move", "refusal"]
    follower.assert_sound(*first)


@pytest.mark.slow
def test_a_full_disk__holds_nothing_back(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals
) -> None:
    first = ledgers[0]
    refusals.add(buy(follower, first), DISK_FULL)
    before = follower.tip.cursor
    with pytest.raises(OutageError, match="its disk is full"):
        follower.tip.round()
    assert (facts(follower.database), follower.tip.cursor) == ([], before)
    refusals.drop()
    follower.catch_up()
    follower.assert_sound(*first)


def forge(follower: Follower, vault: str, event: str, *words: str) -> None:
    """The vault's code is replaced by one that logs what it is sent."""
    follower.deployed.rpc.call("anvil_setCode", [vault, FORGING])
    topic = topic_of(event)
    data = "0x" + "".join(word.removeprefix("0x").rjust(64, "0") for word in (topic, *words))
    follower.deployed.succeed(STRANGER, vault, data)


@pytest.mark.parametrize(
    ("event", "words", "reason"),
    [
        ("Deposited", ("01", "02", "03", "04"), "undecodable"),
        ("Executed", ("ff" * 32, "aa" * 20, "d96a094a" + "00" * 28, "0a", "00", "ff"), "domain"),
    ],
    ids=["a log that is not what the ABI says", "a number that no row can have"],
)
@pytest.mark.parametrize("by_range", [False, True], ids=["at the tip", "in a range"])
def test_a_log_of_our_vault_that_makes_no_row__is_held(
    follower: Follower,
    ledgers: Sequence[SampleLedger],
    event: str,
    words: tuple[str, ...],
    reason: str,
    by_range: bool,
) -> None:
    first, second, _ = ledgers
    forge(follower, first[1], event, *words)
    buy(follower, second)
    if by_range:
        as_history(follower)
    follower.catch_up()
    assert reasons(follower, first) == [reason]
    assert moves(follower, second) == 1
    [done] = follower.retry_all()
    assert done.refusal is not None
    assert done.refusal.reason == reason


def test_a_deposit_that_a_wallets_ledger_refuses__is_held(
    follower: Follower, refusals: Refusals
) -> None:
    watched = Watched(follower)
    link(watched, now_utc() - timedelta(hours=1))
    first = watched.pay(5 * USDC)
    refusals.add(deposit_key(first, 0), TOO_LARGE)
    follower.catch_up()
    watched.pay(7 * USDC)
    follower.catch_up()
    assert [(fact.ledger, fact.ledger_id, fact.reason) for fact in facts(follower.database)] == [
        ("account", watched.agent, "database"),
        ("account", watched.agent, "behind"),
    ]
    assert watched.balance() == FourStates()
    refusals.drop()
    follower.retry_all()
    assert watched.balance() == FourStates(idle_e6=12 * USDC)


@pytest.mark.slow
def test_a_deposit_that_a_false_report_hid__queues_behind_what_is_held(
    follower: Follower, refusals: Refusals
) -> None:
    """It was posted past what its ledger lacks."""
    watched = Watched(follower)
    link(watched, now_utc() - timedelta(hours=1))
    refusals.add(deposit_key(watched.pay(5 * USDC), 0), TOO_LARGE)
    hidden = watched.pay(7 * USDC)
    watched.report(hidden, 70 * USDC)
    watched.make_safe()
    watched.look()
    assert watched.status(hidden) == ("failed", "contradicted")
    assert watched.balance() == FourStates()
    assert [fact.reason for fact in facts(follower.database)] == ["database", "behind"]
    refusals.drop()
    follower.retry_all()
    assert watched.balance() == FourStates(idle_e6=12 * USDC)


def test_a_deposit_that_a_false_report_hid__is_held_when_its_ledger_refuses_it(
    follower: Follower, refusals: Refusals
) -> None:
    """The report was never judged: each look met the same refusal."""
    watched = Watched(follower)
    link(watched, now_utc() - timedelta(hours=1))
    hidden = watched.pay(7 * USDC)
    refusals.add(deposit_key(hidden, 0))
    watched.report(hidden, 70 * USDC)
    watched.make_safe()
    watched.look()
    assert watched.status(hidden) == ("failed", "contradicted")
    assert [fact.reason for fact in facts(follower.database)] == ["database"]


# Who is told


def owner_alerts(follower: Follower) -> list[OwnerAlert]:
    with follower.database.read() as session:
        return list(
            session.scalars(select(OwnerAlert).where(OwnerAlert.kind == alerts.RECORD_HELD))
        )


def test_the_owner__is_told_once_and_the_alert_ends_when_the_record_is_whole(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals
) -> None:
    first = ledgers[0]
    refusals.add(buy(follower, first))
    follower.catch_up()
    buy(follower, first)
    follower.catch_up()
    [alert] = owner_alerts(follower)
    with follower.database.read() as session:
        mandate = session.get_one(Mandate, first[0].id)
    assert (alert.owner_id, alert.withdrawn_at) == (mandate.owner_id, None)
    assert alert.payload == {
        "event": "RecordHeld",
        "args": {
            "from_block": str(alert.block_number),
            "reason": "database",
            "note": "The database refuses it (SQLSTATE 23514).",
        },
        "mandate_id": first[0].public_id,
    }
    refusals.drop()
    follower.retry_all()
    assert [one.withdrawn_at is not None for one in owner_alerts(follower)] == [True]


def test_the_alert_of_a_record_that_a_reorg_made_whole__is_withdrawn(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals
) -> None:
    """The alert is of the first fact, which was taken; the reorg takes the other one back."""
    first = ledgers[0]
    refusals.add(bad := buy(follower, first))
    follower.deployed.anvil.mine(2)
    refusals.add(buy(follower, first))
    follower.catch_up()
    refusals.drop(bad)
    follower.retry_all()
    follower.deployed.anvil.reorg(1)
    follower.catch_up()
    assert reasons(follower, first) == []
    assert [alert.withdrawn_at is not None for alert in owner_alerts(follower)] == [True]


def test_operators__see_the_indexer_degraded(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals
) -> None:
    refusals.add(buy(follower, ledgers[0]))
    buy(follower, ledgers[0])
    follower.catch_up()
    with follower.database.read() as session:
        found = health.indexer_facts(session, now_utc(), follower.tip.cursor.number)
    assert (found.held_ledgers, found.held_facts) == (1, 2)
    follower.leadership.beat({"state": "following"})
    with follower.database.read() as session:
        verdict = judge_indexer(
            health.indexer_facts(session, now_utc(), follower.tip.cursor.number)
        )
    assert verdict.health is Health.DEGRADED
    assert "held back: 2, from 1 ledgers" in (verdict.note or "")


# What it costs, and that it always ends


@pytest.mark.slow
def test_a_clean_range__pays_one_savepoint_and_one_look(
    follower: Follower, ledgers: Sequence[SampleLedger]
) -> None:
    for _ in range(4):
        for pair in ledgers:
            buy(follower, pair)
    as_history(follower)
    with counted(follower.database) as sent:
        follower.catch_up()
    assert sent.count("savepoint") == 1
    assert "rollback_savepoint" not in sent
    assert sum("quarantined_fact" in statement for statement in sent) == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_refused__a_range_ends_and_takes_what_can_be_taken(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals, seed: int
) -> None:
    """Each ledger has exactly the rows before its first refused one; afterwards all of them."""
    chance = random.Random(seed)
    keys: dict[int, list[str]] = {mandate.id: [] for mandate, _ in ledgers}
    for _ in range(24):
        pair = chance.choice(ledgers)
        keys[pair[0].id].append(buy(follower, pair, chance.randint(1, 5) * USDC))
    bad = {key for of_ledger in keys.values() for key in of_ledger if chance.random() < 0.15}
    for key in bad:
        refusals.add(key, chance.choice(["23514", TOO_LARGE]))
    if seed % 2:
        as_history(follower)
    follower.catch_up()
    for mandate, _ in ledgers:
        mine = keys[mandate.id]
        first_bad = next((at for at, key in enumerate(mine) if key in bad), len(mine))
        assert [row.base_key for row in follower.rows(mandate)[3:]] == mine[:first_bad]
        assert [fact.base_key for fact in held(follower.database, mandate.id)] == mine[first_bad:]
    refusals.drop()
    follower.retry_all()
    for mandate, vault in ledgers:
        follower.assert_sound(mandate, vault)


@pytest.mark.slow
def test_an_agent_whose_log_was_held__is_not_lost(
    follower: Follower, ledgers: Sequence[SampleLedger], refusals: Refusals
) -> None:
    """The registry does not wait for the ledger: the keeper and the scan of reverted calls know the
    agent at once.
    """
    first = ledgers[0]
    refusals.add(buy(follower, first))
    follower.catch_up()
    assert follower.tip._watch.vaults[first[1]].agents == (AGENT.address,)
