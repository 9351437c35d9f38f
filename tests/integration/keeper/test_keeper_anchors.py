"""The keeper posts each hour's root once, whatever happens in between."""

import json
from contextlib import suppress
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from sqlalchemy import delete, update

from api.areas.anchors.jobs import Anchors
from core.anchors import queries
from core.anchors.chain import ANCHORED, CONTRACT, newest_posted, post_data
from core.anchors.queries import EpochTree
from core.anchors.rules import EMPTY, EPOCH_S, START, epoch_end_s, newest_settled
from core.anchors.tables import AnchorEpoch, AnchorHead, AnchorLeaf, AnchorNode
from core.chain.errors import RpcError
from core.chain.nodes import Nodes
from core.db.engine import Database
from core.hexes import hex_of
from core.mandate.chain import calldata
from core.mandate.chain.reader import VaultReader
from core.mandate.ledger import writer as mandate_ledger
from keeper.anchoring import Anchoring
from keeper.state import KeeperState
from tests.integration.core.rows import NOW as ROWS_AT
from tests.integration.core.rows import add_mandate, signed
from tests.integration.keeper.conftest import KilledError, Stage
from tests.integration.lent import lent_during
from tests.node_transport import in_threads
from tests.personas import DEPLOYER, KEEPER, STRANGER

WORD = "0x" + "11" * 32
HANDOVER_S = 48 * 3_600


def hours_pass(stage: Stage, hours: int) -> int:
    """The contract is there, so many hours pass and are made; answers the newest."""
    factory = stage.chain.contracts["factory"]
    stage.chain.contracts[CONTRACT] = stage.chain.deploy("RecordAnchor", factory)
    epoch = stage.chain.now // EPOCH_S + hours - 1
    at = epoch_end_s(epoch) + 400
    stage.pass_time(at)
    job = Anchors(stage.chain.reader, stage.database)
    job.run(datetime.fromtimestamp(at, UTC))
    return epoch


def posted(stage: Stage) -> int:
    header = stage.chain.reader.header()
    assert header is not None
    return newest_posted(stage.chain.rpc, stage.chain.contracts[CONTRACT], header.hash)[0]


def test_an_hour_that_is_over__is_posted_once(stage: Stage) -> None:
    epoch = hours_pass(stage, 1)
    keeper = stage.keeper()
    for _ in range(3):
        keeper.run()
        stage.chain.anvil.mine()
    assert posted(stage) == epoch
    assert [kind for kind, _ in stage.states()].count("anchor") == 1


@pytest.mark.parametrize("state", ["planned", "signed"])
def test_killed_between_commit_and_send__neither_skips_nor_doubles(
    stage: Stage, state: str
) -> None:
    epoch = hours_pass(stage, 2)
    dying = stage.keeper(die_after=state)
    with pytest.raises(KilledError):
        dying.run()
    dying.die()
    keeper = stage.keeper()
    for _ in range(6):
        keeper.run()
        stage.chain.anvil.mine()
    assert posted(stage) == epoch
    assert [kind for kind, _ in stage.states()].count("anchor") == 2


@pytest.mark.slow
def test_epochs_whose_blocks_were_not_found__hold_no_later_one_back(stage: Stage) -> None:
    """The oldest 100 of them were all that the keeper looked at."""
    epoch = hours_pass(stage, 1)
    with stage.database.write() as session:
        for old in range(1, 102):
            session.add(
                AnchorEpoch(
                    epoch=old, root=START, root_before=START, seen_block=0, created_at=stage.now()
                )
            )
    keeper = stage.keeper()
    for _ in range(3):
        keeper.run()
        stage.chain.anvil.mine()
    assert posted(stage) == epoch


def test_a_post_of_a_node_that_is_behind__is_looked_for_again(database: Database) -> None:
    """One node named the safe block and failed, the other one did not have it yet: the post was
    passed over for good.
    """

    def answer(request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content)
        if asked["method"] == "eth_getBlockByNumber" and request.url.host == "ahead":
            header = {"number": "0x64", "hash": WORD, "parentHash": WORD, "timestamp": "0x1"}
            block = {**header, "logsBloom": "0x" + "00" * 256, "transactions": []}
            return httpx.Response(200, json={"jsonrpc": "2.0", "id": asked["id"], "result": block})
        if asked["method"] == "eth_getLogs" and request.url.host == "behind":
            return httpx.Response(200, json={"jsonrpc": "2.0", "id": asked["id"], "result": []})
        return httpx.Response(503)

    with database.write() as session:
        queries.add_epoch(session, 7, EpochTree(EMPTY), START, 10, datetime.now(UTC))
    rpc = Nodes(
        ["http://ahead", "http://behind"], transport=in_threads(httpx.MockTransport(answer))
    )
    reader = VaultReader(rpc, {CONTRACT: "0x" + "11" * 20})
    with pytest.raises(RpcError):
        Anchors(reader, database).run(datetime.fromtimestamp(epoch_end_s(7), UTC))
    with database.read() as reading:
        assert [one.seen_block for one in queries.unposted(reading, 1)] == [10]


def test_a_post__is_looked_for_from_the_safe_block_on(stage: Stage) -> None:
    """A reorganisation put it below the newest block of the time when its root was made."""
    hours_pass(stage, 1)
    safe = stage.chain.reader.header("safe")
    assert safe is not None
    with stage.database.read() as session:
        assert [one.seen_block for one in queries.unposted(session, 1)] == [safe.number]


def test_roots__are_hashed_outside_of_transactions_and_kept_one_by_one(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three hours are over; each run has time for one, and hashing takes longer than a transaction may
    be idle.
    """
    now = datetime(2026, 11, 21, 12, tzinfo=UTC)
    newest = newest_settled(now)
    header = {
        "number": "0x64", "hash": WORD, "parentHash": WORD, "timestamp": hex(int(now.timestamp())),
        "logsBloom": "0x" + "00" * 256, "transactions": [],
    }  # fmt: skip

    def answer(request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content)
        result: Any = [] if asked["method"] == "eth_getLogs" else header
        return httpx.Response(200, json={"jsonrpc": "2.0", "id": asked["id"], "result": result})

    with database.write() as session:
        queries.add_epoch(session, newest - 3, EpochTree(EMPTY), START, 10, now)
        # written before these hours ended
        mandate_ledger.append_ledgers(session, {add_mandate(session): [signed()]}, ROWS_AT)
    lent = lent_during(monkeypatch, database, queries, "grown")
    rpc = Nodes(["http://node"], transport=in_threads(httpx.MockTransport(answer)))
    job = Anchors(VaultReader(rpc, {CONTRACT: "0x" + "11" * 20}), database, run_s=0)
    assert [job.run(now)["made"] for _ in range(4)] == [1, 1, 1, 0]
    assert set(lent) == {0}
    with database.read() as reading:
        newest_root = queries.newest_epoch(reading)
        assert newest_root is not None
        assert newest_root.epoch == newest
        assert newest_root.root != EMPTY


# What a node may say of the contract, and what the keeper makes of it.
LIES = {
    "an epoch that no clock has": ("ff" * 32, "11" * 32),
    "an epoch beyond a bigint": ("00" * 24 + "ff" * 8, "11" * 32),
    "a word too few": ("", "11" * 32),
    "a word too many": ("00" * 32, "11" * 64),
    "no hex": ("zz", "11" * 32),
    "another past": ("00" * 32, "11" * 32),
    "a later past": ("00" * 28 + "00ffffff", "11" * 32),
}


@pytest.mark.parametrize("epoch_and_root", LIES.values(), ids=LIES)
def test_a_node_that_lies_of_the_contract__posts_nothing_and_stops_nothing(
    database: Database, epoch_and_root: tuple[str, str]
) -> None:
    """A number that no column holds ended the keeper's tick."""

    def answer(request: httpx.Request) -> httpx.Response:
        results = [
            {"jsonrpc": "2.0", "id": asked["id"], "result": "0x" + word}
            for asked, word in zip(json.loads(request.content), epoch_and_root, strict=True)
        ]
        return httpx.Response(200, json=results)

    with database.write() as session:
        queries.add_epoch(session, 7, EpochTree(EMPTY), START, 10, datetime.now(UTC))
    rpc = Nodes(["http://liar"], transport=in_threads(httpx.MockTransport(answer)))
    anchoring = Anchoring(database, VaultReader(rpc, {CONTRACT: "0x" + "11" * 20}))
    state = cast(
        "KeeperState", SimpleNamespace(is_stood_down=False, head=SimpleNamespace(hash=WORD))
    )

    assert anchoring.due(state) == []


def test_a_post_that_a_reorganisation_takes_back__is_posted_again(stage: Stage) -> None:
    epoch = hours_pass(stage, 1)
    keeper = stage.keeper()
    keeper.run()
    stage.chain.anvil.mine()
    assert posted(stage) == epoch
    stage.chain.anvil.reorg(2)
    assert posted(stage) < epoch
    for _ in range(6):
        keeper.run()
        stage.chain.anvil.mine()

    assert posted(stage) == epoch


def test_two_keepers_at_once__post_an_hour_once(stage: Stage) -> None:
    epoch = hours_pass(stage, 2)
    first, second = stage.keeper(), stage.keeper()
    first.run()
    assert not second.leadership.try_take(second.now())
    first.die()
    for _ in range(6):
        second.run()
        stage.chain.anvil.mine()

    assert posted(stage) == epoch
    assert [kind for kind, _ in stage.states()].count("anchor") == 2


def test_a_restored_database__posts_nothing_over_another_past(stage: Stage) -> None:
    """Its newest epoch was posted and then lost with the rows; the hour after it is another one."""
    epoch = hours_pass(stage, 2)
    keeper = stage.keeper()
    for _ in range(6):
        keeper.run()
        stage.chain.anvil.mine()
    assert posted(stage) == epoch
    with stage.database.write() as session:
        session.execute(
            update(AnchorEpoch).where(AnchorEpoch.epoch == epoch).values(root=b"\x22" * 32)
        )
        again = queries.newest_epoch(session)
        assert again is not None
        queries.add_epoch(session, epoch + 1, EpochTree(again.root), again.root, 10, stage.now())
    stage.pass_time(epoch_end_s(epoch + 1) + 400)
    for _ in range(3):
        keeper.run()
        stage.chain.anvil.mine()

    assert posted(stage) == epoch


def run_job(stage: Stage, at: int) -> None:
    Anchors(stage.chain.reader, stage.database).run(datetime.fromtimestamp(at, UTC))


def test_a_restored_database_that_lost_no_row__finds_the_posts_of_before(stage: Stage) -> None:
    """It makes the same roots again. Their posts were looked for from the newest block on, so every
    record lacked these hours for good, and was called forged.
    """
    epoch = hours_pass(stage, 2)
    keeper = stage.keeper()
    for _ in range(6):
        keeper.run()
        stage.chain.anvil.mine()
    stage.chain.anvil.mine(40)
    run_job(stage, epoch_end_s(epoch) + 500)
    with stage.database.read() as reading:
        assert queries.unposted(reading, 1) == []
    stage.pass_time(epoch_end_s(epoch) + 900)
    with stage.database.write() as session:  # the hour is made and posted after the backup
        session.execute(delete(AnchorEpoch).where(AnchorEpoch.epoch == epoch))
    for _ in range(2):
        run_job(stage, epoch_end_s(epoch) + 900)

    with stage.database.read() as reading:
        assert queries.newest_posted_epoch(reading) == epoch


def test_a_clock_that_is_ahead__makes_no_hour_that_is_not_over(stage: Stage) -> None:
    """What is written in such an hour was in no root of it: `anchor.backdated`, in every record."""
    epoch = hours_pass(stage, 1)
    run_job(stage, epoch_end_s(epoch + 5) + 400)

    with stage.database.read() as reading:
        newest = queries.newest_epoch(reading)
    assert newest is not None
    assert newest.epoch == epoch


OTHER_LOGS = {
    "of another contract": {"address": "0x" + "22" * 20},
    "of a block before": {"blockNumber": "0x9"},
    "of a block after": {"blockNumber": "0x65"},
    "of another event": {"topics": ["0x" + "33" * 32, "0x" + "00" * 31 + "07"]},
}


@pytest.mark.parametrize("change", [{}, *OTHER_LOGS.values()], ids=["asked for", *OTHER_LOGS])
def test_a_log_that_was_not_asked_for__is_no_hours_post(
    database: Database, change: dict[str, Any]
) -> None:
    """The block that is found first is kept: each record then named one without this post."""

    def answer(request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content)
        header = {"number": "0x64", "hash": WORD, "parentHash": WORD, "timestamp": "0x1"}
        told = {
            "address": "0x" + "11" * 20, "topics": [ANCHORED, "0x" + "00" * 31 + "07"],
            "data": hex_of(START + START), "blockNumber": "0x14", "blockHash": WORD,
            "transactionHash": WORD, "transactionIndex": "0x0", "logIndex": "0x0",
        }  # fmt: skip
        result: Any = [told | change]
        if asked["method"] == "eth_getBlockByNumber":
            result = {**header, "logsBloom": "0x" + "00" * 256, "transactions": []}
        return httpx.Response(200, json={"jsonrpc": "2.0", "id": asked["id"], "result": result})

    with database.write() as session:
        queries.add_epoch(session, 7, EpochTree(EMPTY), START, 10, datetime.now(UTC))
        session.execute(update(AnchorEpoch).values(root=START))
    rpc = Nodes(["http://liar"], transport=in_threads(httpx.MockTransport(answer)))
    job = Anchors(VaultReader(rpc, {CONTRACT: "0x" + "11" * 20}), database)
    with suppress(RpcError):
        job.run(datetime.fromtimestamp(epoch_end_s(7), UTC))
    with database.read() as reading:
        assert queries.newest_posted_epoch(reading) == (None if change else 7)


@pytest.mark.parametrize("is_emptied", [False, True])
def test_a_new_contract__is_posted_to_once_the_tables_are_emptied(
    stage: Stage, is_emptied: bool
) -> None:
    """As docs/operations/keeper.md says; with the old tables it has another past for good."""
    hours_pass(stage, 1)
    if is_emptied:
        with stage.database.write() as session:
            for table in (AnchorEpoch, AnchorHead, AnchorLeaf, AnchorNode):
                session.execute(delete(table))
    epoch = hours_pass(stage, 1)
    keeper = stage.keeper()
    for _ in range(6):
        keeper.run()
        stage.chain.anvil.mine()

    assert posted(stage) == (epoch if is_emptied else epoch - 1)


def handed_over(stage: Stage) -> None:
    """The factory names STRANGER's account, 48 hours after it was proposed."""
    factory = stage.chain.contracts["factory"]
    stage.chain.succeed(DEPLOYER, factory, calldata.propose_keeper(STRANGER.address))
    stage.pass_time(stage.chain.now + HANDOVER_S)
    stage.chain.succeed(STRANGER, factory, calldata.accept_keeper())


def test_after_a_false_root__anchoring_goes_on_once_the_key_is_handed_over(stage: Stage) -> None:
    """One false root of a stolen key ended it for good."""
    epoch = hours_pass(stage, 2)
    contract = stage.chain.contracts[CONTRACT]
    first = epoch - 1
    with stage.database.read() as session:
        one, _ = queries.unposted(session, 2)
    stage.chain.succeed(KEEPER, contract, post_data(one.epoch, one.root, one.root_before))
    # somebody with the keeper's key
    false = b"\x66" * 32
    stage.chain.succeed(KEEPER, contract, post_data(epoch, false, one.root))
    stage.chain.anvil.mine(40)
    run_job(stage, epoch_end_s(epoch) + 400)
    stage.pass_time(epoch_end_s(epoch + 1) + 400)
    run_job(stage, epoch_end_s(epoch + 1) + 400)
    keeper = stage.keeper()
    for _ in range(3):
        keeper.run()
        stage.chain.anvil.mine()
    assert posted(stage) == epoch  # nothing is posted over it with the same key
    keeper.die()

    handed_over(stage)
    run_job(stage, stage.chain.now)
    new = stage.keeper(signer=STRANGER.signer)
    for _ in range(6):
        new.run()
        stage.chain.anvil.mine()

    assert posted(stage) > epoch
    stage.chain.anvil.mine(40)
    run_job(stage, stage.chain.now)
    with stage.database.read() as session:
        found = queries.posted_between(session, first, epoch + 1, 10)
    assert [post.epoch for post in found] == [first, epoch + 1]
    assert found[1].root_before == hex_of(false)
