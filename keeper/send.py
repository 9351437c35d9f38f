"""Sends everything but stops: rows first, then bytes, and what the chain says of them back into rows.

    rows: live intents, attempts --> nodes: fees, counts, receipts --> rows: what became of them
        --> what is planned or waits too long, signed --> rows: the signed bytes --> every node: eth_sendRawTransaction
        --> nodes once more --> rows

Laws
- What is sent was committed before, and each commit is fenced: a leader that lost its lead writes
  and sends nothing more. An intent is moved only from the state that this process read.
- The next nonce is the account's count plus what rows and stops hold: nothing else is remembered.
- What is in no block is sent to every node each round. What waits too long at the lowest nonce, or
  pays less than the base fee, is offered again, dearer; what the chain refuses by now, what may not
  be done any more, and what its budget does not pay for while it holds others up, is replaced by a
  transfer of nothing (docs/decisions/0061).
- What waits above a nonce that nobody holds is given up, and signed again at that one.
- One node that lets a call pass is enough to send it; what reverts is sent REVERTS_A_DAY times.
- A request whose asker was evicted is not signed, and bytes of it that were signed are sent no more.
  That it is not void is held until its bytes are committed (core.identity.evictions).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

import structlog

from core.chain.errors import RpcError, RpcUnreachableError
from core.chain.refusals import is_known
from core.custody import views as custody
from core.custody.views import void_requests_held
from core.db.engine import WriteSession
from core.keeper import intents as rows
from core.keeper.gas import FILLER_GAS
from core.keeper.intents import Intent, NewTx, Tx
from core.keeper.rules import NEXT, ON_CHAIN, IntentState
from keeper.attempts import (
    STUCK_BLOCKS,
    Draft,
    IntentMove,
    Round,
    SignedIntent,
    broadcast,
    fees_of,
    first_free_nonce,
    in_parts,
    is_over,
    judged,
    known,
    move_of,
    receipts,
    safe_block,
    signed_of,
)
from keeper.funds import STOP_GAS, STOPS_WANTED
from keeper.gas import Fees, gas_of_calls, quotes
from keeper.intents import Desk, with_refusal
from keeper.signers import ERROR_CHARACTERS, UNSIGNED, words_of
from keeper.state import URGENT, YIELDING, IntentKind
from keeper.stops import Stops

OTHERS_PATIENCE_BLOCKS = 3  # with what is not urgent
PLANNED_PATIENCE = timedelta(minutes=1)  # what a tick planned is planned again while it is needed
SENT_A_ROUND = 25  # again, of each key: the lowest nonces
SIGNED_A_TURN = 200
REVERTS_A_DAY = 3  # that are paid for of one settlement, acceptance or anchor
DOUBTED = (IntentKind.SETTLE, IntentKind.ACCEPT, IntentKind.ANCHOR)

Drafted = tuple[Intent, Draft]
T = TypeVar("T", NewTx, Tx)

log = structlog.get_logger("keeper")


class IntentMovedError(RuntimeError):
    """The intent's row is not in the state that this process read: two leaders, or a hand in the
    table.
    """


class VoidRequestError(RuntimeError):
    """A request became void before its bytes were committed: nothing of the turn was written."""


class Sender:
    """Moves the intents of one loop. `allows`: whether so much wei may be paid for one.

    `stops`: hold nonces of the same keys.
    """

    def __init__(
        self,
        desk: Desk,
        *,
        stops: Stops | None = None,
        allows: Callable[[Intent, int], bool] = lambda intent, wei: True,
    ) -> None:
        self._desk, self._rpc, self._caps = desk, desk.rpc, desk.caps
        self._signers = {signer.address: signer for signer in desk.signers.values()}
        self._addresses = {role: signer.address for role, signer in desk.signers.items()}
        self._allows = allows
        self._stops = stops
        self._sent: set[str] = set()  # hashes that a node took

    def advance(self, live: Sequence[Intent], now: datetime) -> list[Intent]:
        """Take every intent but stops as far as it goes now; answers those that are not finished.

        Errors: RpcError (what was committed stays), LeadershipLostError, IntentMovedError, the
        database's.
        """
        stops = [intent for intent in live if intent.kind == IntentKind.STOP]
        live = [intent for intent in live if intent.kind != IntentKind.STOP]
        if not live:
            return stops
        known_now, live = self._settled(live, now)
        self._send_again(known_now)
        live, has_signed = self._signed(live, known_now, now)
        return [*stops, *(self._settled(live, now)[1] if has_signed else live)]

    # What the chain decided

    def _settled(self, live: Sequence[Intent], now: datetime) -> tuple[Round, list[Intent]]:
        """Every intent as the chain has it."""
        known_now = self._look(live)
        moves = [move_of(one, known_now.head_number, self._sent) for one in known_now.signed]
        live = self._committed(live, [move for move in moves if move is not None], now)
        self._sent &= {tx.hash for one in known_now.pending for tx in one.attempts}
        return known_now, self._committed(live, list(self._ended(live, known_now)), now)

    def _look(self, live: Sequence[Intent]) -> Round:
        with self._desk.database.read() as session:
            attempts = rows.attempts_of(session, [intent.id for intent in live])
        nodes = quotes(self._rpc, sorted({*self._signers, *(tx.signer for tx in attempts)}))
        if not nodes.heads:
            raise RpcUnreachableError("eth_getBlockByNumber", ["no node returns its latest block"])
        found = receipts(self._rpc, [tx.hash for tx in attempts])
        used = [tx.hash for tx in attempts if tx.nonce < nodes.count(tx.signer)]
        missing = [one for one in used if not any(by.get(one) for by in found.values())]
        unknown = set(missing) - known(self._rpc, missing) if missing else set[str]()
        signed = signed_of(live, attempts)
        return Round(nodes, judged(signed, found, nodes, unknown, self._signers))

    def _ended(self, live: Sequence[Intent], known_now: Round) -> Iterator[IntentMove]:
        mined = {one.intent.id: one.mined for one in known_now.signed}
        on_chain = [
            (intent, found[1])
            for intent in live
            if intent.state in ON_CHAIN and (found := mined.get(intent.id)) is not None
        ]
        safe = safe_block(self._rpc, known_now.quotes) if on_chain else 0
        for intent, receipt in on_chain:
            if is_over(intent, receipt, known_now.head_number, safe):
                yield IntentMove(intent, IntentState.DONE)

    # What is sent

    def _send_again(self, known_now: Round) -> None:
        due = list[Tx]()
        for signer in self._signers:
            own = [one.newest for one in known_now.pending_of(signer) if not one.is_seen]
            due += own[:SENT_A_ROUND]
        self._send(self._not_void(due))

    def _send(self, due: Sequence[NewTx]) -> None:
        """To every node."""
        for part, by_node in broadcast(self._rpc, due):
            for node, answers in by_node.items():
                for tx, answer in zip(part, answers, strict=True):
                    if not isinstance(answer, RpcError) or is_known(str(answer)):
                        self._sent.add(tx.hash)
                    else:
                        log.info("transaction refused by a node", node=node, intent=tx.intent_id,
                                 nonce=tx.nonce, error=str(answer)[:ERROR_CHARACTERS])  # fmt: skip

    # What is signed

    def _signed(
        self, live: Sequence[Intent], known_now: Round, now: datetime
    ) -> tuple[list[Intent], bool]:
        """Each turn is signed, committed and sent before the next one is drafted."""
        void = self._void_of([intent.id for intent in live if intent.outbox_id is not None])
        planned = [intent for intent in live if intent.state is IntentState.PLANNED]
        unneeded = [IntentMove(i, IntentState.SUPERSEDED) for i in planned if i.id in void]
        after = self._committed(live, unneeded, now)
        hopeless = self._hopeless(planned, now)
        wanted = [i for i in planned if i.id not in void | hopeless and self._has_key(i)]
        failed: set[str] = set()
        refused: dict[int, str] = {}
        has_signed = False
        turns = [self._replacements(after, known_now, void)]  # what waits too long comes first
        turns += [
            self._first_attempts(group, known_now, refused)
            for group in in_parts(wanted, SIGNED_A_TURN)
        ]
        for drafts in turns:
            signed = list(self._with_bytes(list(drafts), known_now, failed))
            try:
                after = self._committed(after, (), now, signed)
            except VoidRequestError as error:
                log.warning("a void turn is drafted again next round", requests=error.args[0])
                break  # what follows was drafted on top of the nonces of this turn
            self._send(self._not_void([tx for _, tx in signed]))
            has_signed |= bool(signed)
        after = [with_refusal(intent, refused.get(intent.id)) for intent in after]
        late = [
            intent
            for intent in after
            if intent.state is IntentState.PLANNED
            and intent.outbox_id is None
            and intent.id not in hopeless
            and (
                intent.kind == IntentKind.REMOVE  # tried once: nothing measures it again
                or now - intent.created_at >= PLANNED_PATIENCE
            )
        ]
        ends = [IntentMove(intent, IntentState.SUPERSEDED) for intent in late]
        return self._committed(after, ends, now), has_signed

    def _has_key(self, intent: Intent) -> bool:
        if intent.role not in self._addresses:
            log.warning("no key", intent=intent.id, kind=intent.kind, role=intent.role)
        return intent.role in self._addresses

    def _hopeless(self, planned: Sequence[Intent], now: datetime) -> set[int]:
        """What reverted so often in a day: whose word it was must not burn the keeper's ETH."""
        doubted = [i for i in planned if i.kind in DOUBTED]
        if not doubted:
            return set()
        with self._desk.database.read() as session:
            reverted = rows.reverted_since(session, doubted, now - timedelta(days=1))
        return {i.id for i in doubted if reverted.get((i.subject, i.kind), 0) >= REVERTS_A_DAY}

    def _first_attempts(
        self, intents: Sequence[Intent], known_now: Round, refused: dict[int, str]
    ) -> Iterator[Drafted]:
        market = known_now.market
        gas_or_why = gas_of_calls(
            self._rpc, {i.id: (self._addresses[i.role], i.to, i.data) for i in intents}
        )
        for intent in intents:
            signer, gas = self._addresses[intent.role], gas_or_why[intent.id]
            if isinstance(gas, str):
                refused[intent.id] = gas
                _wait(intent, "refused by the chain", signer=signer, refused=gas)
                continue
            cap = self._caps.of(intent.kind)
            offer = market.offered(cap, is_stop=False)
            if offer is None:
                base = market.base_fee_wei.middle
                _wait(intent, "the fee is above the cap", base_fee_wei=base, cap_wei=cap)
            elif self._pays(intent, signer, gas, offer.fees, known_now):
                nonce = self._nonce_for(signer, known_now)
                yield intent, Draft(intent, signer, nonce, offer.fees, gas)

    def _nonce_for(self, signer: str, known_now: Round) -> int:
        """The lowest free one."""
        held = known_now.held[signer]
        nonce = first_free_nonce(known_now.quotes.count(signer), held | self._reserved(signer))
        held.add(nonce)
        return nonce

    def _reserved(self, signer: str) -> frozenset[int]:
        """Nonces that stops hold."""
        return frozenset() if self._stops is None else self._stops.reserved(signer)

    def _pays(self, intent: Intent, signer: str, gas: int, fees: Fees, known_now: Round) -> bool:
        """Marks and anchors leave what STOPS_WANTED stops may cost."""
        market, wei = known_now.market, gas * fees.max_fee_wei
        left_wei = market.balances_wei[signer]
        if intent.kind in YIELDING:
            kept_wei = STOPS_WANTED * STOP_GAS * market.cap_wei(self._caps.stops_wei)
            left_wei = market.sure_wei[signer] - kept_wei
        if left_wei < wei:
            balance = market.balances_wei[signer]
            _wait(intent, "the key is short of ETH", signer=signer, balance_wei=balance)
            return False
        if not self._allows(intent, wei):
            _wait(intent, "it needs more gas than is reserved for it", most_wei=wei)
            return False
        market.pay(signer, wei)
        return True

    def _replacements(
        self, live: Sequence[Intent], known_now: Round, void: Collection[int]
    ) -> Iterator[Drafted]:
        """The same again for more, or a transfer of nothing."""
        now_live = {intent.id: intent for intent in live}
        overdue = [
            (now_live[one.intent.id], one)
            for one in self._overdue(known_now)
            if one.intent.id in now_live
        ]
        needed = {i.id: (one.newest.signer, i.to, i.data) for i, one in overdue if i.id not in void}
        gas_or_why = gas_of_calls(self._rpc, needed)
        for intent, one in overdue:
            is_awaited = self._has_stop_above(one)
            cap = self._caps.of(IntentKind.STOP if is_awaited else intent.kind)
            fees = fees_of(one.newest)
            offer = known_now.market.raised(fees, cap, is_stop=False)
            if offer is None:
                _wait(intent, "its fee is at the cap", nonce=one.newest.nonce,
                      max_fee_wei=fees.max_fee_wei)  # fmt: skip
                continue
            gas = gas_or_why.get(intent.id)
            filler = Draft(intent, *one.place, offer.fees, FILLER_GAS, is_filler=True)
            if not isinstance(gas, int):
                yield intent, filler
            elif self._pays(intent, one.newest.signer, gas, offer.fees, known_now):
                yield intent, Draft(intent, *one.place, offer.fees, gas)
            elif intent.outbox_id is not None and self._holds_up(one, known_now):
                yield intent, filler

    def _overdue(self, known_now: Round) -> Iterator[SignedIntent]:
        """What has waited too long at the lowest nonce, or pays less than the base fee."""
        base = known_now.market.base_fee_wei.middle
        for one in known_now.pending:
            (signer, nonce), waited = one.place, known_now.waited(one)
            if one.is_seen or signer not in self._signers:
                continue
            kind = IntentKind.STOP if self._has_stop_above(one) else one.intent.kind
            patience = 1 if kind in URGENT else OTHERS_PATIENCE_BLOCKS
            is_lowest = one is known_now.lowest[signer]
            is_next = is_lowest and nonce <= known_now.quotes.count(signer)
            is_cheap = waited > 0 and one.newest.max_fee_wei < base
            if (is_next and waited >= patience) or is_cheap:
                yield one

    def _has_stop_above(self, one: SignedIntent) -> bool:
        """A stop by the same key waits for this one."""
        signer, own = one.place
        return any(nonce > own for nonce in self._reserved(signer))

    def _holds_up(self, one: SignedIntent, known_now: Round) -> bool:
        """It has waited at the lowest nonce, more pends above it, and its key pays for a filler."""
        signer = one.newest.signer
        return (
            known_now.waited(one) >= STUCK_BLOCKS
            and one is known_now.lowest[signer]
            and len(known_now.pending_of(signer)) > 1
            and known_now.market.balances_wei[signer] >= FILLER_GAS * one.newest.max_fee_wei
        )

    def _with_bytes(
        self, drafts: Sequence[Drafted], known_now: Round, failed: set[str]
    ) -> Iterator[tuple[Intent, NewTx]]:
        """The signed ones. Once a signer fails, nothing more of it is signed in this round: a nonce
        left out would hold up the rest.
        """
        for intent, draft in drafts:
            if draft.signer in failed:
                continue
            signer = self._signers[draft.signer]
            try:
                yield intent, draft.signed(signer, known_now.head_number, intent.id)
            except UNSIGNED as error:
                _wait(intent, "it is not signed", error=words_of(error))
                failed.add(draft.signer)

    # Rows

    def _not_void(self, due: Iterable[T]) -> list[T]:
        """Without the bytes of requests that may be done no more; what fills their nonces stays."""
        due = list(due)
        void = self._void_of({tx.intent_id for tx in due if not tx.is_filler})
        return [tx for tx in due if tx.is_filler or tx.intent_id not in void]

    def _void_of(self, intent_ids: Collection[int]) -> frozenset[int]:
        """Those whose requests may be done no more."""
        if not intent_ids:
            return frozenset()
        with self._desk.database.read() as session:
            return custody.void_intents(session, intent_ids)

    def _committed(
        self,
        live: Sequence[Intent],
        moves: Sequence[IntentMove],
        now: datetime,
        signed: Sequence[tuple[Intent, NewTx]] = (),
    ) -> list[Intent]:
        """Write the moves and the signed bytes in one fenced transaction.

        Answers the intents that are not finished.

        Errors: VoidRequestError; LeadershipLostError, IntentMovedError, the database's.
        """
        after = {intent.id: intent for intent in live}
        if moves or signed:
            with self._desk.database.write() as session:
                self._desk.fence(session)
                _require_not_void(session, signed)
                for move in moves:
                    after[move.intent.id] = self._move(session, move, now)
                for intent, tx in signed:
                    after[intent.id] = self._keep(session, intent, tx, now)
        for move in moves:
            _log_move(move)
        return [intent for intent in after.values() if NEXT[intent.state]]

    def _move(self, session: WriteSession, move: IntentMove, now: datetime) -> Intent:
        was, intent = move.intent.state, replace(move.intent, state=move.state)
        if move.state != was:
            assert move.state in NEXT[was], (was, move.state)
            self._change(session, intent, was, now)
        for tx, state, receipt in move.attempts:
            rows.move_tx(session, tx, state, now, receipt)
        return intent

    def _keep(self, session: WriteSession, intent: Intent, tx: NewTx, now: datetime) -> Intent:
        """The signed bytes; a replacement changes no state."""
        was = intent.state
        kept = replace(intent, state=IntentState.SIGNED) if was is IntentState.PLANNED else intent
        self._change(session, kept, was, now)
        rows.add_tx(session, tx, now)
        return kept

    def _change(
        self, session: WriteSession, intent: Intent, was: IntentState, now: datetime
    ) -> None:
        if not rows.move_intent(session, intent, was, self._desk.epoch(), now):
            raise IntentMovedError(f"intent {intent.id} is no longer {was}")


def _require_not_void(session: WriteSession, signed: Iterable[tuple[Intent, NewTx]]) -> None:
    requests = [i.outbox_id for i, tx in signed if i.outbox_id is not None and not tx.is_filler]
    void = void_requests_held(session, requests)
    if void:
        raise VoidRequestError(sorted(void))


def _log_move(move: IntentMove) -> None:
    intent, was = move.intent, move.intent.state
    if move.state != was:
        gas_used = [receipt.gas_used for _, _, receipt in move.attempts if receipt is not None]
        log.info("intent moved", intent=intent.id, kind=intent.kind, vault=intent.vault, was=was,
                 state=move.state, gas_used=next(iter(gas_used), None))  # fmt: skip


def _wait(intent: Intent, why: str, **more: Any) -> None:
    log.warning("intent waits", intent=intent.id, kind=intent.kind, vault=intent.vault,
                state=intent.state, why=why, **more)  # fmt: skip
