"""The deposit watcher on a real chain and a real database: confirmed, failed, restored, and the
balances beside them.
"""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from api.areas.earn.views.people import payees_of
from core.chain.abi import call_by_signature
from core.hexes import bytes_of
from core.identity.tables import Account
from core.transfers import reports as transfer_reports
from core.transfers.ledger import writer as transfer_ledger
from core.transfers.reports import Claim
from core.transfers.rules import Direction, FourStates
from core.transfers.tables import TransferEntry, TransferReport
from indexer.chain.deposits import Moved, watch_deposits
from tests.integration.chain_fixtures import CHAIN_ID, USDC
from tests.integration.indexer.clocked import Clocked
from tests.integration.indexer.conftest import Follower, now_utc
from tests.personas import AGENT, DEPLOYER, OWNER, STRANGER, Persona

SAFE_BEHIND = 32  # anvil: safe is the head minus 32
NEVER_SENT = "0x" + "de" * 32


class Watched:
    """An agent whose wallet is watched.

    `look` follows the chain and looks once, at a clock that the test moves.
    """

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self.chain = follower.deployed
        self.now: datetime = now_utc()
        self.seconds = 0  # of a clock for nodes
        self.agent = self.add_agent(AGENT.address)
        follower.catch_up()

    def add_agent(self, wallet: str | None) -> int:
        with self.follower.database.write() as session:
            raw = None if wallet is None else bytes_of(wallet)
            account = Account(kind="agent", name="agent", wallet_address=raw, created_at=self.now)
            session.add(account)
            session.flush()
            return account.id

    def report(
        self,
        tx_hash: str,
        amount: int,
        direction: Direction = Direction.IN,
        agent: int | None = None,
    ) -> None:
        claim = Claim(
            chain_id=CHAIN_ID, asset="USDC", direction=direction, amount_e6=amount, tx_hash=tx_hash
        )
        with self.follower.database.write() as session:
            assert (
                transfer_reports.report(session, agent or self.agent, claim, None, self.now)
                is not None
            )

    def link_since(self, at: datetime) -> None:
        with self.follower.database.write() as session:
            session.execute(
                update(Account).where(Account.id == self.agent).values(wallet_linked_at=at)
            )

    def look(self, later: timedelta = timedelta(minutes=1)) -> list[Moved]:
        self.now += later
        self.follower.catch_up()
        self.follower.tip.note_finality()
        return watch_deposits(self.follower.chain, self.now)

    def words(self) -> list[str]:
        return [step.verdict.value for step in self.look()]

    def make_safe(self) -> None:
        self.chain.anvil.mine(SAFE_BEHIND)

    def status(self, tx_hash: str) -> tuple[str, str | None]:
        with self.follower.database.read() as session:
            query = select(TransferReport).where(
                TransferReport.tx_hash == bytes.fromhex(tx_hash[2:])
            )
            report = session.scalars(query.order_by(TransferReport.id.desc())).first()
            assert report is not None
            return report.state, report.failure

    def balance(self, agent: int | None = None) -> FourStates:
        with self.follower.database.read() as session:
            assert transfer_reports.verify(session, agent or self.agent) == []
            return transfer_ledger.load_balance(session, agent or self.agent, CHAIN_ID, "USDC")

    def ledger(self) -> list[tuple[str, int, bool]]:
        """(kind, incarnation, is a reversal) of every entry."""
        with self.follower.database.read() as session:
            entries = session.scalars(select(TransferEntry).order_by(TransferEntry.seq)).all()
            return [
                (entry.kind, entry.incarnation, entry.reverses_id is not None) for entry in entries
            ]

    def pay(self, amount: int, to: str = AGENT.address) -> str:
        data = call_by_signature("mint(address,uint256)", [to, amount])
        return self.chain.succeed(DEPLOYER, self.chain.contracts["usdc"], data).tx_hash

    def transfer(self, sender: Persona, amount: int) -> str:
        self.pay(amount, sender.address)
        data = call_by_signature("transfer(address,uint256)", [AGENT.address, amount])
        return self.chain.succeed(sender, self.chain.contracts["usdc"], data).tx_hash

    def signed_payment(self, amount: int) -> str:
        data = call_by_signature("mint(address,uint256)", [AGENT.address, amount])
        return self.chain.sign(DEPLOYER, self.chain.contracts["usdc"], data)

    def spend(self, amount: int, to: str = STRANGER.address) -> Any:
        return self.chain.send(
            AGENT,
            self.chain.contracts["usdc"],
            call_by_signature("transfer(address,uint256)", [to, amount]),
        )

    def pass_time(self, seconds: int) -> None:
        self.chain.rpc.call("evm_increaseTime", [seconds])
        self.chain.anvil.mine(SAFE_BEHIND + 1)


@pytest.fixture
def watched(follower: Follower) -> Watched:
    return Watched(follower)


@pytest.mark.slow
@pytest.mark.row("3.3 reported to confirmed")
def test_money_in__is_seen_at_the_tip_and_idle_at_safe(watched: Watched) -> None:
    tx_hash = watched.pay(12_500_000)
    watched.make_safe()  # so that anvil's safe block is one that the indexer keeps
    early, tx_hash = tx_hash, watched.pay(5 * USDC)
    watched.report(early, 12_500_000)
    watched.report(tx_hash, 5 * USDC)
    assert watched.words() == ["confirm", "see"]
    assert watched.balance() == FourStates(idle_e6=12_500_000, in_transit_e6=5 * USDC)
    watched.chain.anvil.mine(SAFE_BEHIND - 1)
    assert watched.words() == []
    watched.chain.anvil.mine(1)
    assert watched.words() == ["confirm"]
    assert watched.balance() == FourStates(idle_e6=17_500_000)
    assert watched.words() == []


@pytest.mark.parametrize("is_shown_before", [True, False])
def test_who_funded_a_wallet__is_known_though_its_agent_reports_it(
    watched: Watched, is_shown_before: bool
) -> None:
    """The report takes the place of what the chain showed, or keeps it from being shown; what another
    wallet sent later is behind it.
    """
    tx_hash, _ = [watched.transfer(one, 5 * USDC) for one in (STRANGER, OWNER)]
    if is_shown_before:
        watched.look()
    watched.report(tx_hash, 5 * USDC)
    watched.make_safe()
    assert watched.words() == ["confirm"]
    with watched.follower.database.read() as session:
        payee = payees_of(session, [watched.agent])[watched.agent]
    assert (payee.funder, payee.funding_tx) == (STRANGER.address.lower(), tx_hash)


@pytest.mark.row("3.3 reported to confirmed")
def test_money_out__is_delivered_at_safe(watched: Watched) -> None:
    watched.report(watched.pay(10 * USDC), 10 * USDC)
    watched.report(watched.spend(4 * USDC).tx_hash, 4 * USDC, Direction.OUT)
    assert watched.balance() == FourStates(idle_e6=-4 * USDC, in_transit_e6=14 * USDC)
    watched.make_safe()
    assert watched.words() == ["confirm", "confirm"]
    assert watched.balance() == FourStates(idle_e6=6 * USDC, delivered_e6=4 * USDC)
    assert watched.chain.reader.usdc_balance(AGENT.address) == 6 * USDC


def test_a_reverted_transaction__fails(watched: Watched) -> None:
    reverted = watched.spend(1 * USDC)
    assert reverted.status == 0
    watched.report(reverted.tx_hash, 1 * USDC, Direction.OUT)
    watched.make_safe()
    assert watched.words() == ["fail"]
    assert watched.status(reverted.tx_hash) == ("failed", "reverted")
    assert watched.balance() == FourStates()


@pytest.mark.parametrize(
    ("amount", "direction", "to"),
    [
        (10 * USDC + 1, Direction.IN, AGENT.address),
        (10 * USDC - 1, Direction.IN, AGENT.address),
        (10 * USDC, Direction.OUT, AGENT.address),
        (10 * USDC, Direction.IN, STRANGER.address),
    ],
)
def test_another_amount_direction_or_wallet_than_the_logs_say__fails(
    watched: Watched, amount: int, direction: Direction, to: str
) -> None:
    tx_hash = watched.pay(10 * USDC, to)
    watched.report(tx_hash, amount, direction)
    watched.make_safe()
    watched.look()
    assert watched.status(tx_hash) == ("failed", "contradicted")
    assert watched.balance() == FourStates()
    watched.report(tx_hash, amount, direction)  # its transaction is free again


def test_a_transfer_of_another_token__is_no_transfer(watched: Watched) -> None:
    other = watched.chain.deploy("MockUSDC")
    tx_hash = watched.chain.succeed(
        DEPLOYER, other, call_by_signature("mint(address,uint256)", [AGENT.address, 5])
    ).tx_hash
    watched.report(tx_hash, 5)
    watched.make_safe()
    watched.look()
    assert watched.status(tx_hash) == ("failed", "contradicted")


@pytest.mark.slow
def test_an_agent_without_a_linked_wallet__is_contradicted_and_the_transaction_free_for_its_agent(
    watched: Watched,
) -> None:
    tx_hash = watched.pay(10 * USDC)
    squatter = watched.add_agent(None)
    watched.report(tx_hash, 10 * USDC, agent=squatter)
    watched.make_safe()
    watched.look()
    watched.report(tx_hash, 10 * USDC)
    watched.look()
    assert (watched.balance(squatter), watched.balance()) == (
        FourStates(),
        FourStates(idle_e6=10 * USDC),
    )


@pytest.mark.slow
@pytest.mark.row("3.3 failed to confirmed")
def test_what_is_not_seen_for_an_hour__fails_and_is_restored_when_it_comes_within_a_day(
    watched: Watched,
) -> None:
    raw = watched.signed_payment(7 * USDC)
    snapshot = watched.chain.anvil.snapshot()
    tx_hash = watched.chain.rpc.call("eth_sendRawTransaction", [raw])
    watched.chain._mined(tx_hash)
    watched.chain.anvil.revert(snapshot)
    watched.report(tx_hash, 7 * USDC)
    watched.pass_time(3_000)
    assert watched.words() == []
    watched.pass_time(700)
    assert watched.words() == ["fail"]
    assert watched.status(tx_hash) == ("failed", "not_seen")
    assert watched.balance() == FourStates()
    watched.chain.rpc.call("eth_sendRawTransaction", [raw])
    watched.chain._mined(tx_hash)
    assert watched.words() == []
    watched.make_safe()
    assert watched.words() == ["confirm"]
    assert watched.status(tx_hash) == ("confirmed", None)
    assert watched.balance() == FourStates(idle_e6=7 * USDC)
    assert watched.ledger() == [
        ("reported", 1, False),
        ("failed", 1, False),
        ("failed", 1, True),
        ("restored", 1, False),
    ]


@pytest.mark.slow
@pytest.mark.row("3.3 failed to confirmed")
def test_what_does_not_come_within_a_day__is_closed(watched: Watched) -> None:
    watched.report(NEVER_SENT, 7 * USDC)
    watched.pass_time(3_700)
    assert watched.words() == ["fail"]
    watched.pass_time(86_400)
    assert watched.words() == ["close"]
    watched.pass_time(10)
    assert watched.words() == []
    assert watched.status(NEVER_SENT) == ("failed", "not_seen")


def test_a_reorg_before_safe__moves_no_money(watched: Watched) -> None:
    watched.make_safe()
    tx_hash = watched.pay(10 * USDC)
    watched.report(tx_hash, 10 * USDC)
    assert watched.words() == ["see"]
    watched.chain.anvil.reorg(1)
    watched.look()
    assert watched.status(tx_hash) == ("reported", None)
    assert watched.balance() == FourStates(in_transit_e6=10 * USDC)
    assert watched.ledger() == [("reported", 1, False)]


@pytest.mark.slow
@pytest.mark.row("3.3 confirmed to failed", "3.3 failed to confirmed")
def test_a_reorg_of_a_confirmed_block__reverses_it_in_the_unwind_and_its_return_restores_it(
    watched: Watched,
) -> None:
    raw = watched.signed_payment(10 * USDC)
    tx_hash = watched.chain.rpc.call("eth_sendRawTransaction", [raw])
    watched.chain._mined(tx_hash)
    watched.make_safe()
    watched.report(tx_hash, 10 * USDC)
    assert watched.words() == ["confirm"]
    watched.chain.anvil.reorg(SAFE_BEHIND + 1)
    watched.follower.catch_up()
    assert watched.status(tx_hash) == ("failed", "block_replaced")
    assert watched.balance() == FourStates()
    watched.chain.anvil.reorg(SAFE_BEHIND + 1, [(raw, 0)])
    assert watched.words() == ["confirm"]
    assert watched.balance() == FourStates(idle_e6=10 * USDC)
    assert watched.ledger() == [
        ("reported", 1, False),
        ("confirmed", 1, False),
        ("confirmed", 1, True),
        ("failed", 1, False),
        ("failed", 1, True),
        ("restored", 2, False),
    ]


@pytest.mark.slow
def test_money_spent_before_its_deposit_was_undone__is_shown_as_negative(watched: Watched) -> None:
    tx_hash = watched.pay(10 * USDC)
    watched.make_safe()
    watched.report(tx_hash, 10 * USDC)
    watched.look()
    watched.report(NEVER_SENT, 10 * USDC, Direction.OUT)
    watched.chain.anvil.reorg(SAFE_BEHIND + 1)
    watched.follower.catch_up()
    assert watched.balance() == FourStates(idle_e6=-10 * USDC, in_transit_e6=10 * USDC)


@pytest.mark.slow
def test_while_the_indexer_is_behind__nothing_is_judged(watched: Watched) -> None:
    tx_hash = watched.pay(10 * USDC)
    watched.report(tx_hash, 10 * USDC)
    watched.make_safe()
    watched.now += timedelta(minutes=1)
    assert watch_deposits(watched.follower.chain, watched.now) == []
    assert watched.words() == ["confirm"]


def test_a_node_that_calls_its_newest_block_safe__confirms_nothing(watched: Watched) -> None:
    """As Erigon was reported to (erigontech/erigon 15498); the first node's word was enough."""
    watched.make_safe()
    clocked = Clocked(watched.follower, "first", "second")

    def early(call: dict[str, Any], result: Any) -> Any:
        is_safe = call["method"] == "eth_getBlockByNumber" and call["params"][0] == "safe"
        return clocked.ask("eth_getBlockByNumber", "latest", False) if is_safe else result

    clocked.wire.view = early
    clocked.rounds(6)
    watched.report(watched.pay(10 * USDC), 10 * USDC)
    clocked.rounds(6)
    later = watched.now + timedelta(minutes=1)
    try:
        steps = watch_deposits(watched.follower.chain, later)
    finally:
        clocked.close()
    assert [one.verdict.value for one in steps] == ["see"]


def test_deposits_that_nobody_reported__are_left_alone(watched: Watched) -> None:
    watched.pay(10 * USDC)
    watched.make_safe()
    assert watched.words() == []
    assert watched.balance() == FourStates()
