"""What is signed next: which intent, at which nonce, for which fee.

Laws
- Worth is read again just before signing: a mark never says what was true a tick ago.
- There is no stored nonce counter: the next nonce is the account's count plus what pending attempts hold.
- A stop takes the nonce of a pending mark of the same key, or goes by a key of its own; it never queues behind one.
- What waits too long is offered again, dearer. What nobody needs any more is replaced by a transfer of nothing, so that its
  nonce holds nothing up.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from core.chain.abi import hex_text
from core.chain.reader import ChainReader, refusal_name
from core.chain.rpc import RpcError, RpcRefusedError, RpcRevertedError
from core.db.repositories.keeper import Intent
from keeper.attempts import Fees, Slot, bumped, fees_for, first_free_nonce
from keeper.intents import State, by_own_key, is_for_anyone, order_of, restated
from keeper.observe import Observer
from keeper.sight import CALLS_A_BATCH, Sight
from keeper.state import Kind, Role

GAS_MARGIN_PERCENT = 125  # of the estimate: a price may move what a venue's valuation costs
FALLBACK_GAS = 400_000  # when the call passes and the estimate does not
FILLER_GAS = 21_000
URGENT = (Kind.FILL, Kind.STOP)  # a stop may stand behind what fills a gap
PATIENCE_BLOCKS: Mapping[str, int] = dict.fromkeys(URGENT, 1)  # what is not in the next block is offered again at once
OTHERS_PATIENCE_BLOCKS = 3

log = structlog.get_logger("keeper")


@dataclass(frozen=True, slots=True)
class Draft:
    """A transaction that may be signed now. `slot`: the pending nonce that it replaces, None for a nonce of its own."""

    intent: Intent
    signer: str
    nonce: int
    fees: Fees
    gas: int
    is_filler: bool = False

    def transaction(self) -> dict[str, Any]:
        """As Signer.sign_transaction takes it."""
        return {
            "type": 2,
            "chainId": self.intent.chain_id,
            "nonce": self.nonce,
            "to": self.signer if self.is_filler else self.intent.to,
            "data": "0x" if self.is_filler else hex_text(self.intent.data),
            "value": 0,
            "gas": self.gas,
            "maxFeePerGas": self.fees.max_fee_wei,
            "maxPriorityFeePerGas": self.fees.max_priority_fee_wei,
        }


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that a unit of gas may cost, wei. A stop is worth more than a mark."""

    others_wei: int
    stops_wei: int

    def of(self, kind: str) -> int:
        return self.stops_wei if kind in URGENT else self.others_wei


@dataclass(frozen=True, slots=True)
class _Market:
    """The node's suggestion, and what each signer has. The balances go down as drafts are made."""

    priority_fee_wei: int
    balances_wei: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Trial:
    """An intent as it would be sent by a signer, and what the node said to it: gas units, or why not."""

    intent: Intent
    signer: str
    slot: Slot | None
    gas: int | None
    refused: RpcRefusedError | None


@dataclass(slots=True)
class _Room:
    """What nonces and wei are left while drafts are made, one after the other."""

    sight: Sight
    market: _Market
    kinds: Mapping[int, str]  # of live intents, by id
    only_by_mark: frozenset[str]  # vaults whose stops do not go by `enforceStopLine`
    held: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    overtaken: set[tuple[str, int]] = field(default_factory=set)  # pending nonces that a draft of this round replaces

    def __post_init__(self) -> None:
        for slot in self.sight.pending:
            self.held[slot.signer].add(slot.nonce)

    def pending_mark(self, signer: str) -> Slot | None:
        """The lowest nonce of this signer that a mark pends at and no draft of this round replaces."""
        slots = (slot for slot in self.sight.pending_of(signer) if (signer, slot.nonce) not in self.overtaken)
        return next((slot for slot in slots if self.kinds.get(slot.newest.intent_id) == Kind.MARK), None)

    def nonce_for(self, intent: Intent, signer: str) -> int:
        """The lowest free one; a filling has its own, since bytes of ours may stand at lower ones of the same gap."""
        is_filling = intent.kind == Kind.FILL
        nonce = int(intent.reason["nonce"]) if is_filling else first_free_nonce(self.sight.counts[signer], self.held[signer])
        self.held[signer].add(nonce)
        return nonce

    def offered(self, cap_wei: int) -> Fees | None:
        return fees_for(self.sight.head.base_fee_wei, self.market.priority_fee_wei, cap_wei)

    def affords(self, signer: str, most_wei: int) -> int:
        """How many transactions of that much the signer can pay now."""
        return self.market.balances_wei[signer] // max(1, most_wei)


class Drafter:
    """Makes drafts of planned intents and of attempts that wait too long. `addresses`: whose keys this process holds."""

    def __init__(self, reader: ChainReader, observer: Observer, addresses: Mapping[str, str], caps: Caps) -> None:
        self._reader = reader
        self._observer = observer
        self._addresses = addresses
        self._caps = caps

    def drafts(self, live: Sequence[Intent], sight: Sight, only_by_mark: frozenset[str]) -> tuple[list[Draft], list[Intent]]:
        """What may be signed now, and the planned intents that nobody needs any more.

        `only_by_mark`: vaults whose stops go by the keeper's mark, never by `enforceStopLine`. Errors: RpcError, NoHeadError.
        """
        planned = sorted((i for i in live if i.state == State.PLANNED and self._has_key(i)), key=order_of)
        overdue = dict(self._overdue(live, sight))
        if not planned and not overdue:
            return [], []
        fresh = self._restated([*planned, *(i for i in live if i.id in overdue)], sight)
        needed = [intent for intent in (fresh[i.id] for i in planned) if intent is not None]
        room = _Room(sight, self._market(), {intent.id: intent.kind for intent in live}, only_by_mark)
        drafts = list(self._first_attempts([i for i in needed if i.kind in URGENT], room))
        drafts += self._replacements({i.id: i for i in live}, fresh, overdue, room)
        drafts += self._first_attempts([i for i in needed if i.kind not in URGENT], room)
        return drafts, [intent for intent in planned if fresh[intent.id] is None]

    def _has_key(self, intent: Intent) -> bool:
        if intent.role in self._addresses:
            return True
        log.warning("no key", intent=intent.id, kind=intent.kind, role=intent.role)
        return False

    # Numbers and market

    def _restated(self, intents: Sequence[Intent], sight: Sight) -> dict[int, Intent | None]:
        vaults = list(dict.fromkeys(intent.vault for intent in intents if intent.vault is not None))
        settling = {intent.vault for intent in intents if intent.kind == Kind.SETTLE and intent.vault is not None}
        numbers = self._observer.numbers(vaults, sight.head, settling)
        fresh = {i.id: restated(i, None if i.vault is None else numbers[i.vault], sight.head) for i in intents}
        return fresh | {i.id: None for i in intents if i.kind == Kind.FILL and i.state == State.PLANNED and not _is_in_gap(i, sight)}

    def _market(self) -> _Market:
        accounts = sorted(set(self._addresses.values()))
        requests = [("eth_maxPriorityFeePerGas", []), *(("eth_getBalance", [account, "latest"]) for account in accounts)]
        priority, *balances = self._reader.rpc.batch(requests)
        return _Market(int(priority, 16), {account: int(balance, 16) for account, balance in zip(accounts, balances, strict=True)})

    # Trials

    def _tried(self, intents: Sequence[tuple[Intent, str, Slot | None]], sight: Sight) -> list[_Trial]:
        """Each as an eth_call at the head's hash and as a gas estimate."""
        calls = [{"from": signer, "to": intent.to, "data": hex_text(intent.data)} for intent, signer, _ in intents]
        at = {"blockHash": sight.head.hash}
        requests = [request for call in calls for request in (("eth_call", [call, at]), ("eth_estimateGas", [call]))]
        answers = [
            a for n in range(0, len(requests), CALLS_A_BATCH) for a in self._reader.rpc.batch_settled(requests[n : n + CALLS_A_BATCH])
        ]
        pairs = zip(answers[::2], answers[1::2], strict=True)
        return [_trial(intent, signer, slot, *pair) for (intent, signer, slot), pair in zip(intents, pairs, strict=True)]

    # Planned intents

    def _first_attempts(self, intents: Sequence[Intent], room: _Room) -> Iterator[Draft]:
        for trial in self._best_trials(intents, room):
            draft = self._first_attempt(trial, room)
            if draft is not None:
                yield draft

    def _best_trials(self, intents: Sequence[Intent], room: _Room) -> list[_Trial]:
        """A stop goes by the key of its own, unless it is at cost or one of its vault reverted before; if that key is short of ETH or
        the vault refuses it from there, by the keeper's."""
        wanted = self._by_own_key(intents, room)
        trials = self._tried([(i, self._addresses[i.role], None) for i in wanted], room.sight)
        again = [n for n, trial in enumerate(trials) if trial.refused is not None and trial.intent.role != intents[n].role]
        others = self._tried([(intents[n], self._addresses[intents[n].role], None) for n in again], room.sight)
        for n, trial in zip(again, others, strict=True):
            trials[n] = trial
        return trials

    def _by_own_key(self, intents: Sequence[Intent], room: _Room) -> list[Intent]:
        own = self._addresses.get(Role.STOP)
        fees = room.offered(self._caps.stops_wei)
        if own is None or fees is None:
            return list(intents)
        left = room.affords(own, FALLBACK_GAS * fees.max_fee_wei)
        return [by_own_key(i) if is_for_anyone(i) and i.vault not in room.only_by_mark and n < left else i for n, i in enumerate(intents)]

    def _first_attempt(self, trial: _Trial, room: _Room) -> Draft | None:
        intent, signer, cap = trial.intent, trial.signer, self._caps.of(trial.intent.kind)
        if trial.gas is None:
            _wait(intent, "the chain refuses it", signer=signer, refused=_name_of(trial.refused))
            return None
        slot = room.pending_mark(signer) if intent.kind == Kind.STOP else None
        fees = room.offered(cap) if slot is None else bumped(slot.fees, room.offered(cap), cap)
        if fees is None:
            _wait(intent, "the fee is above the cap", base_fee_wei=room.sight.head.base_fee_wei, cap_wei=cap)
            return None
        if not room.affords(signer, trial.gas * fees.max_fee_wei):
            _wait(intent, "the key is short of ETH", signer=signer, balance_wei=room.market.balances_wei[signer])
            return None
        room.market.balances_wei[signer] -= trial.gas * fees.max_fee_wei
        if slot is not None:
            room.overtaken.add((signer, slot.nonce))
        return Draft(intent, signer, room.nonce_for(intent, signer) if slot is None else slot.nonce, fees, trial.gas)

    # Attempts that wait too long

    def _overdue(self, live: Sequence[Intent], sight: Sight) -> Iterator[tuple[int, Slot]]:
        """By intent: the slots whose newest attempt is of our keys and has waited too long, or pays less than the base fee."""
        kinds = {intent.id: intent.kind for intent in live}
        for slot in sight.pending:
            newest, kind = slot.newest, kinds.get(slot.newest.intent_id)
            was_orphaned = newest.state == "mined"  # it goes out again as it is first
            if kind is None or was_orphaned or slot.signer not in self._addresses.values():
                continue
            patience = PATIENCE_BLOCKS.get(kind, OTHERS_PATIENCE_BLOCKS)
            if sight.head.number >= newest.offered_block + patience or newest.max_fee_wei < sight.head.base_fee_wei:
                yield newest.intent_id, slot

    def _replacements(
        self, live: Mapping[int, Intent], fresh: Mapping[int, Intent | None], overdue: Mapping[int, Slot], room: _Room
    ) -> Iterator[Draft]:
        left = {n: slot for n, slot in overdue.items() if (slot.signer, slot.nonce) not in room.overtaken}
        needed = [(intent, slot) for n, slot in left.items() if (intent := _sent_as(live[n], fresh[n])) is not None]
        trials = {trial.intent.id: trial for trial in self._tried([(i, slot.signer, slot) for i, slot in needed], room.sight)}
        for intent_id, slot in left.items():
            draft = self._replacement(live[intent_id], trials.get(intent_id), slot, room)
            if draft is not None:
                room.overtaken.add((slot.signer, slot.nonce))
                yield draft

    def _replacement(self, intent: Intent, trial: _Trial | None, slot: Slot, room: _Room) -> Draft | None:
        """The same again for more, or a filler when nobody needs it or the chain refuses it by now."""
        cap = self._caps.of(intent.kind)
        fees = bumped(slot.fees, room.offered(cap), cap)
        if fees is None:
            _wait(intent, "its fee is at the cap", nonce=slot.nonce, max_fee_wei=slot.fees.max_fee_wei, cap_wei=cap)
            return None
        if trial is None or trial.gas is None:
            return Draft(intent, slot.signer, slot.nonce, fees, FILLER_GAS, is_filler=True)
        return Draft(trial.intent, slot.signer, slot.nonce, fees, trial.gas)


def _is_in_gap(filling: Intent, sight: Sight) -> bool:
    gap = sight.gap_of(filling.to)
    return gap is not None and gap[0] <= int(filling.reason["nonce"]) <= gap[1]


def _sent_as(intent: Intent, fresh: Intent | None) -> Intent | None:
    """The fresh numbers in the form in which the pending attempt was sent."""
    if fresh is None or intent.role == fresh.role:
        return fresh
    return by_own_key(fresh) if intent.role == Role.STOP else replace(fresh, role=intent.role)


def _trial(intent: Intent, signer: str, slot: Slot | None, called: Any, estimated: Any) -> _Trial:
    if isinstance(called, RpcRefusedError):
        return _Trial(intent, signer, slot, None, called)
    if isinstance(estimated, RpcRefusedError):
        log.warning("gas not estimated", intent=intent.id, error=str(estimated), gas=FALLBACK_GAS)
        return _Trial(intent, signer, slot, FALLBACK_GAS, None)
    return _Trial(intent, signer, slot, int(estimated, 16) * GAS_MARGIN_PERCENT // 100, None)


def _name_of(error: RpcError | None) -> str | None:
    return (refusal_name(error.revert_data) if isinstance(error, RpcRevertedError) else None) or str(error)


def _wait(intent: Intent, why: str, **told: Any) -> None:
    log.warning("intent waits", intent=intent.id, kind=intent.kind, vault=intent.vault, state=intent.state, why=why, **told)
