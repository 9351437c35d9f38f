"""The only module that sends transactions: look, settle what the chain decided, sign what is due,
send, look again.

    rows: live intents, attempts --> chain: one look --> rows: what became of them
        --> a turn of drafts, signed --> rows: the signed bytes --> chain: eth_sendRawTransaction --> the next turn
        --> chain: one look --> rows

Laws
- What is sent was committed before, and each commit is fenced: a leader that lost its lead writes
  and sends nothing more.
- `already known`, `nonce too low` and the like are no verdicts: what a node refuses is looked for
  by its hash.
- All of an advance is asked of one node, but for nonces, fees, and a stop that it refuses: there
  its word is one of several (docs/decisions/0020). A stop's bytes go to every other node of the
  pool as well, and a node that took bytes and has no block with them a few blocks later rests while
  others are asked.
- Stops go first, a few at a time, so that neither a crash nor a bad one holds the others up.
- A request whose asker was evicted is not signed, and bytes of it that were signed are sent no
  more: keeper.transitions and keeper.due hold that.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timedelta

import structlog
from sqlalchemy.orm import Session

from core.chain.errors import RpcError
from core.chain.signer import Signer
from core.db.engine import Database
from core.hexes import hex_of
from core.keeper import intents as rows
from core.keeper.intents import Intent, NewTx
from core.keeper.rules import ON_CHAIN, PENDING, IntentState
from core.keeper.views import recorded_statuses
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.lifecycle import VaultStatus
from core.money import UnixSeconds
from keeper.apart import settled_apart
from keeper.counts import Counts
from keeper.drafts import Caps, Draft, Drafter
from keeper.due import DueBytes
from keeper.headroom import Allowance
from keeper.intents import (
    ANCHOR_PATIENCE,
    REQUEST_PATIENCE,
    filling,
    second_of,
    with_refusal,
)
from keeper.moves import EFFECT, IntentMove, confirmed, given_up, moves_by
from keeper.observe import Observer
from keeper.precedence import Precedence
from keeper.signatures import Signatures
from keeper.snapshot import OTHERS_S, Snapshot, look
from keeper.state import STOPS, URGENT, IntentKind, Role
from keeper.swallowed import Taken
from keeper.transitions import Transitions, VoidRequestError
from keeper.trials import ERROR_CHARACTERS

SECOND_AFTER_BLOCKS = 3
SWALLOWER_REST_S = 60.0
REVERTS_A_DAY = 3  # that are paid for of one settlement, acceptance or anchor
# kinds of requests that the chain carries out once, however often they are sent
REPEATABLE = ("custodial_transfer", "sponsored_buy")

log = structlog.get_logger("keeper")


class Sender:
    """Moves the intents of one loop.

    `signers`: by role; the keeper's among them where stops are sent. `sign`: the loop gets on.

    `allowance`: of the loop of requests. `precedence`: what it shares with the loop of the stops
    where both have one key.
    """

    def __init__(
        self,
        *,
        reader: VaultReader,
        observer: Observer,
        database: Database,
        signers: Mapping[str, Signer],
        epoch: Callable[[], int],
        fence: Callable[[Session], None],
        max_head_age_s: int,
        caps: Caps,
        sign: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        allowance: Allowance | None = None,
        precedence: Precedence | None = None,
    ) -> None:
        self._reader = reader
        self._observer = observer
        self._database = database
        self._signers = {signer.address: signer for signer in signers.values()}
        self._max_head_age_s = max_head_age_s
        self._addresses = {role: signer.address for role, signer in signers.items()}
        self._drafter = Drafter(reader, observer, self._addresses, caps, allowance)
        self._is_first = allowance is None
        self._precedence = precedence or Precedence()
        self._turns = 0  # of the stops' loop, when this one looked
        self._sign = sign
        self._counts = Counts()
        self._taken = Taken()
        self._transitions = Transitions(database, epoch, fence)
        self._signatures = Signatures(self._signers, clock)
        self._due = DueBytes(database, self._signers)

    def advance(
        self, live: Sequence[Intent], now: datetime, *, is_stood_down: bool
    ) -> list[Intent]:
        """Take every intent as far as it goes now; answers those that are not finished.

        `is_stood_down`: the factory names another keeper.

        Errors: RpcError and NoHeadError (what was committed stays), LeadershipLostError,
        IntentMovedError, the database's.
        """
        if not live:
            return []
        with self._reader.rpc.pinned(), self._turn():
            snapshot, live = self._settled(live, now)
            self._judge_node(live, snapshot)
            live = self._with_fillings(live, snapshot, now)
            live = self._with_seconds(live, snapshot, now)
            live, has_sent = self._sent_in_turns(live, snapshot, now, is_stood_down=is_stood_down)
            if has_sent:
                _, live = self._settled(live, now)
        return live

    def rush(self, live: Sequence[Intent], now: datetime, *, is_stood_down: bool) -> list[Intent]:
        """Sign and send the planned stops among `live`, and nothing else. Errors: as `advance`."""
        with self._reader.rpc.pinned(), self._turn():
            snapshot = self._look(live)
            return self._signed_in_turns(
                live, snapshot, now, urgent_alone=True, is_stood_down=is_stood_down
            )[0]

    def _turn(self) -> AbstractContextManager[None]:
        return self._precedence.first() if self._is_first else nullcontext()

    # What the chain decided

    def _look(self, live: Sequence[Intent]) -> Snapshot:
        self._turns = self._precedence.turns
        once = {
            intent.id
            for intent in live
            if intent.outbox_id is not None and intent.kind not in REPEATABLE
        }
        return look(
            self._reader.rpc,
            self._observer.heads,
            self._signers,
            self._due.attempts(live),
            self._counts,
            once,
        )

    def _settled(self, live: Sequence[Intent], now: datetime) -> tuple[Snapshot, list[Intent]]:
        """Every intent as the chain has it.

        One that is settled twice goes on until nothing changes.
        """
        snapshot = self._look(live)
        by_id = {intent.id: intent for intent in live}
        moves = [
            move
            for verdict in snapshot.verdicts
            for move in moves_by(verdict, by_id, snapshot.head.number)
        ]
        if any(move.state is IntentState.REVERTED and move.intent.kind in STOPS for move in moves):
            self._observer.heads.failed()
        live = self._transitions.committed(live, moves, now)
        while moves := list(self._confirmations(live, snapshot)):
            live = self._transitions.committed(live, moves, now)
        return snapshot, live

    def _confirmations(self, live: Sequence[Intent], snapshot: Snapshot) -> Iterator[IntentMove]:
        seen = [
            (i, m.receipt)
            for i in live
            if i.state in ON_CHAIN and (m := snapshot.mined_of(i.id)) is not None
        ]
        later = [
            (intent, receipt)
            for intent, receipt in seen
            if snapshot.head.number > receipt.block_number
        ]
        statuses, recorded = self._effects([intent for intent, _ in later], snapshot)
        for intent, receipt in later:
            state = confirmed(
                intent, statuses.get(intent.vault or ""), recorded.get(intent.vault or "")
            )
            is_safe = (
                snapshot.safe_block is not None and receipt.block_number <= snapshot.safe_block
            )
            if state is not None and (state is not IntentState.SAFE or is_safe):
                yield IntentMove(intent, state)

    def _effects(
        self, intents: Sequence[Intent], snapshot: Snapshot
    ) -> tuple[dict[str, VaultStatus | None], dict[str, str]]:
        """The vaults' statuses at the head, and what the record says of them."""
        vaults = list(
            dict.fromkeys(i.vault for i in intents if i.kind in EFFECT and i.vault is not None)
        )
        if not vaults:
            return {}, {}
        with self._database.read() as session:
            recorded = recorded_statuses(session, self._observer.chain_id, vaults)
        return {
            vault: numbers.status
            for vault, numbers in self._observer.numbers(vaults, snapshot.head).items()
        }, recorded

    # What is signed

    def _with_fillings(
        self, live: Sequence[Intent], snapshot: Snapshot, now: datetime
    ) -> list[Intent]:
        """Plan what fills the gaps that a reorg left where a transaction was that is not ours:
        there are no bytes to send again.
        """
        gaps = [
            (role, signer, nonce)
            for role, signer in self._addresses.items()
            for nonce in self._due.nonces_without_bytes(signer, snapshot)
        ]
        return self._transitions.planned(
            live,
            [
                filling(signer, role, nonce, live[0].chain_id, snapshot.head)
                for role, signer, nonce in gaps
            ],
            now,
        )

    def _with_seconds(
        self, live: Sequence[Intent], snapshot: Snapshot, now: datetime
    ) -> list[Intent]:
        """Plan the same stop by another key, for each that was sent SECOND_AFTER_BLOCKS ago and is
        not mined.
        """
        if len({self._addresses.get(role) for role in (Role.KEEPER, Role.STOP)} - {None}) < len(
            (Role.KEEPER, Role.STOP)
        ):
            return list(live)
        seconds = {intent.vault for intent in live if intent.kind == IntentKind.SECOND}
        oldest: dict[int, int] = {}
        for slot in snapshot.pending:
            for tx in slot.attempts:
                oldest[tx.intent_id] = min(
                    oldest.get(tx.intent_id, tx.offered_block), tx.offered_block
                )
        waiting = [
            intent
            for intent in live
            if intent.kind == IntentKind.STOP and intent.vault not in seconds and intent.state in PENDING
            and snapshot.head.number - oldest.get(intent.id, snapshot.head.number) >= SECOND_AFTER_BLOCKS
        ]  # fmt: skip
        needed = self._drafter.restated(waiting, snapshot)
        return self._transitions.planned(
            live,
            [
                second_of(intent, snapshot.head)
                for intent in waiting
                if needed[intent.id] is not None
            ],
            now,
        )

    def _sent_in_turns(
        self, live: Sequence[Intent], snapshot: Snapshot, now: datetime, *, is_stood_down: bool
    ) -> tuple[list[Intent], bool]:
        """What was signed before goes out first, stops and what fills gaps before the rest; then
        what is signed now, in turns.

        True when the node took anything that it did not have.
        """
        urgent = {intent.id for intent in live if intent.kind in URGENT}
        before = list(self._due.unsent(live, snapshot))
        filling = [tx for signer in self._signers for tx in self._due.in_gap(signer, snapshot)]
        has_sent = self._sent(
            [*filling, *(tx for tx in before if tx.intent_id in urgent)], snapshot, to_all=True
        )
        live, has_sent_now = self._signed_in_turns(
            live, snapshot, now, urgent_alone=False, is_stood_down=is_stood_down
        )
        newest = {(tx.signer, tx.nonce): tx.id for tx in self._due.attempts(live)}
        rest = [
            tx
            for tx in before
            if tx.intent_id not in urgent and newest.get((tx.signer, tx.nonce)) == tx.id
        ]
        return live, any((has_sent, has_sent_now, self._sent(self._due.not_void(rest), snapshot)))

    def _signed_in_turns(
        self,
        live: Sequence[Intent],
        snapshot: Snapshot,
        now: datetime,
        *,
        urgent_alone: bool,
        is_stood_down: bool,
    ) -> tuple[list[Intent], bool]:
        """Each turn is signed, committed and sent before the next one is drafted.

        True when the node took anything.
        """
        age_s, after, has_sent = (
            snapshot.head.age_s(UnixSeconds(int(now.timestamp()))),
            list(live),
            False,
        )
        if age_s > self._max_head_age_s:
            if any(intent.state is IntentState.PLANNED for intent in live):
                log.warning(
                    "nothing is signed, the head is stale",
                    head=snapshot.head.number,
                    head_age_s=age_s,
                )
            self._reader.rpc.distrust("stale")
            return after, False
        drafted: set[int] = set()
        failed: set[str] = set()
        wanted = live if urgent_alone else self._without_hopeless(live, now)
        turns = self._drafter.turns(
            wanted,
            snapshot,
            self._reverted(live),
            self._signatures.silent(),
            urgent_alone=urgent_alone,
            is_stood_down=is_stood_down,
            void=() if urgent_alone else self._due.void(live),
        )
        for turn in turns:
            signed = list(self._signatures.signed(turn.drafts, snapshot, failed))
            drafted |= {draft.intent.id for draft in turn.drafts}
            moves = [
                *(IntentMove(intent, IntentState.SUPERSEDED) for intent in turn.unneeded),
                *given_up(turn.given_up, after),
            ]
            with self._commit() as may:
                signed = signed if may else []
                try:
                    after = self._transitions.committed(after, moves, now, signed)
                except VoidRequestError as error:
                    log.warning("a turn is drafted again at the next tick", requests=error.args[0])
                    break  # what follows was drafted on top of the nonces of this turn
            has_sent |= self._sent_new(signed, snapshot)
            self._sign()
            after = [with_refusal(intent, turn.refused.get(intent.id)) for intent in after]
        if urgent_alone:
            return after, has_sent
        refused = [
            IntentMove(i, IntentState.REFUSED)
            for i in after
            if i.id not in drafted and _is_refused(i, now)
        ]
        return self._transitions.committed(after, refused, now), has_sent

    def _commit(self) -> AbstractContextManager[bool]:
        """Whether what was signed may be committed."""
        return nullcontext(True) if self._is_first else self._precedence.second(self._turns)

    def _without_hopeless(self, live: Sequence[Intent], now: datetime) -> list[Intent]:
        """Without what is planned once more although it reverted so often in a day: whose word it
        was must not burn the keeper's ETH.
        """
        doubted = [
            i
            for i in live
            if i.kind in (IntentKind.SETTLE, IntentKind.ACCEPT, IntentKind.ANCHOR)
            and i.state is IntentState.PLANNED
        ]
        if not doubted:
            return list(live)
        with self._database.read() as session:
            reverted = rows.reverted_since(session, doubted, now - timedelta(days=1))
        hopeless = {i.id for i in doubted if reverted.get((i.subject, i.kind), 0) >= REVERTS_A_DAY}
        return [intent for intent in live if intent.id not in hopeless]

    def _reverted(self, live: Sequence[Intent]) -> dict[str, int]:
        """How many stops of the vaults with a stop to sign reverted: whoever can make
        `enforceStopLine` revert can do it again.
        """
        vaults = {
            i.vault
            for i in live
            if i.kind in STOPS and i.state is IntentState.PLANNED and i.vault is not None
        }
        if not vaults:
            return {}
        with self._database.read() as session:
            return rows.reverted_stops(session, vaults)

    # What is sent

    def _sent_new(self, signed: Sequence[tuple[Draft, NewTx]], snapshot: Snapshot) -> bool:
        """Send what was committed just now."""
        by_haste = {
            is_urgent: [tx for draft, tx in signed if (draft.intent.kind in URGENT) == is_urgent]
            for is_urgent in (True, False)
        }
        sent = [
            self._sent(by_haste[True], snapshot, to_all=True),
            self._sent(self._due.not_void(by_haste[False]), snapshot),
        ]
        return any(sent)

    def _sent(self, due: Sequence[NewTx], snapshot: Snapshot, *, to_all: bool = False) -> bool:
        """Send bytes, `to_all` nodes of the pool if so wished; True when the node that is asked
        took any.
        """
        if not due:
            return False
        rpc = self._reader.rpc
        requests = [("eth_sendRawTransaction", [hex_of(tx.raw)]) for tx in due]
        answers = settled_apart(rpc, requests)
        if to_all:
            rpc.batch_of_others(requests, OTHERS_S)
        taken = [
            tx.hash
            for tx, answer in zip(due, answers, strict=True)
            if not isinstance(answer, RpcError)
        ]
        self._taken.note(rpc.pinned_name or "", taken, snapshot.head.number)
        for tx, answer in zip(due, answers, strict=True):
            if isinstance(answer, RpcError):
                log.warning(
                    "the node does not take it",
                    intent=tx.intent_id,
                    nonce=tx.nonce,
                    signer=tx.signer,
                    error=str(answer)[:ERROR_CHARACTERS],
                )
        return bool(taken)

    def _judge_node(self, live: Sequence[Intent], snapshot: Snapshot) -> None:
        """The pinned node rests when it seems to keep bytes to itself."""
        node = self._reader.rpc.pinned_name or ""
        swallowed = self._taken.swallowed(
            node, snapshot, {tx.hash for tx in self._due.attempts(live)}
        )
        if swallowed:
            log.warning("a node keeps bytes to itself", node=node, transactions=swallowed[:5])
            self._reader.rpc.distrust("swallows", SWALLOWER_REST_S)


def _is_refused(intent: Intent, now: datetime) -> bool:
    """A request of the outbox is tried for an hour; the removal of an agent once, since it is
    planned again while it is needed.
    """
    if intent.state is not IntentState.PLANNED:
        return False
    if intent.kind == IntentKind.ANCHOR:
        return now - intent.created_at >= ANCHOR_PATIENCE
    return intent.kind == IntentKind.REMOVE or (
        intent.outbox_id is not None and now - intent.created_at >= REQUEST_PATIENCE
    )
