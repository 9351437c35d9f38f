"""What one person on one network address earns in a day with as many agents as may be registered
there: a part of `make bench-economy`, or `python -m tests.bench.economy_sybils`.

    honest miner        true values, as many as a day takes
    honest re-observer  looks at what strangers submitted, and says what is there; of each value one
                        of the agents is paid
    liar who mines      false values, which the other agents confirm
    liar who agrees     says match to everything, one in five of which is gold: a true value pays one
                        of the agents, gold costs each of them

Everything goes through the application or the functions that it calls. Printed, not asserted: a
figure is no law.
"""

import json
import logging
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import structlog
from sqlalchemy import func, select

from core.credits.ledger.writer import load_balance
from core.db.engine import WriteSession
from core.earn.limits import payout_limits
from core.earn.tables import EarnQueue
from core.identity import queries as identity
from core.identity.operators import operator_name
from core.identity.queries import set_operator_key
from core.identity.tables import Account
from core.listings.queries import find_listing, listings_of
from core.listings.rules import EXCHANGES
from core.listings.simulated import add_simulated, pairs_of
from core.mining import gold, reviews, submissions
from core.mining.rules.registry import SentEntry
from core.mining.rules.review import (
    MiningReviewer,
    RejectReason,
    ReviewMethod,
    ReviewRecord,
    SubmissionsUsedUpError,
)
from core.mining.submissions import MinedSubmission, SubmissionBounds, Submitter
from tests.bench.sybils import Place, place

AGENTS: Final = 30
TASKS: Final = 5
GOLD_IN: Final = 5
URL: Final = "https://bench.example/"
KEY: Final = "X-SVC-User-Key"


@dataclass(frozen=True)
class Earned:
    """Of all agents together, in credits: paid today, waiting, and owed."""

    paid: int
    queued: int
    owed: int

    def figures(self, way: str) -> dict[str, int]:
        return {
            f"sybil_{way}_paid_a_day": self.paid,
            f"sybil_{way}_queued": self.queued,
            f"sybil_{way}_owed": self.owed,
        }


class Attack:
    """One person with fresh agents on its address, and strangers whose work they look at."""

    def __init__(self, where: Place, name: str) -> None:
        self.where = where
        self.agents = [self._registered(f"{name} {n}") for n in range(AGENTS)]
        where.clock.now += timedelta(minutes=1)

    def mine(self, *, is_true: bool) -> list[MinedSubmission]:
        """One value a submission, until the day's bounds stop it; a reviewer decides each."""
        made, bounds = list[MinedSubmission](), self._bounds()
        listings = self._listings()
        with self.where.database.write() as session:
            for agent, listing_id in zip(self._in_turn(), listings, strict=False):
                submitter = Submitter(agent["user_id"], None, "203.0.113.9")
                value = [SentEntry("audit_url", f"{URL}{agent['user_id']}", URL)]
                try:
                    made.append(
                        submissions.submit(
                            session, submitter, listing_id, value, bounds, self.where.clock.now
                        )
                    )
                except SubmissionsUsedUpError:
                    break
        if not is_true:
            confirmed = [one.entries[0].task_id for one in made[:TASKS]]
            self.re_observe(confirmed, "match")
        self.decide(made, is_true=is_true)
        return made

    def by_strangers(self, count: int, *, of_gold: int = 0) -> list[MinedSubmission]:
        """True values of an agent elsewhere, and gold among them."""
        found = list[MinedSubmission]()
        with self.where.database.write() as session:
            now = self.where.clock.now
            stranger = identity.add_agent(
                session, "stranger", None, "198.51.100.1", secrets.token_bytes(32), now
            )
            submitter = Submitter(stranger.id, None, stranger.registered_from)
            for n, listing_id in enumerate(self._listings()[:count]):
                value = f"{URL}stranger/{n}"
                if n < of_gold:
                    listing = self._pair(session, listing_id)
                    found.append(
                        gold.submit(
                            session,
                            stranger.id,
                            listing[0],
                            listing[1],
                            "website_url",
                            value,
                            URL,
                            self._operator(session),
                            now,
                        )
                    )
                else:
                    sent = [SentEntry("website_url", value, URL)]
                    found.append(
                        submissions.submit(session, submitter, listing_id, sent, None, now)
                    )
        return found

    def re_observe(self, task_ids: Iterable[int], verdict: str) -> None:
        """Every agent, on every task that lets it."""
        observed = self.where.clock.now - timedelta(minutes=1)
        for task_id in task_ids:
            for agent in self.agents:
                who = {KEY: agent["api_key"]}
                claimed = self.where.client.post(f"/tasks/{task_id}/claim", headers=who)
                if claimed.status_code >= 400:
                    continue
                proof = {
                    "task_id": task_id,
                    "verdict": verdict,
                    "observed_at": observed.strftime("%Y-%m-%dT%H:%M:%SZ"),
                    "observed_result": "Seen.",
                    "source_url": URL,
                }
                self.where.client.post("/tasks/submit-proof", json=proof, headers=who)

    def decide(self, made: Sequence[MinedSubmission], *, is_true: bool) -> None:
        limits, now = payout_limits(self.where.limits), self.where.clock.now
        record = ReviewRecord(ReviewMethod.REPRODUCED, URL, now, "Seen.")
        for one in made:
            with self.where.database.write() as session:
                by = self._reviewer(session)
                entry_id = one.entries[0].entry_id
                if is_true:
                    reviews.approve(session, entry_id, record, by, limits, now)
                else:
                    reason = RejectReason.VALUE_WRONG
                    reviews.reject(session, entry_id, reason, None, by, limits, now)

    def earned(self) -> Earned:
        ids = [agent["user_id"] for agent in self.agents]
        with self.where.database.read() as session:
            held = [load_balance(session, id_) for id_ in ids]
            queued = select(func.coalesce(func.sum(EarnQueue.left_credits), 0))
            waits = session.scalar(queued.where(EarnQueue.account_id.in_(ids))) or 0
        return Earned(sum(one.earned for one in held), int(waits), sum(one.owed for one in held))

    def _registered(self, name: str) -> dict[str, Any]:
        while True:
            made = self.where.post("/auth/agent/connect", {"agent_name": name})
            if made is not None:
                return made

    def _in_turn(self) -> Iterable[dict[str, Any]]:
        while True:
            yield from self.agents

    def _bounds(self) -> SubmissionBounds:
        limits = self.where.limits
        return SubmissionBounds(
            of_person=limits.mining_submissions_per_person_per_day,
            of_address=limits.mining_submissions_per_address_per_day,
        )

    def _listings(self) -> list[int]:
        with self.where.database.read() as session:
            found = (
                find_listing(session, one.id, pair)
                for one in EXCHANGES.values()
                for pair in pairs_of(one)
            )
            return [one.id for one in found if one is not None]

    def _pair(self, session: WriteSession, listing_id: int) -> tuple[str, str]:
        listing = listings_of(session, [listing_id])[listing_id]
        return listing.exchange, f"{listing.base}/{listing.quote}"

    def _operator(self, session: WriteSession) -> int:
        return session.scalars(select(Account.id).where(Account.kind == "operator")).one()

    def _reviewer(self, session: WriteSession) -> MiningReviewer:
        operator_id = self._operator(session)
        return MiningReviewer(operator_id, operator_name(session, operator_id))


def report() -> dict[str, int]:
    """Print what each way earns on its first day, each in a database of its own; the figures."""
    figures: dict[str, int] = {"sybil_agents": AGENTS}
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    for way in ("honest_miner", "honest_re_observer", "lying_miner", "agreeing_liar"):
        with place() as where:
            earned = _earned(where, way)
            where.database.close()
        figures |= earned.figures(way)
        print(
            f"{way}: {AGENTS} agents of one address are paid {earned.paid} credits on the day; "
            f"{earned.queued} wait, {earned.owed} are owed",
            flush=True,
        )
    return figures


def _earned(where: Place, way: str) -> Earned:
    with where.database.write() as session:
        set_operator_key(session, b"o" * 32, where.clock.now)
        add_simulated(session, where.clock.now)
    attack = Attack(where, way)
    match way:
        case "honest_miner":
            attack.mine(is_true=True)
        case "lying_miner":
            attack.mine(is_true=False)
        case "honest_re_observer":
            made = attack.by_strangers(TASKS)
            attack.re_observe([one.entries[0].task_id for one in made], "match")
            attack.decide(made, is_true=True)
        case "agreeing_liar":
            planted = TASKS // GOLD_IN
            made = attack.by_strangers(TASKS, of_gold=planted)
            attack.re_observe([one.entries[0].task_id for one in made], "match")
            attack.decide(made[:planted], is_true=False)
            attack.decide(made[planted:], is_true=True)
    return attack.earned()


if __name__ == "__main__":
    print(json.dumps(report()))
