"""A room with a summary in it, agents with credits, standing or an approved submission, and what
nobody may have moved.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import func, select
from starlette.testclient import TestClient

from api.areas.earn.ledger.awards import Source, award
from api.areas.earn.rules.payout import PayoutLimits
from api.areas.earn.tables import EarnAward, EarnFeedRow
from api.areas.earn.views import standing
from api.areas.rooms.tables import RoomBond, RoomEntry, RoomMessage, RoomRelease
from api.areas.rooms.writes import posts
from api.areas.safety import queries as safety
from api.kernel.operation import Deps
from core.credits.ledger import writer as credit_ledger
from core.credits.tables import CreditEntry
from core.db.engine import Database
from core.identity.tables import Account
from tests.integration.api.conftest import KEY, Clock, connect

TOKEN = "binance_BTC_USDT"
SUMMARY = "submitted website of binance_BTC_USDT: http\u2026.org, evidence at bitcoin.org"
MOVED = (CreditEntry, EarnAward, EarnFeedRow, RoomBond, RoomEntry, RoomMessage, RoomRelease)


@dataclass(frozen=True)
class Agent:
    user_id: int
    key: dict[str, str]


@dataclass(frozen=True)
class Stage:
    """`room`: of a token, with the summary of one submission, by its submitter."""

    client: TestClient
    database: Database
    clock: Clock
    room: int
    summary: int
    submitter: Agent

    def agent(self, owner: dict[str, str] | None = None, **fields: Any) -> Agent:
        """Without an owner at a network address of its own."""
        made = agent_of(self.client, owner, **fields)
        if owner is None:
            self.move(made, f"2001:db8:{made.user_id:x}::/64")
        return made

    def move(self, who: Agent, address: str) -> None:
        """Let it have registered at that network address."""
        with self.database.write() as session:
            session.get_one(Account, who.user_id).registered_from = address

    def post(self, who: Agent, text: str = "hello", **fields: Any) -> Any:
        headers = who.key | fields.pop("headers", {})
        body = {"text": text} | fields
        return self.client.post(f"/hive/rooms/{self.room}/messages", json=body, headers=headers)

    def posted(self, who: Agent, text: str = "hello", **fields: Any) -> dict[str, Any]:
        answer = self.post(who, text, **fields)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def release(self, who: Agent, message_id: int, **body: Any) -> Any:
        return self.client.post(f"/hive/messages/{message_id}/release", json=body, headers=who.key)

    def read(self, **query: Any) -> dict[str, Any]:
        answer = self.client.get(f"/hive/rooms/{self.room}", params=query)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def earn(self, who: Agent, amount: int) -> None:
        """Give it earned credit."""
        with self.database.write() as session:
            key = f"test:{self.rows()[CreditEntry.__tablename__]}"
            credit_ledger.earn(session, who.user_id, amount, key, {}, self.clock.now)

    def trust(self, who: Agent) -> None:
        """Give it standing."""
        with self.database.write() as session:
            for n in range(3):
                ref = f"task:claim:{who.user_id}{n}"
                standing.note_verified_claims(session, {ref: who.user_id}, self.clock.now)

    def approve(self, who: Agent) -> None:
        """Approve a submission of it, for one point."""
        with self.database.write() as session:
            ref = f"mining:entry:{who.user_id}"
            limits = PayoutLimits()
            award(session, who.user_id, Source.MINING, ref, 10, limits, self.clock.now)

    def defend(self, level: int) -> None:
        """Set the protection level."""
        with self.database.write() as session:
            safety.change_defense(session, level, self.submitter.user_id, self.clock.now)

    def credits(self, who: Agent) -> dict[str, int]:
        """What it has, by bucket; empty ones are left out."""
        answer = self.client.get("/credits/balance", headers=who.key).json()
        buckets = ("welcome", "earned", "converted", "bonded", "owed")
        return {name: answer[name] for name in buckets if answer[name]}

    def rows(self) -> dict[str, int]:
        """Rows of every table that a post or a release writes."""
        with self.database.read() as session:
            return {
                table.__tablename__: session.scalar(select(func.count()).select_from(table)) or 0
                for table in MOVED
            }

    def close_books(self) -> None:
        """All accounts of the credit ledger sum to zero, and each one's chain is sound."""
        with self.database.read() as session:
            assert sum(credit_ledger.trial_balance(session).values()) == 0
            accounts = session.scalars(select(CreditEntry.account_id).distinct()).all()
            assert [fault for one in accounts for fault in credit_ledger.verify(session, one)] == []


def agent_of(client: TestClient, owner: dict[str, str] | None = None, **fields: Any) -> Agent:
    made = connect(client, owner, **fields)
    return Agent(made["user_id"], {KEY: made["api_key"]})


StageOf = Callable[[TestClient], Stage]


@pytest.fixture
def stage_of(deps: Deps, clock: Clock) -> StageOf:
    """A stage for a client of one's own limits."""

    def of(client: TestClient) -> Stage:
        submitter = agent_of(client, agent_name="submitter")
        with deps.database.write() as session:
            room = posts.open_room(session, TOKEN, clock.now)
            summary = posts.post_summary(session, room, submitter.user_id, SUMMARY, 1, clock.now)
        return Stage(client, deps.database, clock, room, summary, submitter)

    return of


@pytest.fixture
def stage(client: TestClient, stage_of: StageOf) -> Stage:
    return stage_of(client)
