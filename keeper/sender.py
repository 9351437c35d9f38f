"""The only module that sends transactions: look, settle what the chain decided, sign what is due, send, look again.

    rows: live intents, attempts --> chain: one look --> rows: what became of them
        --> drafts, signed --> rows: the signed bytes --> chain: eth_sendRawTransaction --> chain: one look --> rows

Laws
- What is sent was committed before, and each commit is fenced: a leader that lost its lead writes and sends nothing more.
- `already known`, `nonce too low` and the like are no verdicts: what a node refuses is looked for by its hash.
- No nonce below what is pending stays empty: our bytes go there again, or a transfer of nothing (docs/decisions/0046).
- All of an advance is asked of one node.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog
from eth_utils.crypto import keccak
from sqlalchemy.orm import Session

from core.chain.abi import hex_text
from core.chain.reader import ChainReader
from core.chain.rpc import RpcRefusedError
from core.chain.signer import Signer
from core.db.engine import Database, WriteSession
from core.db.repositories import keeper as rows
from core.db.repositories.keeper import Intent, NewTx, Tx
from core.domain.blocks import Receipt
from core.domain.money import UnixSeconds
from keeper.attempts import Lost, Mined, Pending, Verdict
from keeper.drafts import Caps, Draft, Drafter
from keeper.intents import NEXT, ON_CHAIN, PENDING, State, filling
from keeper.observe import Observer
from keeper.sight import Sight, look
from keeper.state import Kind, VaultStatus

SUCCESS = 1
REQUEST_PATIENCE = timedelta(hours=1)  # of a request of the outbox that the chain refuses
RECORDED_AS_ENDED = ("stopped", "settled")
EFFECT: Mapping[str, frozenset[VaultStatus]] = {  # what a vault must be once the transaction is on chain
    Kind.STOP: frozenset({VaultStatus.STOPPED, VaultStatus.SETTLED}),
    Kind.SETTLE: frozenset({VaultStatus.SETTLED}),
}

log = structlog.get_logger("keeper")


class IntentMovedError(RuntimeError):
    """The intent's row is not in the state that this process read: two leaders, or a hand in the table."""


@dataclass(frozen=True, slots=True)
class _Move:
    """An intent's next state, and what becomes of its attempts: (attempt, state, receipt)."""

    intent: Intent
    state: State
    attempts: tuple[tuple[Tx, str, Receipt | None], ...] = ()


class Sender:
    """Moves every intent that is under way. `signers`: by role, the keeper's among them."""

    def __init__(
        self,
        *,
        reader: ChainReader,
        observer: Observer,
        database: Database,
        signers: Mapping[str, Signer],
        epoch: Callable[[], int],
        fence: Callable[[Session], None],
        max_head_age_s: int,
        caps: Caps,
    ) -> None:
        self._reader = reader
        self._observer = observer
        self._database = database
        self._signers = {signer.address: signer for signer in signers.values()}
        self._epoch = epoch
        self._fence = fence
        self._max_head_age_s = max_head_age_s
        self._addresses = {role: signer.address for role, signer in signers.items()}
        self._drafter = Drafter(reader, observer, self._addresses, caps)

    def advance(self, live: Sequence[Intent], now: datetime) -> list[Intent]:
        """Take every intent as far as it goes now; answers those that are not finished.

        Errors: RpcError and NoHeadError (what was committed stays), LeadershipLostError, IntentMovedError, the database's.
        """
        with self._reader.rpc.pinned():
            sight, live = self._settled(live, now)
            live = self._with_fillings(live, sight, now)
            live = self._signed(live, sight, now)
            if self._sent(live, sight, now):
                _, live = self._settled(live, now)
        return live

    # What the chain decided

    def _settled(self, live: Sequence[Intent], now: datetime) -> tuple[Sight, list[Intent]]:
        """Every intent as the chain has it. One that is settled twice goes on until nothing changes."""
        sight = look(self._reader, self._signers, self._attempts(live))
        by_id = {intent.id: intent for intent in live}
        moves = [move for verdict in sight.verdicts for move in _moves_by(verdict, by_id, sight.head.number)]
        live = self._committed(live, moves, now)
        while moves := list(self._confirmations(live, sight)):
            live = self._committed(live, moves, now)
        return sight, live

    def _confirmations(self, live: Sequence[Intent], sight: Sight) -> Iterator[_Move]:
        seen = [(i, m.receipt) for i in live if i.state in ON_CHAIN and (m := sight.mined_of(i.id)) is not None]
        later = [(intent, receipt) for intent, receipt in seen if sight.head.number > receipt.block_number]
        statuses, recorded = self._effects([intent for intent, _ in later], sight)
        for intent, receipt in later:
            state = _confirmed(intent, statuses.get(intent.vault or ""), recorded.get(intent.vault or ""))
            is_safe = sight.safe_block is not None and receipt.block_number <= sight.safe_block
            if state is not None and (state is not State.SAFE or is_safe):
                yield _Move(intent, state)

    def _effects(self, intents: Sequence[Intent], sight: Sight) -> tuple[dict[str, VaultStatus | None], dict[str, str]]:
        """The vaults' statuses at the head, and what the record says of them."""
        vaults = list(dict.fromkeys(i.vault for i in intents if i.kind in EFFECT and i.vault is not None))
        if not vaults:
            return {}, {}
        with self._database.read() as session:
            recorded = rows.recorded_statuses(session, vaults)
        return {vault: numbers.status for vault, numbers in self._observer.numbers(vaults, sight.head).items()}, recorded

    # What is signed

    def _with_fillings(self, live: Sequence[Intent], sight: Sight, now: datetime) -> list[Intent]:
        """Plan what fills the gaps that a reorg left where a transaction was that is not ours: there are no bytes to send again."""
        gaps = [(role, signer, nonce) for role, signer in self._addresses.items() for nonce in self._without_bytes(signer, sight)]
        planned = [filling(signer, role, nonce, live[0].chain_id, sight.head) for role, signer, nonce in gaps]
        if not planned:
            return list(live)
        with self._database.write() as session:
            self._fence(session)
            added = [rows.add_intent(session, filling, self._epoch(), now) for filling in planned]
        return [*live, *(intent for intent in added if intent is not None)]

    def _without_bytes(self, signer: str, sight: Sight) -> list[int]:
        gap = sight.gap_of(signer)
        if gap is None:
            return []
        held = {tx.nonce for tx in self._bytes_in_gap(signer, sight)}
        return [nonce for nonce in range(gap[0], gap[1] + 1) if nonce not in held]

    def _signed(self, live: Sequence[Intent], sight: Sight, now: datetime) -> list[Intent]:
        age_s = sight.head.age_s(UnixSeconds(int(now.timestamp())))
        if age_s > self._max_head_age_s:
            if any(intent.state == State.PLANNED for intent in live):
                log.warning("nothing is signed, the head is stale", head=sight.head.number, head_age_s=age_s)
            return list(live)
        drafts, unneeded = self._drafter.drafts(live, sight, self._only_by_mark(live))
        moves = [_Move(intent, State.SUPERSEDED) for intent in unneeded]
        drafted = {draft.intent.id for draft in drafts}
        moves += [_Move(intent, State.REFUSED) for intent in live if intent.id not in drafted and _is_refused_too_long(intent, now)]
        return self._committed(live, moves, now, [(draft, self._tx_of(draft, sight)) for draft in drafts])

    def _only_by_mark(self, live: Sequence[Intent]) -> frozenset[str]:
        """Vaults with a stop to sign whose last one reverted: whoever can make `enforceStopLine` revert can do it again."""
        vaults = {i.vault for i in live if i.kind == Kind.STOP and i.state == State.PLANNED and i.vault is not None}
        if not vaults:
            return frozenset()
        with self._database.read() as session:
            return rows.vaults_with_reverted_stop(session, vaults)

    def _tx_of(self, draft: Draft, sight: Sight) -> NewTx:
        raw = self._signers[draft.signer].sign_transaction(draft.transaction())
        return NewTx(
            intent_id=draft.intent.id,
            signer=draft.signer,
            nonce=draft.nonce,
            raw=raw,
            hash=hex_text(keccak(raw)),
            max_fee_wei=draft.fees.max_fee_wei,
            max_priority_fee_wei=draft.fees.max_priority_fee_wei,
            offered_block=sight.head.number,
            is_filler=draft.is_filler,
        )

    # What is sent

    def _sent(self, live: Sequence[Intent], sight: Sight, now: datetime) -> bool:
        """Send what the node does not have; True when it took anything that it did not have."""
        due = [*self._to_send(live, sight), *self._to_fill(sight)]
        if not due:
            return False
        answers = self._reader.rpc.batch_settled([("eth_sendRawTransaction", [hex_text(tx.raw)]) for tx in due])
        taken = [tx for tx, answer in zip(due, answers, strict=True) if not isinstance(answer, RpcRefusedError)]
        for tx, answer in zip(due, answers, strict=True):
            if isinstance(answer, RpcRefusedError):
                log.warning("the node does not take it", intent=tx.intent_id, nonce=tx.nonce, signer=tx.signer, error=str(answer))
        return bool(taken)

    def _to_send(self, live: Sequence[Intent], sight: Sight) -> Iterator[Tx]:
        """The newest attempt of each pending nonce, unless the node has it: one that restarted forgot it."""
        known = {v.slot.newest.id for v in sight.verdicts if isinstance(v, Pending) and not v.unknown}
        settled = {v.slot.newest.id for v in sight.verdicts if not isinstance(v, Pending)}
        newest: dict[tuple[str, int], Tx] = {(tx.signer, tx.nonce): tx for tx in self._attempts(live)}
        yield from (tx for tx in newest.values() if tx.id not in known | settled)

    def _to_fill(self, sight: Sight) -> Iterator[Tx]:
        """Bytes of ours that a reorg took out of the chain below what is pending: they are sent again, or it is stuck."""
        for signer in self._signers:
            yield from self._bytes_in_gap(signer, sight)

    def _bytes_in_gap(self, signer: str, sight: Sight) -> list[Tx]:
        gap = sight.gap_of(signer)
        if gap is None:
            return []
        with self._database.read() as session:
            return rows.bytes_at(session, signer, *gap)

    # Rows

    def _attempts(self, live: Iterable[Intent]) -> list[Tx]:
        with self._database.read() as session:
            return rows.attempts_of(session, [intent.id for intent in live])

    def _committed(
        self, live: Sequence[Intent], moves: Sequence[_Move], now: datetime, signed: Sequence[tuple[Draft, NewTx]] = ()
    ) -> list[Intent]:
        """Write the moves and the signed bytes in one fenced transaction. Answers the intents that are not finished."""
        after = {intent.id: intent for intent in live}
        if moves or signed:
            with self._database.write() as session:
                self._fence(session)
                for move in moves:
                    after[move.intent.id] = self._move(session, move, now)
                for draft, tx in signed:
                    after[draft.intent.id] = self._keep(session, draft, tx, now)
        for move in moves:
            _tell(move)
        return [intent for intent in after.values() if NEXT[State(intent.state)]]

    def _move(self, session: WriteSession, move: _Move, now: datetime) -> Intent:
        if move.state != move.intent.state:
            assert move.state in NEXT[State(move.intent.state)], (move.intent.state, move.state)
            self._change(session, replace(move.intent, state=move.state.value), move.intent.state, now)
        for tx, state, receipt in move.attempts:
            rows.move_tx(session, tx, state, now, None if receipt is None else (receipt.block_number, receipt.block_hash))
        return replace(move.intent, state=move.state.value)

    def _keep(self, session: WriteSession, draft: Draft, tx: NewTx, now: datetime) -> Intent:
        """The signed bytes. A filler says nothing new of its intent; a replacement changes its words, not its state."""
        was = draft.intent.state
        intent = replace(draft.intent, state=State.SIGNED.value) if was == State.PLANNED else draft.intent
        self._change(session, intent, was, now)
        rows.add_tx(session, tx, now)
        return intent

    def _change(self, session: WriteSession, intent: Intent, was: str, now: datetime) -> None:
        if not rows.move_intent(session, intent, was, self._epoch(), now):
            raise IntentMovedError(f"intent {intent.id} is no longer {was}")


def _moves_by(verdict: Verdict, live: Mapping[int, Intent], head_number: int) -> Iterator[_Move]:
    """What a verdict on a nonce means for every intent that has an attempt there."""
    for intent_id in dict.fromkeys(tx.intent_id for tx in verdict.slot.attempts):
        move = _move_by(verdict, live[intent_id], head_number)
        if move is not None:
            yield move


def _move_by(verdict: Verdict, intent: Intent, head_number: int) -> _Move | None:
    own = tuple(tx for tx in verdict.slot.attempts if tx.intent_id == intent.id)
    match verdict:
        case Lost():
            return _Move(intent, State.NONCE_LOST, tuple((tx, "lost", None) for tx in own))
        case Pending():
            return _pending_move(verdict, intent, own, head_number)
    if verdict.tx.intent_id != intent.id or verdict.tx.is_filler:
        return _Move(intent, State.SUPERSEDED, tuple((tx, "mined" if tx is verdict.tx else "lost", None) for tx in own))
    return _mined_move(verdict, intent, own)


def _pending_move(verdict: Pending, intent: Intent, own: Sequence[Tx], head_number: int) -> _Move | None:
    """Known to the node: broadcast. A block that held it and is gone: broadcast again, and patience begins anew."""
    newest = own[-1]
    if intent.state in ON_CHAIN:
        again = (replace(newest, offered_block=head_number), "broadcast", None)
        return _Move(intent, State.BROADCAST, (again, *_orphaned(own, newest)))
    if newest.id == verdict.slot.newest.id and newest.state == "signed" and not verdict.unknown:
        return _Move(intent, State.BROADCAST, ((newest, "broadcast", None),))
    return None


def _orphaned(own: Sequence[Tx], but: Tx) -> tuple[tuple[Tx, str, Receipt | None], ...]:
    """Other attempts of this nonce that were mined in a block that is gone: one of a nonce is mined, and its row says so."""
    return tuple((tx, "broadcast", None) for tx in own if tx.state == "mined" and tx.id != but.id)


def _mined_move(verdict: Mined, intent: Intent, own: Sequence[Tx]) -> _Move | None:
    receipt, tx = verdict.receipt, verdict.tx
    if receipt.status != SUCCESS:
        return _Move(intent, State.REVERTED, ((tx, "mined", receipt),))
    if intent.state in PENDING:
        return _Move(intent, State.MINED, ((tx, "mined", receipt),))
    if tx.mined_block_hash == receipt.block_hash:
        return None
    # It stands in another block now: what was safe is to be looked at from the start.
    state = State.BROADCAST if intent.state == State.SAFE else State.MINED
    return _Move(intent, state, ((tx, "mined", receipt), *_orphaned(own, tx)))


def _confirmed(intent: Intent, status: VaultStatus | None, recorded: str | None) -> State | None:
    """The next state of an intent that is on chain below the head; None when the vault or the record has to say more."""
    wanted = EFFECT.get(intent.kind)
    if intent.kind == Kind.MARK:
        return State.DONE
    if wanted is not None and status is not None and status not in wanted:
        return State.REVERTED
    if intent.state == State.MINED:
        return State.SAFE
    is_done = wanted is None or (status is not None and recorded in RECORDED_AS_ENDED)
    return State.DONE if is_done else None


def _is_refused_too_long(intent: Intent, now: datetime) -> bool:
    return intent.outbox_id is not None and intent.state == State.PLANNED and now - intent.created_at >= REQUEST_PATIENCE


def _tell(move: _Move) -> None:
    if move.state == move.intent.state:
        return
    intent = move.intent
    gas_used = next((receipt.gas_used for _, _, receipt in move.attempts if receipt is not None), None)
    told = {"intent": intent.id, "kind": intent.kind, "vault": intent.vault, "was": intent.state, "state": move.state.value}
    log.info("intent moved", **told, gas_used=gas_used)
