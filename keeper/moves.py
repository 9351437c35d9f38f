"""What the chain's verdicts mean for intents and their attempts. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from core.chain.blocks import TransactionReceipt
from core.keeper.intents import Intent, Tx
from core.keeper.rules import ON_CHAIN, PENDING, IntentState, TxState
from core.keeper.views import SHORT
from core.mandate.rules.lifecycle import CLOSED, VaultStatus
from keeper.attempts import Lost, Mined, NonceSlot, PendingSlot, Verdict
from keeper.state import STOPS, YIELDING, IntentKind

SUCCESS = 1
# a ledger that lacks facts can't say it: the vault's own word is enough
RECORDED_AS_ENDED = (*CLOSED, SHORT)
# what a vault must be once the transaction is on chain
EFFECT: Mapping[str, frozenset[VaultStatus]] = {
    **dict.fromkeys(STOPS, frozenset({VaultStatus.STOPPED, VaultStatus.SETTLED})),
    IntentKind.SETTLE: frozenset({VaultStatus.SETTLED}),
}


@dataclass(frozen=True, slots=True)
class IntentMove:
    """An intent's next state, and what becomes of its attempts: (attempt, state, receipt)."""

    intent: Intent
    state: IntentState
    attempts: tuple[tuple[Tx, TxState, TransactionReceipt | None], ...] = ()


def moves_by(
    verdict: Verdict, live: Mapping[int, Intent], head_number: int
) -> Iterator[IntentMove]:
    """What a verdict on a nonce means for each of these intents that has an attempt there."""
    for intent_id in dict.fromkeys(
        tx.intent_id for tx in verdict.slot.attempts if tx.intent_id in live
    ):
        move = _move_by(verdict, live[intent_id], head_number)
        if move is not None:
            yield move


def _move_by(verdict: Verdict, intent: Intent, head_number: int) -> IntentMove | None:
    own = tuple(tx for tx in verdict.slot.attempts if tx.intent_id == intent.id)
    match verdict:
        case Lost():
            return IntentMove(
                intent, IntentState.NONCE_LOST, tuple((tx, TxState.LOST, None) for tx in own)
            )
        case PendingSlot():
            return _pending_move(verdict, intent, own, head_number)
    if verdict.tx.intent_id != intent.id or verdict.tx.is_filler:
        ends = (
            (TxState.MINED, verdict.receipt) if tx is verdict.tx else (TxState.LOST, None)
            for tx in own
        )
        return IntentMove(
            intent,
            IntentState.SUPERSEDED,
            tuple((tx, *end) for tx, end in zip(own, ends, strict=True)),
        )
    return _mined_move(verdict, intent, own)


def _pending_move(
    verdict: PendingSlot, intent: Intent, own: Sequence[Tx], head_number: int
) -> IntentMove | None:
    """Known to the node: broadcast.

    A block that held it and is gone: broadcast again, and patience begins again, as it does where
    the height at which it was offered was never reached.
    """
    newest = own[-1]
    if intent.state in ON_CHAIN and verdict.is_seen:
        return None  # one node's word takes nothing back
    if intent.state in ON_CHAIN:
        again = (replace(newest, offered_block=head_number), TxState.BROADCAST, None)
        return IntentMove(intent, IntentState.BROADCAST, (again, *_orphaned(own, newest)))
    unreached = [
        replace(tx, offered_block=head_number) for tx in own if tx.offered_block > head_number
    ]
    offered = {tx.id: (tx, tx.state, None) for tx in unreached}
    if (
        newest.id == verdict.slot.newest.id
        and newest.state is TxState.SIGNED
        and not verdict.unknown
    ):
        offered[newest.id] = (offered.get(newest.id, (newest,))[0], TxState.BROADCAST, None)
        return IntentMove(intent, IntentState.BROADCAST, tuple(offered.values()))
    return IntentMove(intent, intent.state, tuple(offered.values())) if offered else None


def _orphaned(
    own: Sequence[Tx], but: Tx
) -> tuple[tuple[Tx, TxState, TransactionReceipt | None], ...]:
    """Other attempts of this nonce that were mined in a block that is gone: one of a nonce is
    mined, and its row says so.
    """
    return tuple(
        (tx, TxState.BROADCAST, None) for tx in own if tx.state is TxState.MINED and tx.id != but.id
    )


def _mined_move(verdict: Mined, intent: Intent, own: Sequence[Tx]) -> IntentMove | None:
    receipt, tx = verdict.receipt, verdict.tx
    if receipt.status != SUCCESS:
        return IntentMove(intent, IntentState.REVERTED, ((tx, TxState.MINED, receipt),))
    if intent.state in PENDING:
        return IntentMove(intent, IntentState.MINED, ((tx, TxState.MINED, receipt),))
    if tx.mined_block_hash == receipt.block_hash:
        return None
    # It stands in another block now: what was safe is to be looked at from the start.
    state = IntentState.BROADCAST if intent.state is IntentState.SAFE else IntentState.MINED
    return IntentMove(intent, state, ((tx, TxState.MINED, receipt), *_orphaned(own, tx)))


def confirmed(
    intent: Intent, status: VaultStatus | None, recorded: str | None
) -> IntentState | None:
    """The next state of an intent that is on chain below the head; None when the vault or the
    record has to say more.
    """
    wanted = EFFECT.get(intent.kind)
    if intent.kind in YIELDING:
        return IntentState.DONE
    if wanted is not None and status is not None and status not in wanted:
        return IntentState.REVERTED
    if intent.state is IntentState.MINED:
        return IntentState.SAFE
    is_done = wanted is None or (status is not None and recorded in RECORDED_AS_ENDED)
    return IntentState.DONE if is_done else None


def given_up(slots: Sequence[NonceSlot], live: Iterable[Intent]) -> Iterator[IntentMove]:
    """The newest intent of each; one that it had replaced is looked at by itself."""
    by_id = {intent.id: intent for intent in live}
    for slot in slots:
        intent = by_id[slot.newest.intent_id]
        yield IntentMove(
            intent,
            IntentState.SUPERSEDED,
            tuple((tx, TxState.LOST, None) for tx in slot.attempts if tx.intent_id == intent.id),
        )
