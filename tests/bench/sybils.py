"""What 500 accounts of one person on one network address earn and cost a day: `python -m
tests.bench.sybils`, a part of `make bench-api`.

    unowned   registered as fast as the limits of the address allow
    owned     the same behind as few owners as it takes, each a wallet that signs in
    owners    the same behind an owner each

Accounts are registered through the application, whose clock jumps to the next UTC day at each
refusal. Then each reads all that it can of one day, by the statement that counts free reads, one
account after the other. A credit and a free read are worth what a page costs in USDC. The last line
is one JSON object.
"""

import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Final, cast

from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from sqlalchemy import case, select
from sqlalchemy.orm import aliased
from starlette.testclient import TestClient

from api.catalogue import catalogue
from api.kernel.limits import Limits
from api.kernel.metrics import ApiMetrics
from api.kernel.operation import Access, Deps
from api.kernel.parts import Parts
from api.main import create_app
from core.credits.queries import ReadsUsedUp, take_free_read
from core.credits.rules.free_reads import FreeReads, PoolLimits, pools_of
from core.credits.rules.prices import PRICES
from core.db import embedded, migrate
from core.db.engine import Database
from core.identity import tables as identity
from core.mandate.chain.reader import VaultReader
from core.money import UsdcE6, usdc_text
from tests.integration.api.conftest import PEPPER, Clock, FewAnswersChain

ACCOUNTS: Final = 500
DAY = timedelta(days=1)
HOST = "http://bench"
PEER: Final = "203.0.113.9"


@dataclass
class Place:
    """The application on a database of its own, and the clock that it goes by."""

    database: Database
    clock: Clock
    client: TestClient
    limits: Limits

    def post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> dict[str, Any] | None:
        """The answer; None: a limit refused it, and the clock stands at the time from which it
        works.
        """
        answer = self.client.post(path, json=dict(body), headers=dict(headers or {}))
        if answer.status_code == 429:
            self.clock.now = datetime.fromisoformat(answer.json()["service"]["retry_at"])
            return None
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def session_of(self, wallet: LocalAccount) -> dict[str, str]:
        """Headers of an owner, who is a new one at the first sign-in, as soon as the address may
        have one more.
        """
        while True:
            message = self.client.post(
                "/auth/wallet/nonce", json={"wallet_address": wallet.address, "purpose": "login"}
            ).json()["message"]
            signature = wallet.sign_message(encode_defunct(text=message)).signature.to_0x_hex()
            if (
                session := self.post(
                    "/auth/owner/login", {"message": message, "signature": signature}
                )
            ) is not None:
                return {"Authorization": f"Bearer {session['bearer_token']}"}


@dataclass(frozen=True)
class Taken:
    """Of one way in: days that it took, welcome credits in all and on the best day, free reads of
    one day and what they took us.
    """

    days: int
    credits: int
    credits_best_day: int
    free_reads: int
    seconds: float

    def figures(self, way: str) -> dict[str, Any]:
        page = PRICES["playbook_read"].usdc_e6 or 0
        return {
            f"sybil_{way}_days": self.days,
            f"sybil_{way}_credits": self.credits,
            f"sybil_{way}_credits_best_day": self.credits_best_day,
            f"sybil_{way}_free_reads_a_day": self.free_reads,
            f"sybil_{way}_usdc_best_day": usdc_text(
                UsdcE6(page * (self.free_reads + self.credits_best_day))
            ),
        }


@contextmanager
def place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="bench-", dir="/tmp") as name:
        Path(name).chmod(0o755)  # The database runs under an account of its own.
        server = embedded.start(Path(name) / "postgres")
        try:
            migrate.upgrade(server.url)
            with place_on(server.url) as where:
                yield where
        finally:
            server.stop()


@contextmanager
def place_on(
    url: str,
    clock: Clock | None = None,
    limits: Limits | None = None,
    peer: str = PEER,
    trusted_proxies: tuple[str, ...] = (),
) -> Iterator[Place]:
    """On a database that is migrated. `peer`: where all calls come from, unless it is trusted to
    say for whom it calls.
    """
    database, clock, limits = Database(url), clock or Clock(), limits or Limits()
    deps = Deps(
        database=database,
        metrics=ApiMetrics(database),
        chain=cast("VaultReader", FewAnswersChain()),
        chain_id=84532,
        base_url=HOST,
        catalogue=catalogue(),
        contracts={},
        pepper=PEPPER,
        clock=clock,
        limits=limits,
        parts=Parts(Access(trusted_proxies=trusted_proxies)),
    )
    with TestClient(create_app(deps), base_url=HOST, client=(peer, 5000)) as client:
        yield Place(database, clock, client, limits)


def registered(where: Place, an_owner: int) -> tuple[int, Counter[date]]:
    """How many UTC days ACCOUNTS agents take, and the welcome credits of each day.

    `an_owner`: agents of one; 0: they have none.
    """
    began, done, granted = where.clock.now.date(), 0, Counter[date]()
    headers: dict[str, str] = {}
    wallet = Account.create()
    while done < ACCOUNTS:
        if an_owner and done % an_owner == 0:
            wallet = Account.create()
            headers = where.session_of(wallet)
        made = where.post("/auth/agent/connect", {"agent_name": f"agent {done}"}, headers)
        if made is None:
            headers = where.session_of(wallet) if an_owner else {}  # sessions end meanwhile
            continue
        done += 1
        granted[where.clock.now.date()] += (
            where.limits.welcome_credits * made["welcome_credit_granted"]
        )
    return (where.clock.now.date() - began).days + 1, granted


def free_reads(where: Place, since: datetime) -> tuple[int, float]:
    """What all accounts registered since then read free on a day, and the seconds that the database
    took for it.
    """
    agent, owner = aliased(identity.Account), aliased(identity.Account)
    came_from = case((agent.owner_id.is_(None), agent.registered_from), else_=owner.registered_from)
    with where.database.read() as session:
        query = select(agent.id, agent.owner_id, came_from).outerjoin(
            owner, owner.id == agent.owner_id
        )
        accounts = session.execute(
            query.where(agent.kind == "agent", agent.created_at >= since)
        ).all()
    day, limits, taken, began = (where.clock.now + DAY).date(), where.limits, 0, time.perf_counter()
    of = PoolLimits(
        of_owner=limits.free_reads_per_owner_per_day,
        of_address=limits.free_reads_per_address_per_day,
        of_owners_address=limits.free_reads_per_owners_address_per_day,
    )
    with where.database.statements() as connection:
        for account_id, owner_id, address in accounts:
            mine = FreeReads(account_id, limits.free_reads_per_day, pools_of(owner_id, address, of))
            while not isinstance(take_free_read(connection, mine, day), ReadsUsedUp):
                taken += 1
    return taken, time.perf_counter() - began


def measure() -> dict[str, Any]:
    figures: dict[str, Any] = {"sybil_accounts": ACCOUNTS}
    with place() as where:
        each = ACCOUNTS * where.limits.free_reads_per_day
        print(
            f"{ACCOUNTS} accounts, each for itself: {each} free reads a day, "
            f"{ACCOUNTS * where.limits.welcome_credits} credits"
        )
        for way, an_owner in (
            ("unowned", 0),
            ("owned", where.limits.agents_per_owner),
            ("owners", 1),
        ):
            began = where.clock.now
            days, granted = registered(where, an_owner)
            reads, seconds = free_reads(where, began)
            taken = Taken(days, granted.total(), max(granted.values()), reads, seconds)
            figures |= taken.figures(way)
            print(
                f"{way}: {days} days from one address; earn {taken.credits} credits, "
                f"{taken.credits_best_day} on the best day; cost {reads} free reads a day "
                f"({seconds:.1f} s of the database), at most "
                f"{figures[f'sybil_{way}_usdc_best_day']} USDC a day",
                flush=True,
            )
            where.clock.now += 2 * DAY  # the day of the reads is over
        where.database.close()
    return figures


def main() -> None:
    print(json.dumps(measure()))


if __name__ == "__main__":
    main()
