"""A record with anchors, hours of them, on a chain that began three hours ago.

-3h        -2h        -1h         0 (real time)      +1h          +2h          +3h
 contract   nothing    nothing     the mandate's rows  a report      nothing      exported
 |-- no leaf -----------------------|-- rows ----------|-- one more --|-- the same --|
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

from api.areas.anchors.jobs import Anchors
from core.anchors import queries
from core.anchors.chain import CONTRACT, post_data, post_of
from core.anchors.queries import EpochRoot
from core.anchors.rules import EPOCH_S, EpochPost, epoch_end_s, epoch_of
from core.db.embedded import EmbeddedPostgres
from core.mandate.chain import calldata
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.new_rows import event_row
from core.money import UsdcE6
from tests.integration.chain_fixtures import (
    CHAIN_ID,
    USDC,
    DeployedChain,
)
from tests.integration.client.conftest import export, following
from tests.integration.indexer.conftest import Follower, Issued, now_utc
from tests.personas import DEPLOYER, KEEPER, STRANGER, Persona
from tests.raw_logs import log_of

SETTLED = 400  # seconds after an hour at which its root is made here
HOURS_BEFORE = 3


@dataclass
class AnchoredRecord:
    """`first`: the epoch of the mandate's first rows. `lines` end with the head."""

    follower: Follower
    mandate: Issued
    vault: str
    first: int
    lines: tuple[bytes, ...] = ()
    contract: str = ""
    gappy: str = ""  # another contract, which the epoch after the first was never posted to
    late: str = ""  # a third, which got all epochs after the last of them
    handed_over: int = 0  # the block in which another keeper was named

    @property
    def chain(self) -> DeployedChain:
        return self.follower.deployed

    def report(self, at: int) -> None:
        """The agent says something at this unix second."""
        when = datetime.fromtimestamp(at, UTC)
        row = event_row(
            kind="buy",
            amount_usdc_e6=UsdcE6(5 * USDC),
            tx_hash=None,
            why="cheap",
            payload={
                "target": self.chain.contracts["test_venue_adapter"],
                "position": {"id": "never bought", "name": "never bought"},
            },
            violation=None,
            is_unseen=True,
            fact=uuid4().hex,
            now=when,
            chain_id=CHAIN_ID,
        )
        with self.follower.database.write() as session:
            mandate_ledger.append(session, self.mandate.id, row, when)

    def job(self) -> Anchors:
        return Anchors(self.chain.reader, self.follower.database)

    def pass_hour(self, epoch: int) -> None:
        """The epoch ends, its root is made."""
        at = epoch_end_s(epoch) + SETTLED
        if self.chain.now < at:
            self.chain.rpc.call("evm_setTime", [at])
            self.chain.anvil.mine()
        self.job().run(datetime.fromtimestamp(at, UTC))

    def epochs(self) -> list[EpochRoot]:
        with self.follower.database.read() as session:
            return queries.unposted(session, 1_000)

    def post(
        self,
        contract: str,
        one: EpochRoot,
        root_before: bytes | None = None,
        keeper: Persona = KEEPER,
    ) -> None:
        data = post_data(one.epoch, one.root, root_before or one.root_before)
        self.chain.succeed(keeper, contract, data)

    def posts(self, contract: str) -> dict[int, EpochPost]:
        """What a contract has posted, by epoch."""
        wanted = {"address": contract, "fromBlock": "0x0", "toBlock": "latest"}
        logs = self.chain.rpc.call("eth_getLogs", [wanted])
        found = [post_of(log_of(log)) for log in logs]
        return {post.epoch: post for post in found}

    def finish(self) -> None:
        """All posts are safe, found, and exported."""
        self.chain.anvil.mine(40)
        self.chain.rpc.call("evm_increaseTime", [5_400])  # what was posted is owed by then
        self.chain.anvil.mine()
        self.job().run(datetime.fromtimestamp(epoch_end_s(self.first), UTC))
        self.follower.catch_up()
        self.lines = export(self.follower, self.mandate)

    def hand_over(self, after_s: int = 48 * 3_600, overtaken_by: str | None = None) -> int:
        """The factory names STRANGER's account, so long after it was proposed; in which block.

        `overtaken_by`: the old keeper's post, the transaction before it in its block.
        """
        factory = self.chain.contracts["factory"]
        self.chain.succeed(DEPLOYER, factory, calldata.propose_keeper(STRANGER.address))
        self.chain.rpc.call("evm_setTime", [self.chain.now + after_s])
        self.chain.anvil.mine()
        if overtaken_by is None:
            return self.chain.succeed(STRANGER, factory, calldata.accept_keeper()).block_number
        self.chain.rpc.call("evm_setAutomine", [False])
        calls = (KEEPER, self.contract, overtaken_by), (STRANGER, factory, calldata.accept_keeper())
        raws = [self.chain.sign(*call) for call in calls]
        sent = [self.chain.rpc.call("eth_sendRawTransaction", [raw]) for raw in raws]
        self.chain.anvil.mine()
        self.chain.rpc.call("evm_setAutomine", [True])
        post, handover = self.chain.reader.receipts_of(sent)
        assert post is not None and handover is not None
        assert (post.status, post.block_number) == (1, handover.block_number)
        return handover.block_number


@contextmanager
def anchored_record(postgres: EmbeddedPostgres, template: str) -> Iterator[AnchoredRecord]:
    began = int(now_utc().timestamp()) - HOURS_BEFORE * EPOCH_S
    with following(postgres, template, "--timestamp", str(began)) as follower:
        yield _anchored(follower)


FALSE = b"\x66" * 32


@contextmanager
def handed_over_record(
    postgres: EmbeddedPostgres,
    template: str,
    after_s: int = 48 * 3_600,
    *,
    is_overtaken: bool = False,
    is_replayed: bool = False,
) -> Iterator[AnchoredRecord]:
    """The record with anchors, to which a stolen key posted a false root of the fourth hour; the keeper
    is replaced, and the hours since are posted with the new key. In the fourth hour and in the one
    of the handover the agent says something.

    `is_overtaken`: the thief posts it right before the handover, in its block.
    `is_replayed`: the thief posts our own root of the hour after it, which is that of the hour before
    it where nothing happened since.
    """
    with anchored_record(postgres, template) as record:
        stolen = record.first + 3
        record.report(epoch_end_s(stolen) - 900)
        record.pass_hour(stolen)
        before = record.epochs()[-1].root_before
        false = post_data(stolen, FALSE, before)
        if not is_overtaken:
            record.chain.succeed(KEEPER, record.contract, false)
        if is_replayed:
            record.pass_hour(stolen + 1)
            replayed = record.epochs()[-1]
            record.post(record.contract, replayed, FALSE)
        record.handed_over = record.hand_over(after_s, false if is_overtaken else None)
        last = epoch_of(datetime.fromtimestamp(record.chain.now, UTC))
        record.report(record.chain.now)
        record.follower.catch_up()  # the notes of the handover, before its hour is made
        record.pass_hour(last)
        while record.epochs() and record.epochs()[-1].epoch < last:  # 24 a run
            record.pass_hour(last)
        made = [one for one in record.epochs() if one.epoch > stolen + is_replayed]
        for at, one in enumerate(made):
            is_on_false = at == 0 and not is_replayed
            record.post(record.contract, one, FALSE if is_on_false else None, STRANGER)
        record.finish()
        yield record


def _anchored(follower: Follower) -> AnchoredRecord:
    chain = follower.deployed
    contracts = [chain.deploy("RecordAnchor", chain.contracts["factory"]) for _ in range(3)]
    chain.contracts[CONTRACT] = contracts[0]
    chain.rpc.call("evm_setTime", [int(now_utc().timestamp())])
    chain.anvil.mine()
    other = follower.issue("m_othermand2", nonce=2, signed_at=now_utc())
    chain.buy(chain.create_vault(other.terms), 11 * USDC)
    mandate = follower.issue(signed_at=now_utc())
    vault = chain.create_vault(mandate.terms)
    record = AnchoredRecord(follower, mandate, vault, epoch_of(now_utc()), (), *contracts)
    chain.buy(vault, 30 * USDC)
    follower.catch_up()
    record.report(int(now_utc().timestamp()))
    record.pass_hour(record.first - 1)
    record.pass_hour(record.first)
    made = record.epochs()
    for one in made:
        record.post(record.contract, one)
        record.post(record.gappy, one)
    record.report(epoch_end_s(record.first) + 1_800)
    before = record.epochs()[-1]
    record.pass_hour(record.first + 1)
    *_, one = record.epochs()
    record.post(record.contract, one)
    record.pass_hour(record.first + 2)
    *_, same = record.epochs()
    record.post(record.contract, same)
    record.post(record.gappy, same, before.root)
    for root in (*made, one, same):
        record.post(record.late, root)
    record.finish()
    return record
