"""Vaults that the chain calls stopped or settled at a safe block: nothing there changes any more,
so they need not be watched.

    seen ended --> its block is safe: two nodes say so there, or one and the record --> watched no more
    watched no more --> looked at again, a few a tick --> two voices say that it works after all: watched again

Law: one node's word takes no vault out of sight and brings none back, and no word does so for ever.
"""

from collections import Counter
from collections.abc import Collection, Sequence

from core.db.engine import Database
from core.keeper.intents import ended_statuses, some_ended
from core.keeper.rules import LacksMark
from core.keeper.views import recorded_statuses
from core.mandate.rules.lifecycle import OF_VAULT, Status, VaultStatus
from keeper.observe import Observer
from keeper.state import ENDED, KeeperState

ENDS = {vault: OF_VAULT[vault] for vault in ENDED}
MOST_A_TICK = 100
AGAIN_A_TICK = 50
NEEDED = 2  # voices; the record is one


class Ended:
    """Remembers where each vault was first seen ended, so that the safe block is asked only about
    what it may know.
    """

    def __init__(self, database: Database, observer: Observer) -> None:
        self._database = database
        self._observer = observer
        self._seen: dict[tuple[str, VaultStatus], int] = {}  # height
        self._again_after = ""  # the vault that was looked at again last

    def at_safe(
        self, state: KeeperState, unrecorded: Collection[str] = ()
    ) -> tuple[int, list[tuple[str, str]]]:
        """(safe block, (vault, how it ended)) of those that are new.

        Nothing where no node names a safe block, nothing of those whose end is not marked yet, and
        none that is `unrecorded`: at work by the record, which will say whether its end needs a mark.
        """
        ends = {(r.vault, r.status) for r in state.vaults if r.status in ENDS}
        if not ends:
            return 0, []
        waits = {r.vault for r in state.vaults if r.lacks_mark is LacksMark.END} | set(unrecorded)
        with self._database.read() as session:
            known = ended_statuses(session, state.chain_id, [vault for vault, _ in ends])
        self._seen = {
            (vault, status): self._seen.get((vault, status), state.head.number)
            for vault, status in ends
            if status is not None and known.get(vault) != ENDS[status]
        }
        safe = self._observer.safe_number() if self._seen else None
        if safe is None:
            return 0, []
        due = [
            vault
            for (vault, _), height in self._seen.items()
            if height <= safe and vault not in waits
        ][:MOST_A_TICK]
        return min(safe, state.head.number), self._agreed(due) if due else []

    def _agreed(self, vaults: Sequence[str]) -> list[tuple[str, str]]:
        with self._database.read() as session:
            recorded = recorded_statuses(session, self._observer.chain_id, vaults)
        each = self._observer.statuses_of_each(vaults, "safe")
        said = [
            (vault, ENDS[status]) for one in each for vault, status in one.items() if status in ENDS
        ]
        voices = Counter(said) + Counter(
            (vault, recorded[vault]) for vault in vaults if vault in recorded
        )
        return [end for end, count in voices.items() if count >= NEEDED and end in said]

    def at_work(self, state: KeeperState) -> list[str]:
        """Of a few vaults that are watched no more: those that work after all by two voices.

        The record's is one; where there is one node, also while it has nothing to say. Errors:
        RpcError.
        """
        with self._database.read() as session:
            vaults = some_ended(session, state.chain_id, self._again_after, AGAIN_A_TICK)
        statuses = self._observer.newest_statuses(vaults, state.head)
        self._again_after = vaults[-1] if len(vaults) == AGAIN_A_TICK else ""
        said = [vault for vault, status in statuses.items() if status not in ENDS]
        if not said:
            return []
        with self._database.read() as session:
            recorded = recorded_statuses(session, self._observer.chain_id, said)
        is_alone = not self._observer.witnesses.are_several
        voices = Counter(
            v
            for v in said
            if recorded.get(v) == Status.WORKING
            or (is_alone and recorded.get(v) not in ENDS.values())
        )
        for one in self._observer.statuses_of_each(said, "latest"):
            voices.update(vault for vault, status in one.items() if status not in ENDS)
        return [vault for vault in said if voices[vault] >= NEEDED]
