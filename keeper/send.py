"""Sends everything but stops: rows first, then bytes, and what the chain says of them back into rows.

    rows: live intents, attempts --> nodes: fees, counts, receipts --> rows: what became of them
        --> what is planned or waits too long, signed --> rows: the signed bytes --> every node: eth_sendRawTransaction
        --> nodes once more --> rows

Laws
- What is sent was committed before, and each commit is fenced: a leader that lost its lead writes
  and sends nothing more.
- The next nonce is the account's count plus what rows and stops hold: nothing else is remembered.
- What is in no block is sent to every node each round. What waits too long at the lowest nonce, or
  pays less than the base fee, is offered again, dearer; what the chain refuses by now, what may not
  be done any more, and what its budget does not pay for while it holds others up, is replaced by a
  transfer of nothing (docs/decisions/0061).
- What waits above a nonce that nobody holds is given up, and signed again at that one.
- One node that lets a call pass is enough to send it; what reverts is sent REVERTS_A_DAY times.
- A request whose asker was evicted is not signed, and bytes of it that were signed are sent no more.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy.orm import Session

from core.chain.errors import RpcError, RpcUnreachableError
from core.chain.nodes import Nodes
from core.chain.refusals import is_known
from core.chain.signer import Signer
from core.db.engine import Database
from core.keeper.gas import FILLER_GAS
from core.keeper.intents import Intent, NewTx, Tx
from core.keeper.rules import ON_CHAIN, IntentState
from keeper.attempts import (
    STUCK_BLOCKS,
    Draft,
    IntentMove,
    Mined,
    NonceSlot,
    PendingSlot,
    Round,
    broadcast,
    first_free_nonce,
    in_parts,
    is_over,
    known,
    moves_by,
    receipts,
    safe_block,
    slots_of,
    verdicts_of,
)
from keeper.funds import STOP_GAS, STOPS_WANTED
from keeper.gas import Caps, Fees, Market, gas_of_calls, quotes
from keeper.intents import is_for_the_keeper, is_out_of_patience, order_of, with_refusal
from keeper.requests.allowance import KeptGas
from keeper.signing import ERROR_CHARACTERS, UNSIGNED, words_of
from keeper.state import URGENT, YIELDING, IntentKind
from keeper.stops import Stops
from keeper.transitions import Transitions, VoidRequestError

PATIENCE_BLOCKS: Mapping[str, int] = dict.fromkeys(URGENT, 1)
OTHERS_PATIENCE_BLOCKS = 3
SENT_A_ROUND = 25  # again, of each key: the lowest nonces
SIGNED_A_TURN = 200
REVERTS_A_DAY = 3  # that are paid for of one settlement, acceptance or anchor

Drafted = tuple[Intent, Draft]

log = structlog.get_logger("keeper")


class Sender:
    """Moves the intents of one loop. `signers`: by role. `sign`: the loop gets on.

    `allowance`: of the loop of requests. `stops`: hold nonces of the same keys.
    """

    def __init__(
        self,
        *,
        rpc: Nodes,
        database: Database,
        signers: Mapping[str, Signer],
        epoch: Callable[[], int],
        fence: Callable[[Session], None],
        caps: Caps,
        sign: Callable[[], None] = lambda: None,
        allowance: KeptGas | None = None,
        stops: Stops | None = None,
    ) -> None:
        self._rpc = rpc
        self._signers = {signer.address: signer for signer in signers.values()}
        self._addresses = {role: signer.address for role, signer in signers.items()}
        self._rows = Transitions(database, epoch, fence)
        self._caps = caps
        self._sign = sign
        self._allowance = allowance
        self._stops = stops
        self._sent: set[str] = set()  # hashes that a node took

    def advance(
        self, live: Sequence[Intent], now: datetime, *, is_stood_down: bool
    ) -> list[Intent]:
        """Take every intent but stops as far as it goes now; answers those that are not finished.

        `is_stood_down`: the factory names another keeper.

        Errors: RpcError (what was committed stays), LeadershipLostError, IntentMovedError, the
        database's.
        """
        stops = [intent for intent in live if intent.kind == IntentKind.STOP]
        live = [intent for intent in live if intent.kind != IntentKind.STOP]
        return [*stops, *(self._advanced(live, now, is_stood_down) if live else ())]

    def _advanced(self, live: Sequence[Intent], now: datetime, is_stood_down: bool) -> list[Intent]:
        known_now, live = self._settled(live, now)
        self._send_again(known_now)
        after, has_signed = self._signed(live, known_now, now, is_stood_down=is_stood_down)
        return self._settled(after, now)[1] if has_signed else after

    # What the chain decided

    def _settled(self, live: Sequence[Intent], now: datetime) -> tuple[Round, list[Intent]]:
        """Every intent as the chain has it."""
        known_now = self._look(live)
        by_id = {intent.id: intent for intent in live}
        moves = [
            move
            for verdict in known_now.verdicts
            for move in moves_by(verdict, by_id, known_now.head_number, self._sent)
        ]
        live = self._rows.committed(live, moves, now)
        self._sent &= {tx.hash for slot in known_now.pending for tx in slot.attempts}
        return known_now, self._rows.committed(live, list(self._ended(live, known_now)), now)

    def _look(self, live: Sequence[Intent]) -> Round:
        attempts = self._rows.attempts(live, self._signers)
        accounts = sorted({*self._signers, *(tx.signer for tx in attempts)})
        said = quotes(self._rpc, accounts)
        if not said.heads:
            raise RpcUnreachableError("eth_getBlockByNumber", ["no node names its newest block"])
        ids = {intent.id for intent in live}
        attempts = [
            tx for tx in attempts if tx.intent_id in ids or tx.nonce >= said.mined(tx.signer)
        ]
        told = receipts(self._rpc, [tx.hash for tx in attempts if tx.intent_id in ids])
        used = [
            tx.hash for tx in attempts if tx.intent_id in ids and tx.nonce < said.count(tx.signer)
        ]
        missing = [
            one for one in dict.fromkeys(used) if not any(by.get(one) for by in told.values())
        ]
        unknown = set(missing) - known(self._rpc, missing) if missing else set[str]()
        slots = slots_of(attempts)
        return Round(said, verdicts_of(slots, told, said, unknown, self._signers))

    def _ended(self, live: Sequence[Intent], known_now: Round) -> Iterator[IntentMove]:
        mined = {v.tx.intent_id: v for v in known_now.verdicts if isinstance(v, Mined)}
        on_chain = [i for i in live if i.state in ON_CHAIN and i.id in mined]
        if not on_chain:
            return
        safe = safe_block(self._rpc, known_now.quotes)
        for intent in on_chain:
            if is_over(intent, mined[intent.id].receipt, known_now.head_number, safe):
                yield IntentMove(intent, IntentState.DONE)

    # What is sent

    def _send_again(self, known_now: Round) -> None:
        due = list[Tx]()
        for signer in self._signers:
            slots = [v for v in known_now.verdicts if isinstance(v, PendingSlot)]
            own = [v.slot.newest for v in slots if v.slot.signer == signer and not v.is_seen]
            due += own[:SENT_A_ROUND]
        self._send(self._rows.not_void(due))

    def _send(self, due: Sequence[NewTx]) -> None:
        """To every node."""
        for part, told in broadcast(self._rpc, due):
            for node, said in told.items():
                for tx, answer in zip(part, said, strict=True):
                    if not isinstance(answer, RpcError) or is_known(str(answer)):
                        self._sent.add(tx.hash)
                    else:
                        log.info("a node refuses a transaction", node=node, intent=tx.intent_id,
                                 nonce=tx.nonce, error=str(answer)[:ERROR_CHARACTERS])  # fmt: skip

    # What is signed

    def _signed(
        self, live: Sequence[Intent], known_now: Round, now: datetime, *, is_stood_down: bool
    ) -> tuple[list[Intent], bool]:
        """Each turn is signed, committed and sent before the next one is drafted."""
        void = self._rows.void(live)
        planned = sorted((i for i in live if i.state is IntentState.PLANNED), key=order_of)
        unneeded = [i for i in planned if i.id in void or (is_stood_down and is_for_the_keeper(i))]
        after = self._rows.committed(
            live, [IntentMove(i, IntentState.SUPERSEDED) for i in unneeded], now
        )
        hopeless = self._hopeless(planned, now)
        left = {i.id for i in unneeded} | hopeless
        wanted = [i for i in planned if i.id not in left and self._has_key(i)]
        failed: set[str] = set()
        refused: dict[int, str] = {}
        has_signed = False
        for drafts in self._turns(wanted, after, known_now, void, refused):
            signed = list(self._with_bytes(drafts, known_now, failed))
            try:
                after = self._rows.committed(after, (), now, signed)
            except VoidRequestError as error:
                log.warning("a turn is drafted again in the next round", requests=error.args[0])
                break  # what follows was drafted on top of the nonces of this turn
            self._send(self._rows.not_void([tx for _, tx in signed]))
            has_signed |= bool(signed)
            self._sign()
        after = [with_refusal(intent, refused.get(intent.id)) for intent in after]
        ends = [
            IntentMove(i, end)
            for i in after
            if i.id not in hopeless and (end := is_out_of_patience(i, now)) is not None
        ]
        return self._rows.committed(after, ends, now), has_signed

    def _turns(
        self,
        planned: Sequence[Intent],
        live: Sequence[Intent],
        known_now: Round,
        void: Collection[int],
        refused: dict[int, str],
    ) -> Iterator[list[Drafted]]:
        """What is urgent, what waits too long, and the rest."""
        urgent = [intent for intent in planned if intent.kind in URGENT]
        others = [intent for intent in planned if intent.kind not in URGENT]
        if urgent:
            yield list(self._first_attempts(urgent, known_now, refused))
        yield list(self._replacements(live, known_now, void))
        for group in in_parts(others, SIGNED_A_TURN):
            yield list(self._first_attempts(group, known_now, refused))

    def _has_key(self, intent: Intent) -> bool:
        if intent.role not in self._addresses:
            log.warning("no key", intent=intent.id, kind=intent.kind, role=intent.role)
        return intent.role in self._addresses

    def _hopeless(self, planned: Sequence[Intent], now: datetime) -> set[int]:
        """What reverted so often in a day: whose word it was must not burn the keeper's ETH."""
        kinds = (IntentKind.SETTLE, IntentKind.ACCEPT, IntentKind.ANCHOR)
        doubted = [i for i in planned if i.kind in kinds]
        reverted = self._rows.reverted_today(doubted, now)
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
                _wait(intent, "the chain refuses it", signer=signer, refused=gas)
                continue
            cap = self._caps.of(intent.kind)
            offer = market.offered(cap, is_stop=False)
            if offer is None:
                base = market.base_fee_wei.middle
                _wait(intent, "the fee is above the cap", base_fee_wei=base, cap_wei=cap)
            elif self._pays(intent, signer, gas, offer.fees, market):
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

    def _pays(self, intent: Intent, signer: str, gas: int, fees: Fees, market: Market) -> bool:
        """Marks, anchors, and requests of a key that sends stops too, leave what STOPS_WANTED stops
        may cost.
        """
        left_wei, wei = market.balances_wei[signer], gas * fees.max_fee_wei
        shares = self._allowance is not None and self._allowance.sends_stops_too
        if intent.kind in YIELDING or (intent.outbox_id is not None and shares):
            kept_wei = STOPS_WANTED * STOP_GAS * market.cap_wei(self._caps.stops_wei)
            left_wei = market.sure_wei[signer] - kept_wei
        if left_wei < wei:
            balance = market.balances_wei[signer]
            _wait(intent, "the key is short of ETH", signer=signer, balance_wei=balance)
            return False
        if self._allowance is not None and not self._allowance.allows(intent, wei):
            _wait(intent, "more gas than is kept for it", most_wei=wei)
            return False
        market.pay(signer, wei)
        return True

    def _replacements(
        self, live: Sequence[Intent], known_now: Round, void: Collection[int]
    ) -> Iterator[Drafted]:
        """The same again for more, or a transfer of nothing."""
        by_id = {intent.id: intent for intent in live}
        overdue = [
            (by_id[slot.newest.intent_id], slot)
            for slot in self._overdue(known_now, by_id)
            if slot.newest.intent_id in by_id
        ]
        needed = {i.id: (slot.signer, i.to, i.data) for i, slot in overdue if i.id not in void}
        gas_or_why = gas_of_calls(self._rpc, needed)
        for intent, slot in overdue:
            cap = self._cap_of(intent, slot)
            offer = known_now.market.raised(slot.fees, cap, is_stop=False)
            if offer is None:
                _wait(intent, "its fee is at the cap", nonce=slot.nonce,
                      max_fee_wei=slot.fees.max_fee_wei)  # fmt: skip
                continue
            gas = gas_or_why.get(intent.id)
            filler = Draft(intent, *slot.place, offer.fees, FILLER_GAS, is_filler=True)
            if not isinstance(gas, int):
                yield intent, filler
            elif self._pays(intent, slot.signer, gas, offer.fees, known_now.market):
                yield intent, Draft(intent, *slot.place, offer.fees, gas)
            elif intent.outbox_id is not None and self._holds_up(slot, known_now):
                yield intent, filler

    def _overdue(self, known_now: Round, live: Mapping[int, Intent]) -> Iterator[NonceSlot]:
        """What has waited too long at the lowest nonce, or pays less than the base fee."""
        base = known_now.market.base_fee_wei.middle
        for verdict in known_now.verdicts:
            slot, intent = verdict.slot, live.get(verdict.slot.newest.intent_id)
            is_ours = intent is not None and slot.signer in self._signers
            if not isinstance(verdict, PendingSlot) or verdict.is_seen or not is_ours:
                continue
            waited = known_now.waited(slot)
            is_lowest = slot is known_now.lowest(slot.signer) and slot.nonce <= (
                known_now.quotes.count(slot.signer)
            )
            if (is_lowest and waited >= self._patience(intent, slot)) or (
                waited > 0 and slot.newest.max_fee_wei < base
            ):
                yield slot

    def _patience(self, intent: Intent | None, slot: NonceSlot) -> int:
        kind = IntentKind.STOP if intent is None or self._has_stop_above(slot) else intent.kind
        return PATIENCE_BLOCKS.get(kind, OTHERS_PATIENCE_BLOCKS)

    def _cap_of(self, intent: Intent, slot: NonceSlot) -> int:
        return self._caps.of(IntentKind.STOP if self._has_stop_above(slot) else intent.kind)

    def _has_stop_above(self, slot: NonceSlot) -> bool:
        """A stop by the same key waits for this one."""
        return any(nonce > slot.nonce for nonce in self._reserved(slot.signer))

    def _holds_up(self, slot: NonceSlot, known_now: Round) -> bool:
        """It has waited at the lowest nonce, more pends above it, and its key pays for a filler."""
        return (
            known_now.waited(slot) >= STUCK_BLOCKS
            and slot is known_now.lowest(slot.signer)
            and (len(known_now.pending_of(slot.signer)) > 1 or self._has_stop_above(slot))
            and known_now.market.balances_wei[slot.signer] >= FILLER_GAS * slot.fees.max_fee_wei
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


def _wait(intent: Intent, why: str, **more: Any) -> None:
    log.warning("intent waits", intent=intent.id, kind=intent.kind, vault=intent.vault,
                state=intent.state, why=why, **more)  # fmt: skip
