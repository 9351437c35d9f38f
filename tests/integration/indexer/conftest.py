"""The indexer on a real chain and a real database: issue a mandate, follow the chain, read the
ledger.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from threading import Event
from typing import Any

import pytest

from core.db.engine import Database, WriteSession
from core.db.leadership import Leadership
from core.hexes import bytes_of
from core.identity.tables import Account
from core.mandate.chain.reader import VaultReader
from core.mandate.chain.typed_data import rules_hash
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.cash import signed_rows
from core.mandate.rules.fold import effective
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.rows import LedgerRow
from core.mandate.rules.state import MandateFacts, MandateState, PositionRules
from core.mandate.rules.terms import MandateTerms, Rule, rules_to_json, terms_to_json
from core.mandate.tables import Mandate
from indexer.chain.context import ChainContext
from indexer.chain.factory_notes import write_slice
from indexer.chain.log_proof import LogProof
from indexer.chain.quarantine import HeldFacts, Retried
from indexer.chain.reserve import Crediting
from indexer.chain.reverts import RevertedCalls
from indexer.chain.sponsored_uses import SponsoredUses
from indexer.chain.tip import TipLoop, TipRound
from tests.integration.chain_fixtures import CHAIN_ID, USDC, DeployedChain, Ground
from tests.integration.indexer.refusing import Refusals
from tests.personas import OWNER

SampleLedger = tuple["Issued", str]  # a mandate and its vault
DRAFTED_AT = datetime(2026, 11, 1, tzinfo=UTC)
SAFE_DEPTH = 32  # slots of an epoch, as anvil counts them
FINAL_BEHIND = 64
FEW_SLOTS = 4
FINAL_SOON = 2 * FEW_SLOTS


def now_utc() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Issued:
    """A signed mandate of this service."""

    id: int
    public_id: str
    terms: MandateTerms


def _mandate(owner_id: int, issued: MandateTerms, digest: str, rules: tuple[Rule, ...]) -> Mandate:
    return Mandate(
        public_id=issued.public_id,
        owner_id=owner_id,
        open_board=False,
        status="draft",
        market_mode="testnet",
        purpose="Trade the test venue",
        budget_usdc_e6=issued.budget_usdc,
        horizon_days=issued.horizon_days,
        stop_floor_bps=issued.stop_floor_bps,
        payout_rule={},
        allowed_targets=[],
        per_tx_cap_usdc_e6=issued.per_tx_cap,
        daily_cap_usdc_e6=issued.daily_cap,
        on_floor="keep",
        chain_id=CHAIN_ID,
        terms=terms_to_json(issued),
        rules=rules_to_json(rules),
        guard_targets=[],
        terms_digest=bytes.fromhex(digest[2:]),
        terms_version=2,
        signature=bytes_of(OWNER.signer.sign_digest(digest)),
        created_at=DRAFTED_AT,
        updated_at=DRAFTED_AT,
        ends_at=datetime.fromtimestamp(issued.ends_at, UTC),
    )


def _new_owner(session: WriteSession) -> int:
    account = Account(kind="owner", name="owner", created_at=DRAFTED_AT)
    session.add(account)
    session.flush()
    return account.id


def issue(
    deployed: DeployedChain,
    database: Database,
    terms: MandateTerms,
    owner_id: int | None = None,
    rules: tuple[Rule, ...] | None = None,
    signed_at: datetime = DRAFTED_AT,
) -> Issued:
    """Write down a mandate of this service with these terms, signed by its owner (a new account
    unless one is named).

    `rules`: those of the terms' hash, when they are not the test venue adapter's.
    """
    digest = deployed.digest(terms)
    facts = MandateFacts(
        market_mode=MarketMode.TESTNET, budget_usdc_e6=terms.budget_usdc, positions=PositionRules()
    )
    with database.write() as session:
        mandate = _mandate(
            _new_owner(session) if owner_id is None else owner_id,
            terms,
            digest,
            rules or deployed.rules(),
        )
        session.add(mandate)
        session.flush()
        rows = signed_rows(facts, terms_digest=digest, version=2, now=signed_at)
        mandate_ledger.append_many(session, mandate.id, rows, signed_at)
        return Issued(mandate.id, terms.public_id, terms)


class Follower:
    """An indexer that does one round when it is told to."""

    def __init__(self, deployed: DeployedChain, database: Database, leadership: Leadership) -> None:
        self.deployed = deployed
        self.database = database
        self.leadership = leadership
        self.chain = self.context(deployed.reader)
        self.clock: Callable[[], datetime] = now_utc
        self._tip: TipLoop | None = None
        self.restart()

    @property
    def tip(self) -> TipLoop:
        self._tip = self._tip or TipLoop(self.chain, self.clock)
        return self._tip

    def context(self, reader: VaultReader) -> ChainContext:
        contracts = reader.contracts
        return ChainContext(
            reader=reader,
            database=self.database,
            chain_id=CHAIN_ID,
            factory=contracts["factory"],
            usdc=contracts["usdc"],
            x402_adapter=contracts["x402_adapter"],
            start_block=self.deployed.start_block,
            epoch=self.leadership.epoch,
            fence=self.leadership.fence,
        )

    def restart(self, **changes: Any) -> None:
        """A fresh process on the same database."""
        self.chain = replace(self.chain, **changes, watch_changed=Event())
        self._tip = None
        self.reverted_calls = RevertedCalls(self.chain, self.clock)
        self.log_proof = LogProof(self.chain, self.clock)
        self.crediting = Crediting(self.chain, self.clock)
        self.sponsored_uses = SponsoredUses(self.chain, self.clock)
        self.retry_held = HeldFacts(self.chain, self.clock).round

    def catch_up(self) -> list[TipRound]:
        """Rounds until the cursor is the chain's head, no ledger is owed a note and no block its
        receipts.
        """
        rounds = [self.tip.round()]
        while self.tip.cursor.hash != self.head_hash:
            assert len(rounds) < 50, "the indexer does not arrive at the head"
            rounds.append(self.tip.round())
        while self.write_slice():
            pass
        while self.reverted_calls.round():
            pass
        return rounds

    def write_slice(self) -> bool:
        """Of the factory's notes; whether ledgers are still owed some."""
        return write_slice(self.chain, self.clock())

    def retry_all(self) -> list[Retried]:
        """As a new process does at first."""
        return HeldFacts(self.chain, self.clock).round()

    def be_safe(self) -> None:
        """What is mined so far becomes safe by anvil's word (SAFE_DEPTH blocks below its head), and
        is noted so.
        """
        self.deployed.anvil.mine(SAFE_DEPTH)
        self.catch_up()
        self.tip.note_finality()

    @property
    def head_hash(self) -> str:
        header = self.deployed.reader.header()
        assert header is not None
        return header.hash

    # Mandates and their ledgers

    def issue(
        self,
        public_id: str = "m_4k2v7c3xqa",
        owner_id: int | None = None,
        *,
        rules: tuple[Rule, ...] | None = None,
        signed_at: datetime = DRAFTED_AT,
        **changes: Any,
    ) -> Issued:
        """A mandate of this service, signed by its owner, with no vault yet."""
        changes |= {} if rules is None else {"allowed_targets_hash": rules_hash(rules)}
        terms = self.deployed.terms(public_id, **changes)
        return issue(self.deployed, self.database, terms, owner_id, rules, signed_at)

    def rows(self, mandate: Issued) -> list[LedgerRow]:
        """The whole ledger."""
        with self.database.read() as session:
            return mandate_ledger.load_rows(session, mandate.id)

    def story(self, mandate: Issued) -> list[str]:
        """What counts in the ledger, as words: the kind, or the first key of a note's payload."""
        return [_word(row) for row in effective(self.rows(mandate))]

    def state(self, mandate: Issued) -> MandateState:
        with self.database.read() as session:
            return mandate_ledger.load_head(session, mandate.id)

    def mandate(self, mandate: Issued) -> Mandate:
        with self.database.read() as session:
            found = session.get(Mandate, mandate.id)
            assert found is not None
            return found

    def assert_sound(self, mandate: Issued, vault: str) -> None:
        """The ledger is whole, and its totals are the vault's own at the cursor's block."""
        with self.database.read() as session:
            assert mandate_ledger.verify(session, mandate.id) == []
        state, at = self.state(mandate), self.tip.cursor.hash
        totals = self.deployed.reader.totals(vault, at)
        booked = (
            state.deposited_usdc_e6,
            state.spent_usdc_e6,
            state.received_usdc_e6,
            state.withdrawn_usdc_e6,
        )
        assert booked == (totals.deposited, totals.spent, totals.received, totals.withdrawn)
        assert state.unvalued_out_usdc_e6 == totals.unvalued_out
        assert state.cash_usdc_e6 == self.deployed.reader.usdc_balance(vault, at)


def _word(row: LedgerRow) -> str:
    """`note` beside another key is only its text."""
    return (
        next(key for key in row.payload if key != "note")
        if row.kind == "note"
        else str(row.kind.value)
    )


@pytest.fixture(scope="session")
def short_epochs() -> Iterator[Ground]:
    """A `ground` for files whose tests make blocks final and do not leave them again: FINAL_SOON
    below the head they are.
    """
    ground = Ground(FEW_SLOTS)
    yield ground
    ground.stop()


@pytest.fixture
def leadership(database_url: str) -> Iterator[Leadership]:
    leadership = Leadership(database_url, "indexer", "test")
    assert leadership.try_take(now_utc())
    yield leadership
    leadership.release()


@pytest.fixture
def follower(deployed: DeployedChain, database: Database, leadership: Leadership) -> Follower:
    return Follower(deployed, database, leadership)


@pytest.fixture
def working(follower: Follower) -> tuple[Issued, str]:
    """A signed mandate and its funded vault; the indexer has seen both."""
    mandate = follower.issue()
    vault = follower.deployed.create_vault(mandate.terms)
    follower.catch_up()
    assert follower.state(mandate).cash_usdc_e6 == 1_000 * USDC
    return mandate, vault


@pytest.fixture
def refusals(follower: Follower) -> Refusals:
    return Refusals(follower.database)


@pytest.fixture
def ledgers(follower: Follower) -> list[SampleLedger]:
    """Three mandates at work."""
    issued = [
        follower.issue(f"m_4k2v7c3xq{letter}", nonce=nonce)
        for nonce, letter in enumerate("abc", start=1)
    ]
    found = [(mandate, follower.deployed.create_vault(mandate.terms)) for mandate in issued]
    follower.catch_up()
    return found
