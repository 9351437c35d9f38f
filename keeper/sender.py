"""The only module that sends transactions. One transition a call; restart = resend the stored bytes.

Laws
- Worth is read again just before signing: a mark never says what was true a tick ago.
- `already known`, `nonce too low` and the like are no verdicts: what a node refuses is looked for by its hash.
- There is no stored nonce counter: the next nonce is the account's count plus what live rows hold.
- A transaction counts as lost only after the count is past its nonce, and neither its receipt nor itself is found, all
  of it answered without an error.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import structlog
from eth_utils.crypto import keccak
from sqlalchemy.orm import Session

from core.chain.abi import hex_text
from core.chain.reader import ChainReader, refusal_name
from core.chain.rpc import RpcError, RpcRefusedError, RpcRevertedError
from core.chain.signer import Signer
from core.db.engine import Database, WriteSession
from core.db.repositories import keeper as rows
from core.db.repositories.keeper import Intent, NewTx, Tx
from core.domain.blocks import Receipt
from core.domain.money import UnixSeconds
from keeper.intents import NEXT, State, restated
from keeper.observe import Observer
from keeper.state import Head, Kind, VaultStatus

GAS_MARGIN_PERCENT = 125  # of the estimate: a price may move what a venue's valuation costs
FALLBACK_GAS = 400_000  # when the call passes and the estimate does not
SUCCESS = 1

log = structlog.get_logger("keeper")


class IntentMovedError(RuntimeError):
    """The intent's row is not in the state that this process read: two leaders, or a hand in the table."""


@dataclass(frozen=True, slots=True)
class Fees:
    """EIP-1559, wei a unit of gas."""

    max_fee_wei: int
    max_priority_fee_wei: int


def fees_for(base_fee_wei: int, priority_fee_wei: int, cap_wei: int) -> Fees | None:
    """base * 2 + priority, at most the cap; None when even the base fee is above the cap."""
    if base_fee_wei > cap_wei:
        return None
    max_fee_wei = min(base_fee_wei * 2 + priority_fee_wei, cap_wei)
    return Fees(max_fee_wei, min(priority_fee_wei, max_fee_wei))


def first_free_nonce(count: int, held: set[int]) -> int:
    """The lowest nonce from the account's count on that no live transaction holds."""
    nonce = count
    while nonce in held:
        nonce += 1
    return nonce


class Sender:
    """Moves intents of one signer. Its writes carry the leader's epoch and are fenced by it."""

    def __init__(
        self,
        *,
        reader: ChainReader,
        observer: Observer,
        database: Database,
        signer: Signer,
        epoch: Callable[[], int],
        fence: Callable[[Session], None],
        max_head_age_s: int,
        max_fee_wei: int,
    ) -> None:
        self._reader = reader
        self._observer = observer
        self._database = database
        self._signer = signer
        self._epoch = epoch
        self._fence = fence
        self._max_head_age_s = max_head_age_s
        self._cap_wei = max_fee_wei

    @property
    def address(self) -> str:
        return self._signer.address

    def step(self, intent: Intent, now: datetime) -> Intent:
        """One transition, committed; the same intent when it has to wait.

        Errors: RpcError and NoHeadError (nothing was changed), LeadershipLostError, IntentMovedError.
        """
        match State(intent.state):
            case State.PLANNED:
                return self._sign(intent, now)
            case State.SIGNED:
                return self._broadcast(intent, self._tx(intent), now)
            case State.BROADCAST:
                return self._find(intent, self._tx(intent), now)
            case State.MINED:
                return self._confirm(intent, self._tx(intent), now)
            case _:
                return intent

    # planned -> signed, superseded

    def _sign(self, intent: Intent, now: datetime) -> Intent:
        head = self._observer.head()
        if head.age_s(UnixSeconds(int(now.timestamp()))) > self._max_head_age_s:
            return self._wait(intent, "the head is stale", head_at=head.at)
        fresh = restated(intent, self._observer.numbers([intent.vault], head)[intent.vault], head)
        if fresh is None:
            return self._move(intent, State.SUPERSEDED, now)
        try:
            self._reader.call(fresh.to, hex_text(fresh.data), head.hash, self.address)
        except RpcRevertedError as error:
            return self._wait(intent, "the vault refuses it", refused=refusal_name(error.revert_data), keeper=self.address)
        tx = self._signed(fresh, head)
        if tx is None:
            return self._wait(intent, "the base fee is above the cap", base_fee_wei=head.base_fee_wei, cap_wei=self._cap_wei)
        return self._move(fresh, State.SIGNED, now, lambda session: rows.add_tx(session, tx, now))

    def _signed(self, intent: Intent, head: Head) -> NewTx | None:
        """None when the base fee is above the cap."""
        fees = fees_for(head.base_fee_wei, self._reader.priority_fee_wei(), self._cap_wei)
        if fees is None:
            return None
        nonce = self._next_nonce()
        raw = self._signer.sign_transaction(
            {
                "type": 2,
                "chainId": intent.chain_id,
                "nonce": nonce,
                "to": intent.to,
                "data": hex_text(intent.data),
                "value": 0,
                "gas": self._gas(intent),
                "maxFeePerGas": fees.max_fee_wei,
                "maxPriorityFeePerGas": fees.max_priority_fee_wei,
            }
        )
        return NewTx(
            intent_id=intent.id,
            signer=self.address,
            nonce=nonce,
            raw=raw,
            hash=hex_text(keccak(raw)),
            max_fee_wei=fees.max_fee_wei,
        )

    def _gas(self, intent: Intent) -> int:
        try:
            estimate = self._reader.estimate_gas(self.address, intent.to, hex_text(intent.data))
        except RpcRefusedError as error:
            log.warning("gas not estimated", intent=intent.id, error=str(error), gas=FALLBACK_GAS)
            return FALLBACK_GAS
        return estimate * GAS_MARGIN_PERCENT // 100

    def _next_nonce(self) -> int:
        count = self._reader.transaction_count(self.address)
        with self._database.read() as session:
            return first_free_nonce(count, rows.held_nonces(session, self.address, count))

    # signed -> broadcast

    def _broadcast(self, intent: Intent, tx: Tx, now: datetime) -> Intent:
        refusal = self._send(tx)
        if refusal is not None and not self._is_known(tx) and self._reader.transaction_count(tx.signer) <= tx.nonce:
            return self._wait(intent, "the node does not take it", error=str(refusal))
        return self._move(intent, State.BROADCAST, now, lambda session: rows.move_tx(session, tx.id, "broadcast", now))

    def _send(self, tx: Tx) -> RpcError | None:
        """Send the stored bytes; what the node says against it is a cue, not a verdict."""
        try:
            self._reader.rpc.call("eth_sendRawTransaction", [hex_text(tx.raw)])
        except RpcError as error:
            return error
        return None

    def _is_known(self, tx: Tx) -> bool:
        return self._reader.transaction(tx.hash) is not None

    # broadcast -> mined, reverted, nonce_lost

    def _find(self, intent: Intent, tx: Tx, now: datetime) -> Intent:
        count = self._reader.transaction_count(tx.signer)  # before the receipt: mined in between is then not taken for lost
        receipt = self._reader.receipt(tx.hash)
        if receipt is not None:
            return self._mined(intent, tx, receipt, now)
        if count > tx.nonce and not self._is_known(tx):
            return self._move(intent, State.NONCE_LOST, now, lambda session: rows.move_tx(session, tx.id, "lost", now))
        self._send(tx)  # a node that restarted forgot it; for the others it is known already
        return intent

    def _mined(self, intent: Intent, tx: Tx, receipt: Receipt, now: datetime) -> Intent:
        state = State.MINED if receipt.status == SUCCESS else State.REVERTED
        return self._move(
            intent, state, now, lambda session: rows.move_tx(session, tx.id, "mined", now, receipt.block_hash), gas_used=receipt.gas_used
        )

    # mined -> done, reverted, broadcast

    def _confirm(self, intent: Intent, tx: Tx, now: datetime) -> Intent:
        receipt = self._reader.receipt(tx.hash)
        if receipt is None:
            return self._move(intent, State.BROADCAST, now, lambda session: rows.move_tx(session, tx.id, "broadcast", now))
        if receipt.status != SUCCESS:  # its block was orphaned, and in the new one it failed
            return self._mined(intent, tx, receipt, now)
        state = self._end_of(intent, receipt)
        if state is None:
            return intent
        return self._move(intent, state, now, lambda session: rows.move_tx(session, tx.id, "mined", now, receipt.block_hash))

    def _end_of(self, intent: Intent, receipt: Receipt) -> State | None:
        """DONE when the record has the stop or a later block shows it; a mark needs only the later block. None: not yet."""
        if intent.kind == Kind.STOP and self._is_recorded(intent):
            return State.DONE
        head = self._observer.head()
        if head.number <= receipt.block_number:
            return None
        if intent.kind == Kind.MARK:
            return State.DONE
        status = self._observer.numbers([intent.vault], head)[intent.vault].status
        if status is None:
            return None
        return State.REVERTED if status is VaultStatus.WORKING else State.DONE

    def _is_recorded(self, intent: Intent) -> bool:
        with self._database.read() as session:
            return rows.is_recorded_as_ended(session, intent.vault)

    # Rows

    def _tx(self, intent: Intent) -> Tx:
        with self._database.read() as session:
            tx = rows.tx_of_intent(session, intent.id)
        if tx is None:
            raise IntentMovedError(f"intent {intent.id} is {intent.state} and has no signed bytes")
        return tx

    def _move(self, intent: Intent, state: State, now: datetime, also: Callable[[WriteSession], None] | None = None, **told: Any) -> Intent:
        """The new state and what belongs to it, in one fenced transaction."""
        assert state in NEXT[State(intent.state)], (intent.state, state)
        with self._database.write() as session:
            self._fence(session)
            if not rows.move_intent(session, intent, state, self._epoch(), now):
                raise IntentMovedError(f"intent {intent.id} is no longer {intent.state}")
            if also is not None:
                also(session)
        log.info("intent moved", intent=intent.id, kind=intent.kind, vault=intent.vault, was=intent.state, state=state.value, **told)
        return replace(intent, state=state.value)

    def _wait(self, intent: Intent, why: str, **told: Any) -> Intent:
        log.warning("intent waits", intent=intent.id, kind=intent.kind, vault=intent.vault, state=intent.state, why=why, **told)
        return intent
