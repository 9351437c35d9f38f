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
- No nonce below what is pending stays empty: our bytes go there again, or a transfer of nothing
  (docs/decisions/0019).
- All of an advance is asked of one node, but for nonces, fees, and a stop that it refuses: there
  its word is one of several (docs/decisions/0020). A stop's bytes go to every other node of the
  pool as well, and a node that took bytes and has no block with them a few blocks later rests while
  others are asked.
- Stops go first, a few at a time, so that neither a crash nor a bad one holds the others up.
- A request whose asker was evicted is not signed, and bytes of it that were signed are sent no
  more, whichever round signed them: that it is not void is held until its bytes are committed
  (core.identity.evictions), and looked up again before each send.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar

import structlog
from eth_utils.crypto import keccak
from sqlalchemy.orm import Session

from core.chain.rpc import RpcError
from core.chain.signer import Signer
from core.custody import views as custody
from core.custody.views import void_requests_held
from core.db.engine import Database, WriteSession
from core.errors import MandateError, OutsideError
from core.hexes import hex_of
from core.keeper import intents as rows
from core.keeper.intents import Intent, NewIntent, NewTx, Tx
from core.keeper.rules import NEXT, ON_CHAIN, PENDING, IntentState, TxState
from core.keeper.views import recorded_statuses
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.lifecycle import VaultStatus
from core.money import UnixSeconds
from keeper.apart import settled_apart
from keeper.attempts import NonceSlot, PendingSlot
from keeper.counts import Counts
from keeper.drafts import Caps, Draft, Drafter
from keeper.headroom import Allowance
from keeper.intents import REQUEST_PATIENCE, filling, second_of
from keeper.moves import EFFECT, IntentMove, confirmed, moves_by
from keeper.observe import Observer
from keeper.precedence import Precedence
from keeper.sight import OTHERS_S, Sight, look
from keeper.state import STOPS, URGENT, IntentKind, Role
from keeper.swallowed import Taken
from keeper.trials import ERROR_CHARACTERS

SECOND_AFTER_BLOCKS = 3
SWALLOWER_REST_S = 60.0
REVERTS_A_DAY = 3  # that are paid for of one settlement or acceptance
# what a signer that cannot sign may raise
UNSIGNED = (MandateError, OutsideError, OSError, ValueError, TypeError)
T = TypeVar("T", NewTx, Tx)
SILENT_S = 5.0  # for so long a signer that failed is asked last
# kinds of requests that the chain carries out once, however often they are sent
REPEATABLE = ("custodial_transfer",)

log = structlog.get_logger("keeper")


class IntentMovedError(RuntimeError):
    """The intent's row is not in the state that this process read: two leaders, or a hand in the
    table.
    """


class VoidRequestError(RuntimeError):
    """A request that was drafted became void before its bytes were committed: nothing of the turn
    was written.
    """


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
        self._epoch = epoch
        self._fence = fence
        self._max_head_age_s = max_head_age_s
        self._addresses = {role: signer.address for role, signer in signers.items()}
        self._drafter = Drafter(reader, observer, self._addresses, caps, allowance)
        self._is_first = allowance is None
        self._precedence = precedence or Precedence()
        self._turns = 0  # of the stops' loop, when this one looked
        self._sign = sign
        self._clock = clock
        self._counts = Counts()
        self._silent_until: dict[str, float] = {}  # by account
        self._taken = Taken()

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
            sight, live = self._settled(live, now)
            self._judge_node(live, sight)
            live = self._with_fillings(live, sight, now)
            live = self._with_seconds(live, sight, now)
            live, has_sent = self._sent_in_turns(live, sight, now, is_stood_down=is_stood_down)
            if has_sent:
                _, live = self._settled(live, now)
        return live

    def rush(self, live: Sequence[Intent], now: datetime, *, is_stood_down: bool) -> list[Intent]:
        """Sign and send the planned stops among `live`, and nothing else. Errors: as `advance`."""
        with self._reader.rpc.pinned(), self._turn():
            sight = self._look(live)
            return self._signed_in_turns(
                live, sight, now, urgent_alone=True, is_stood_down=is_stood_down
            )[0]

    def _turn(self) -> AbstractContextManager[None]:
        return self._precedence.first() if self._is_first else nullcontext()

    # What the chain decided

    def _look(self, live: Sequence[Intent]) -> Sight:
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
            self._attempts(live),
            self._counts,
            once,
        )

    def _settled(self, live: Sequence[Intent], now: datetime) -> tuple[Sight, list[Intent]]:
        """Every intent as the chain has it.

        One that is settled twice goes on until nothing changes.
        """
        sight = self._look(live)
        by_id = {intent.id: intent for intent in live}
        moves = [
            move
            for verdict in sight.verdicts
            for move in moves_by(verdict, by_id, sight.head.number)
        ]
        if any(move.state is IntentState.REVERTED and move.intent.kind in STOPS for move in moves):
            self._observer.heads.failed()
        live = self._committed(live, moves, now)
        while moves := list(self._confirmations(live, sight)):
            live = self._committed(live, moves, now)
        return sight, live

    def _confirmations(self, live: Sequence[Intent], sight: Sight) -> Iterator[IntentMove]:
        seen = [
            (i, m.receipt)
            for i in live
            if i.state in ON_CHAIN and (m := sight.mined_of(i.id)) is not None
        ]
        later = [
            (intent, receipt)
            for intent, receipt in seen
            if sight.head.number > receipt.block_number
        ]
        statuses, recorded = self._effects([intent for intent, _ in later], sight)
        for intent, receipt in later:
            state = confirmed(
                intent, statuses.get(intent.vault or ""), recorded.get(intent.vault or "")
            )
            is_safe = sight.safe_block is not None and receipt.block_number <= sight.safe_block
            if state is not None and (state is not IntentState.SAFE or is_safe):
                yield IntentMove(intent, state)

    def _effects(
        self, intents: Sequence[Intent], sight: Sight
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
            for vault, numbers in self._observer.numbers(vaults, sight.head).items()
        }, recorded

    # What is signed

    def _with_fillings(self, live: Sequence[Intent], sight: Sight, now: datetime) -> list[Intent]:
        """Plan what fills the gaps that a reorg left where a transaction was that is not ours:
        there are no bytes to send again.
        """
        gaps = [
            (role, signer, nonce)
            for role, signer in self._addresses.items()
            for nonce in self._without_bytes(signer, sight)
        ]
        return self._planned(
            live,
            [
                filling(signer, role, nonce, live[0].chain_id, sight.head)
                for role, signer, nonce in gaps
            ],
            now,
        )

    def _without_bytes(self, signer: str, sight: Sight) -> list[int]:
        gap = sight.gap_of(signer)
        if gap is None:
            return []
        held = {tx.nonce for tx in self._bytes_in_gap(signer, sight)}
        return [nonce for nonce in range(gap[0], gap[1] + 1) if nonce not in held]

    def _with_seconds(self, live: Sequence[Intent], sight: Sight, now: datetime) -> list[Intent]:
        """Plan the same stop by another key, for each that was sent SECOND_AFTER_BLOCKS ago and is
        not mined.
        """
        if len({self._addresses.get(role) for role in (Role.KEEPER, Role.STOP)} - {None}) < len(
            (Role.KEEPER, Role.STOP)
        ):
            return list(live)
        seconds = {intent.vault for intent in live if intent.kind == IntentKind.SECOND}
        oldest: dict[int, int] = {}
        for slot in sight.pending:
            for tx in slot.attempts:
                oldest[tx.intent_id] = min(
                    oldest.get(tx.intent_id, tx.offered_block), tx.offered_block
                )
        waiting = [
            intent
            for intent in live
            if intent.kind == IntentKind.STOP and intent.vault not in seconds and intent.state in PENDING
            and sight.head.number - oldest.get(intent.id, sight.head.number) >= SECOND_AFTER_BLOCKS
        ]  # fmt: skip
        needed = self._drafter.restated(waiting, sight)
        return self._planned(
            live,
            [second_of(intent, sight.head) for intent in waiting if needed[intent.id] is not None],
            now,
        )

    def _planned(
        self, live: Sequence[Intent], planned: Sequence[NewIntent], now: datetime
    ) -> list[Intent]:
        if not planned:
            return list(live)
        with self._database.write() as session:
            self._fence(session)
            added = [rows.add_intent(session, intent, self._epoch(), now) for intent in planned]
        return [*live, *(intent for intent in added if intent is not None)]

    def _sent_in_turns(
        self, live: Sequence[Intent], sight: Sight, now: datetime, *, is_stood_down: bool
    ) -> tuple[list[Intent], bool]:
        """What was signed before goes out first, stops and what fills gaps before the rest; then
        what is signed now, in turns.

        True when the node took anything that it did not have.
        """
        urgent = {intent.id for intent in live if intent.kind in URGENT}
        before = list(self._to_send(live, sight))
        filling = [tx for signer in self._signers for tx in self._bytes_in_gap(signer, sight)]
        has_sent = self._sent(
            [*filling, *(tx for tx in before if tx.intent_id in urgent)], sight, to_all=True
        )
        live, has_sent_now = self._signed_in_turns(
            live, sight, now, urgent_alone=False, is_stood_down=is_stood_down
        )
        newest = {(tx.signer, tx.nonce): tx.id for tx in self._attempts(live)}
        rest = [
            tx
            for tx in before
            if tx.intent_id not in urgent and newest.get((tx.signer, tx.nonce)) == tx.id
        ]
        return live, any((has_sent, has_sent_now, self._sent(self._not_void(rest), sight)))

    def _signed_in_turns(
        self,
        live: Sequence[Intent],
        sight: Sight,
        now: datetime,
        *,
        urgent_alone: bool,
        is_stood_down: bool,
    ) -> tuple[list[Intent], bool]:
        """Each turn is signed, committed and sent before the next one is drafted.

        True when the node took anything.
        """
        age_s, after, has_sent = (
            sight.head.age_s(UnixSeconds(int(now.timestamp()))),
            list(live),
            False,
        )
        if age_s > self._max_head_age_s:
            if any(intent.state is IntentState.PLANNED for intent in live):
                log.warning(
                    "nothing is signed, the head is stale", head=sight.head.number, head_age_s=age_s
                )
            self._reader.rpc.distrust("stale")
            return after, False
        drafted: set[int] = set()
        failed: set[str] = set()
        wanted = live if urgent_alone else self._without_hopeless(live, now)
        turns = self._drafter.turns(
            wanted,
            sight,
            self._reverted(live),
            self._silent(),
            urgent_alone=urgent_alone,
            is_stood_down=is_stood_down,
            void=() if urgent_alone else self._void(live),
        )
        for turn in turns:
            signed = list(self._bytes_of(turn.drafts, sight, failed))
            drafted |= {draft.intent.id for draft in turn.drafts}
            moves = [
                *(IntentMove(intent, IntentState.SUPERSEDED) for intent in turn.unneeded),
                *_given_up(turn.given_up, after),
            ]
            with self._commit() as may:
                signed = signed if may else []
                try:
                    after = self._committed(after, moves, now, signed)
                except VoidRequestError as error:
                    log.warning("a turn is drafted again at the next tick", requests=error.args[0])
                    break  # what follows was drafted on top of the nonces of this turn
            has_sent |= self._sent_new(signed, sight)
            self._sign()
        if urgent_alone:
            return after, has_sent
        refused = [
            IntentMove(i, IntentState.REFUSED)
            for i in after
            if i.id not in drafted and _is_refused(i, now)
        ]
        return self._committed(after, refused, now), has_sent

    def _void(self, live: Sequence[Intent]) -> frozenset[int]:
        """Those intents whose requests may be done no more."""
        return self._void_of([intent.id for intent in live if intent.outbox_id is not None])

    def _void_of(self, intent_ids: Collection[int]) -> frozenset[int]:
        if not intent_ids:
            return frozenset()
        with self._database.read() as session:
            return custody.void_intents(session, intent_ids)

    def _not_void(self, due: Iterable[T]) -> list[T]:
        """Without the bytes of requests that may be done no more; what fills their nonces stays."""
        due = list(due)
        void = self._void_of({tx.intent_id for tx in due if not tx.is_filler})
        return [tx for tx in due if tx.is_filler or tx.intent_id not in void]

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
            if i.kind in (IntentKind.SETTLE, IntentKind.ACCEPT) and i.state is IntentState.PLANNED
        ]
        if not doubted:
            return list(live)
        with self._database.read() as session:
            reverted = rows.reverted_since(session, doubted, now - timedelta(days=1))
        hopeless = {i.id for i in doubted if reverted.get((i.subject, i.kind), 0) >= REVERTS_A_DAY}
        return [intent for intent in live if intent.id not in hopeless]

    def _bytes_of(
        self, drafts: Sequence[Draft], sight: Sight, failed: set[str]
    ) -> Iterator[tuple[Draft, NewTx]]:
        """The signed ones.

        Once a signer fails, nothing more of it is signed in this advance: a nonce left out would
        hold up the rest.
        """
        for draft in drafts:
            if draft.signer in failed:
                continue
            try:
                tx = self._tx_of(draft, sight)
            except UNSIGNED as error:
                log.warning(
                    "intent waits",
                    intent=draft.intent.id,
                    kind=draft.intent.kind,
                    why="it is not signed",
                    error=_words(error),
                )
                failed.add(draft.signer)
                self._silent_until[draft.signer] = self._clock() + SILENT_S
            else:
                yield draft, tx

    def _silent(self) -> frozenset[str]:
        """Signers that failed a moment ago."""
        return frozenset(
            signer for signer, until in self._silent_until.items() if self._clock() < until
        )

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

    def _tx_of(self, draft: Draft, sight: Sight) -> NewTx:
        raw = self._signers[draft.signer].sign_transaction(draft.transaction())
        return NewTx(
            intent_id=draft.intent.id,
            signer=draft.signer,
            nonce=draft.nonce,
            raw=raw,
            hash=hex_of(keccak(raw)),
            max_fee_wei=draft.fees.max_fee_wei,
            max_priority_fee_wei=draft.fees.max_priority_fee_wei,
            offered_block=sight.head.number,
            is_filler=draft.is_filler,
        )

    # What is sent

    def _sent_new(self, signed: Sequence[tuple[Draft, NewTx]], sight: Sight) -> bool:
        """Send what was committed just now."""
        by_haste = {
            is_urgent: [tx for draft, tx in signed if (draft.intent.kind in URGENT) == is_urgent]
            for is_urgent in (True, False)
        }
        sent = [
            self._sent(by_haste[True], sight, to_all=True),
            self._sent(self._not_void(by_haste[False]), sight),
        ]
        return any(sent)

    def _sent(self, due: Sequence[NewTx], sight: Sight, *, to_all: bool = False) -> bool:
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
        self._taken.note(rpc.pinned_name or "", taken, sight.head.number)
        for tx, answer in zip(due, answers, strict=True):
            if isinstance(answer, RpcError):
                log.warning(
                    "the node does not take it",
                    intent=tx.intent_id,
                    nonce=tx.nonce,
                    signer=tx.signer,
                    error=_words(answer),
                )
        return bool(taken)

    def _judge_node(self, live: Sequence[Intent], sight: Sight) -> None:
        """The pinned node rests when it seems to keep bytes to itself."""
        node = self._reader.rpc.pinned_name or ""
        swallowed = self._taken.swallowed(node, sight, {tx.hash for tx in self._attempts(live)})
        if swallowed:
            log.warning("a node keeps bytes to itself", node=node, transactions=swallowed[:5])
            self._reader.rpc.distrust("swallows", SWALLOWER_REST_S)

    def _to_send(self, live: Sequence[Intent], sight: Sight) -> Iterator[Tx]:
        """The newest attempt of each pending nonce, unless the node has it: one that restarted
        forgot it.
        """
        known = {
            v.slot.newest.id for v in sight.verdicts if isinstance(v, PendingSlot) and not v.unknown
        }
        settled = {v.slot.newest.id for v in sight.verdicts if not isinstance(v, PendingSlot)}
        newest: dict[tuple[str, int], Tx] = {
            (tx.signer, tx.nonce): tx for tx in self._attempts(live)
        }
        yield from (tx for tx in newest.values() if tx.id not in known | settled)

    def _bytes_in_gap(self, signer: str, sight: Sight) -> list[Tx]:
        """Bytes of ours that a reorg took out of the chain below what is pending: they are sent
        again, or it is stuck. Those of a void request are none: their nonce is filled.
        """
        gap = sight.gap_of(signer)
        if gap is None:
            return []
        with self._database.read() as session:
            held = rows.bytes_at(session, signer, *gap)
        return self._not_void(held)

    # Rows

    def _attempts(self, live: Iterable[Intent]) -> list[Tx]:
        """Of these, and what pends of our accounts for the other loop: it holds nonces too."""
        ids = [intent.id for intent in live]
        with self._database.read() as session:
            return [
                *rows.attempts_of(session, ids),
                *rows.pending_beside(session, self._signers, ids),
            ]

    def _committed(
        self,
        live: Sequence[Intent],
        moves: Sequence[IntentMove],
        now: datetime,
        signed: Sequence[tuple[Draft, NewTx]] = (),
    ) -> list[Intent]:
        """Write the moves and the signed bytes in one fenced transaction.

        Answers the intents that are not finished.

        Errors: VoidRequestError; LeadershipLostError, IntentMovedError, the database's.
        """
        after = {intent.id: intent for intent in live}
        if moves or signed:
            with self._database.write() as session:
                self._fence(session)
                self._require_not_void(session, signed)
                for move in moves:
                    after[move.intent.id] = self._move(session, move, now)
                for draft, tx in signed:
                    after[draft.intent.id] = self._keep(session, draft, tx, now)
        for move in moves:
            _tell(move)
        return [intent for intent in after.values() if NEXT[intent.state]]

    def _require_not_void(
        self, session: WriteSession, signed: Sequence[tuple[Draft, NewTx]]
    ) -> None:
        requests = [
            draft.intent.outbox_id
            for draft, _ in signed
            if draft.intent.outbox_id is not None and not draft.is_filler
        ]
        void = void_requests_held(session, requests)
        if void:
            raise VoidRequestError(sorted(void))

    def _move(self, session: WriteSession, move: IntentMove, now: datetime) -> Intent:
        if move.state != move.intent.state:
            assert move.state in NEXT[move.intent.state], (move.intent.state, move.state)
            self._change(session, replace(move.intent, state=move.state), move.intent.state, now)
        for tx, state, receipt in move.attempts:
            rows.move_tx(session, tx, state, now, receipt)
        return replace(move.intent, state=move.state)

    def _keep(self, session: WriteSession, draft: Draft, tx: NewTx, now: datetime) -> Intent:
        """The signed bytes.

        A filler says nothing new of its intent; a replacement changes its words, not its state.
        """
        was = draft.intent.state
        intent = (
            replace(draft.intent, state=IntentState.SIGNED)
            if was is IntentState.PLANNED
            else draft.intent
        )
        self._change(session, intent, was, now)
        rows.add_tx(session, tx, now)
        return intent

    def _change(
        self, session: WriteSession, intent: Intent, was: IntentState, now: datetime
    ) -> None:
        if not rows.move_intent(session, intent, was, self._epoch(), now):
            raise IntentMovedError(f"intent {intent.id} is no longer {was}")


def _given_up(slots: Sequence[NonceSlot], live: Iterable[Intent]) -> Iterator[IntentMove]:
    """The newest intent of each; one that it had replaced is looked at by itself."""
    by_id = {intent.id: intent for intent in live}
    for slot in slots:
        intent = by_id[slot.newest.intent_id]
        yield IntentMove(
            intent,
            IntentState.SUPERSEDED,
            tuple((tx, TxState.LOST, None) for tx in slot.attempts if tx.intent_id == intent.id),
        )


def _is_refused(intent: Intent, now: datetime) -> bool:
    """A request of the outbox is tried for an hour; the removal of an agent once, since it is
    planned anew while it is needed.
    """
    if intent.state is not IntentState.PLANNED:
        return False
    return intent.kind == IntentKind.REMOVE or (
        intent.outbox_id is not None and now - intent.created_at >= REQUEST_PATIENCE
    )


def _words(error: Exception) -> str:
    """What is told of an error; one that is not ours may hold anything."""
    return (str(error) if isinstance(error, MandateError | OutsideError) else type(error).__name__)[
        :ERROR_CHARACTERS
    ]


def _tell(move: IntentMove) -> None:
    if move.state == move.intent.state:
        return
    intent = move.intent
    gas_used = next(
        (receipt.gas_used for _, _, receipt in move.attempts if receipt is not None), None
    )
    told = {
        "intent": intent.id,
        "kind": intent.kind,
        "vault": intent.vault,
        "was": intent.state,
        "state": move.state,
    }
    log.info("intent moved", **told, gas_used=gas_used)
