"""The loops of the outbox, one for each key that pays: transfers out of starter wallets, and
sponsored buys. A purse whose key is not set has no loop, and its requests wait.

The sponsor's loop writes a heartbeat at the end of a round, every five seconds, and the API takes sponsored
buys only while that is fresh: it says that the loop leads, reads the chain and the database, and gets
through, which is more than that a key is set.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from core.chain.nodes import Nodes
from core.chain.signer import Signer
from core.db.engine import Database
from core.db.leadership import Leadership
from core.mandate.chain.reader import VaultReader
from core.sponsored import queries as sponsored
from core.sponsored.days import SponsorGas, sponsor_budgets
from keeper.outbox_kinds import OutboxPlanner
from keeper.requests.opened import Beat, Requests, RequestsPlace, opened, request_signers
from keeper.requests.purses import SPONSOR
from keeper.send import HeldNonces
from keeper.state import Role

BEAT = timedelta(seconds=5)  # core.sponsored.rules.FRESH_S is many of them


class RequestLoops:
    """Both loops. `place`: of transfers, with their budgets. Nothing is asked over the network before `start` or `once`."""

    def __init__(
        self,
        place: RequestsPlace,
        planner: OutboxPlanner,
        signers: Mapping[Role, Signer],
        leadership: Leadership,
        stops: HeldNonces | None,
        clock: Callable[[], datetime],
        *,
        sponsor_gas: SponsorGas,
        serves_custody: bool,
        count_rpc: Callable[[Nodes], object],
    ) -> None:
        def epoch() -> int:
            return leadership.epoch

        self._loops = list[Requests]()
        fence = leadership.fence_beside
        if serves_custody:
            custody = opened(
                place,
                planner,
                signers=request_signers(signers),
                epoch=epoch,
                fence=fence,
                stops=None if Role.CUSTODY in signers else stops,
                clock=clock,
            )
            count_rpc(custody.reader.rpc)
            self._loops.append(custody)
        sponsor = signers.get(Role.SPONSOR)
        if sponsor is not None:
            beat = heartbeat(sponsor.address, place.chain_id, fence)
            self._loops.append(
                opened(
                    replace(place, budgets=sponsor_budgets(sponsor_gas)),
                    planner,
                    signers={Role.SPONSOR: sponsor},
                    epoch=epoch,
                    fence=fence,
                    stops=None,
                    clock=clock,
                    terms=SPONSOR,
                    beat=beat,
                )
            )

    def start(self) -> None:
        """Call it once, leading."""
        for one in self._loops:
            one.loop.start()

    def once(self) -> None:
        for one in self._loops:
            one.loop.once()

    def stop(self) -> None:
        for one in self._loops:
            one.loop.stop()

    def close(self) -> None:
        """Call it after the lead was given back: it may wait for the end of a round."""
        for one in self._loops:
            one.close()


def heartbeat(account: str, chain_id: int, fence: Callable[[Session], None]) -> Beat:
    """`account`: the sponsor's. Errors: RpcError, LeadershipLostError, the database's."""
    last: datetime | None = None

    def beat(reader: VaultReader, database: Database, now: datetime) -> None:
        nonlocal last
        if last is not None and timedelta() <= now - last < BEAT:
            return
        balance_wei = reader.balance_wei(account)
        with database.write() as session:
            fence(session)
            sponsored.beat(session, chain_id, account, balance_wei, now)
        last = now

    return beat
