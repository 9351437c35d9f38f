"""What is signed next: which intent, at which nonce, for which fee.

Laws
- Worth is read again just before signing: a mark never says what was true a tick ago.
- A stop has more than one way: `enforceStopLine` by the key of its own, `mark` and
  `enforceStopLine` by the keeper's. Whatever bars one (the vault, ETH, the fee, a nonce that is
  stuck, a signer that is down), the next is tried at once.
- Stops come first, and in small turns: each is signed, committed and sent before the next is
  drafted.
- What waits too long at the lowest nonce is offered again, dearer, and so is what pays less than
  the base fee. What nobody needs any more is replaced by a transfer of nothing, so that its nonce
  holds nothing up; so is a request whose next offer is not paid for, once it holds others up. No
  budget of gas bars that transfer (docs/decisions/0019). Where the key is too dry for that and the
  node has no such bytes, it is given up, and its nonce is free.
- The vault measures either way, but above the floor a `mark` passes and fills the record, and
  `enforceStopLine` reverts: a stop that too few nodes agree to goes by the latter alone, and seldom
  on the word of a node whose last ones were without success (keeper.witness). No single node's word
  takes a pending stop back.
- A keeper that stands down sends no `mark`, whoever says that it would pass: a stop goes by
  `enforceStopLine`, and what only the named keeper may send is no longer needed.
- One intent's trouble is its own: it is logged, and the others go on.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import structlog

from core.hexes import hex_of
from core.keeper.gas import FILLER_GAS
from core.keeper.intents import Intent
from core.keeper.rules import IntentState
from core.mandate.chain.reader import VaultReader
from keeper.attempts import NonceSlot
from keeper.gas import Caps, Fees, Market, market
from keeper.headroom import Allowance, Headroom
from keeper.intents import as_anyone, order_of, restated, sent_as
from keeper.observe import Observer
from keeper.overdue import overdue_slots, unknown_slots
from keeper.snapshot import Snapshot
from keeper.spared import spared
from keeper.state import STOPS, URGENT, IntentKind, Role
from keeper.trials import Trial, tried
from keeper.views import Numbers
from keeper.witness import Agreement, Heard

STOPS_A_TURN = 25
OTHERS_A_TURN = 200
ABOVE_STOP_LINE = "AboveStopLine"  # what `enforceStopLine` answers of a sound vault
T = TypeVar("T")

log = structlog.get_logger("keeper")


@dataclass(frozen=True, slots=True)
class Draft:
    """A transaction that may be signed now.

    `slot`: the pending nonce that it replaces, None for a nonce of its own.
    """

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
            "data": "0x" if self.is_filler else hex_of(self.intent.data),
            "value": 0,
            "gas": self.gas,
            "maxFeePerGas": self.fees.max_fee_wei,
            "maxPriorityFeePerGas": self.fees.max_priority_fee_wei,
        }


@dataclass(frozen=True, slots=True)
class Turn:
    """Drafts to be signed, committed and sent together, and what is superseded: planned intents
    that nobody needs any more, and slots that are given up. `refused`: why the chain refuses planned
    ones, by intent.
    """

    drafts: Sequence[Draft]
    unneeded: Sequence[Intent] = ()
    given_up: Sequence[NonceSlot] = ()
    refused: Mapping[int, str] = field(default_factory=dict)


class Drafter:
    """Makes drafts of planned intents and of attempts that wait too long.

    `addresses`: whose keys this process holds.
    """

    def __init__(
        self,
        reader: VaultReader,
        observer: Observer,
        addresses: Mapping[str, str],
        caps: Caps,
        allowance: Allowance | None = None,
    ) -> None:
        self._reader = reader
        self._observer = observer
        self._addresses = addresses
        self._caps = caps
        self._allowance = allowance
        self._agreement = Agreement(observer.witnesses)

    def turns(
        self,
        live: Sequence[Intent],
        snapshot: Snapshot,
        reverted: Mapping[str, int],
        avoided: Collection[str],
        *,
        urgent_alone: bool,
        is_stood_down: bool,
        void: Collection[int] = (),
    ) -> Iterator[Turn]:
        """What may be signed now, stops first; take a turn only when the one before was sent.

        `reverted`: how many stops of a vault did; its next one goes by the keeper's mark as long as
        that can be. `avoided`: signers that are asked last. `is_stood_down`: the factory names
        another keeper. `void`: intents of requests that may be done no more: those that are planned
        are dropped, and the nonces of those that were signed are filled.
        Errors: RpcError, NoHeadError.
        """
        planned = sorted(
            (i for i in live if i.state is IntentState.PLANNED and self._has_key(i)), key=order_of
        )
        urgent = [i for i in planned if i.kind in URGENT]
        own = self._addresses.values()
        overdue = {} if urgent_alone else dict(overdue_slots(live, snapshot, own))
        unknown = {} if urgent_alone else dict(unknown_slots(live, snapshot, own))
        if not urgent and (urgent_alone or not (planned or overdue or unknown)):
            return
        room = Headroom(
            snapshot,
            self._market(snapshot),
            {i.id: i for i in live},
            reverted,
            frozenset(avoided),
            is_stood_down,
            frozenset(void),
            self._allowance,
        )
        room.out_of_reach = {n: slot for n, slot in unknown.items() if not room.can_fill(slot)}
        overdue |= room.out_of_reach
        for group in _groups(urgent, STOPS_A_TURN):
            yield self._turn(group, room)
        for waiting in _groups(
            sorted(overdue, key=lambda n: room.live[n].kind not in URGENT), STOPS_A_TURN
        ):
            fresh = self.restated([room.live[n] for n in waiting], snapshot) | dict.fromkeys(
                room.void.intersection(waiting)
            )
            room.given_up = []
            drafts = list(self._replacements(fresh, {n: overdue[n] for n in waiting}, room))
            yield Turn(drafts, given_up=room.given_up)
        if not urgent_alone:
            for group in _groups([i for i in planned if i.kind not in URGENT], OTHERS_A_TURN):
                yield self._turn(group, room)

    def _turn(self, group: Sequence[Intent], room: Headroom) -> Turn:
        restated = self.restated(group, room.snapshot)
        fresh = {
            i.id: intent
            for i in group
            if (intent := restated[i.id]) is not None and not room.is_unneeded(intent)
        }
        room.heard = self._heard([intent for intent in fresh.values() if intent.kind in STOPS])
        return Turn(
            list(self._first_attempts(list(fresh.values()), room)),
            [intent for intent in group if intent.id not in fresh],
            refused=room.refused,
        )

    def _heard(self, stops: Sequence[Intent]) -> Heard:
        vaults = dict.fromkeys(stop.vault for stop in stops if stop.vault is not None)
        floors = {
            vault: floor
            for vault in vaults
            if (floor := self._observer.floors.of(vault)) is not None
        }
        return self._agreement.hear(floors, self._reader.rpc.pinned_name)

    def _has_key(self, intent: Intent) -> bool:
        if intent.role in self._addresses:
            return True
        log.warning("no key", intent=intent.id, kind=intent.kind, role=intent.role)
        return False

    # Numbers and market

    def restated(self, intents: Sequence[Intent], snapshot: Snapshot) -> dict[int, Intent | None]:
        """Each by id with the numbers of now; None when nobody needs it any more.

        Errors: RpcError.
        """
        vaults = list(dict.fromkeys(intent.vault for intent in intents if intent.vault is not None))
        settling = {
            intent.vault
            for intent in intents
            if intent.kind == IntentKind.SETTLE and intent.vault is not None
        }
        numbers = self._observer.numbers(vaults, snapshot.head, settling)
        return {
            i.id: _restated(i, None if i.vault is None else numbers[i.vault], snapshot)
            for i in intents
        }

    def _market(self, snapshot: Snapshot) -> Market:
        return market(self._reader.rpc, sorted(set(self._addresses.values())), snapshot.head)

    def _tried(
        self, intents: Sequence[tuple[Intent, str, NonceSlot | None]], room: Headroom
    ) -> list[Trial]:
        return tried(
            self._reader.rpc,
            intents,
            room.snapshot.head,
            room.reverted.keys() | room.heard.claimants.keys(),
        )

    # Planned intents

    def _first_attempts(self, intents: Sequence[Intent], room: Headroom) -> Iterator[Draft]:
        """Each by the first of its ways that is open."""
        ways = {intent.id: self._ways(intent, room) for intent in intents}
        left = [intent for intent in intents if ways[intent.id]]
        while left:
            trials = self._tried([(*ways[intent.id].pop(0), None) for intent in left], room)
            found = [
                self._first_attempt(trial, room, is_last=not ways[trial.intent.id])
                for trial in trials
            ]
            yield from (draft for draft in found if draft is not None)
            for trial, draft in zip(trials, found, strict=True):
                claimants = room.claimants(trial)
                if draft is not None and claimants is not None:
                    self._agreement.tried(
                        draft.intent.to,
                        claimants,
                        trial.passed_at,
                        room.reverted.get(draft.intent.to, 0),
                    )
            above = {trial.intent.id for trial in trials if trial.why == ABOVE_STOP_LINE}
            left = [
                i
                for i, draft in zip(left, found, strict=True)
                if draft is None and ways[i.id] and i.id not in above
            ]

    def _ways(self, intent: Intent, room: Headroom) -> list[tuple[Intent, str]]:
        """Forms of an intent with their signers, best first; none for a second stop when no other
        key can send one.
        """
        if intent.kind not in STOPS:
            return [(intent, self._addresses[intent.role])]
        keeper, own = self._addresses[Role.KEEPER], self._addresses.get(Role.STOP)
        if intent.vault in room.heard.denied:
            _wait(intent, "other nodes say that it has not fallen")
            return []
        by_mark = (
            [] if room.is_stood_down or intent.vault in room.heard.claimants else [(intent, keeper)]
        )
        by_anyone = [] if own is None else [(as_anyone(intent), own)]
        at_last = [(as_anyone(intent, Role.KEEPER), keeper)]
        ways = (
            [*by_mark, *by_anyone, *at_last]
            if intent.vault in room.reverted
            else [*by_anyone, *by_mark, *at_last]
        )
        if intent.kind == IntentKind.SECOND:
            ways = [way for way in ways if way[1] not in room.stop_signers(intent.vault)]
        return sorted(ways, key=lambda way: room.is_avoided(way[1]))

    def _first_attempt(self, trial: Trial, room: Headroom, *, is_last: bool) -> Draft | None:
        """None when this way is barred; it is told when it was the last one."""
        intent, signer, cap = trial.intent, trial.signer, self._caps.of(trial.intent.kind)
        tell = log.warning if is_last else log.debug
        if trial.gas is None:
            _wait(intent, "the chain refuses it", tell, signer=signer, refused=trial.why)
            room.refused[intent.id] = trial.why
            return None
        is_stop = intent.kind in STOPS
        claimants = room.claimants(trial)
        if claimants is not None and not self._agreement.may_try(
            intent.to, claimants, trial.passed_at, room.reverted.get(intent.to, 0)
        ):
            _wait(
                intent,
                "it was tried without success, and no other node lets it pass",
                tell,
                nodes=sorted(claimants),
            )
            return None
        slot = room.overtakable(signer) if is_stop else None
        market = room.market
        offer = (
            market.offered(cap, is_stop=is_stop)
            if slot is None
            else market.raised(slot.fees, cap, is_stop=is_stop)
        )
        if offer is None:
            _wait(
                intent,
                "the fee is above the cap",
                tell,
                base_fee_wei=market.base_fee_wei.middle,
                cap_wei=cap,
            )
            return None
        paid = room.paid(trial, offer, self._caps.stops_wei)
        if paid is None:
            _wait(
                intent,
                "the key is short of ETH",
                tell,
                signer=signer,
                balance_wei=market.balances_wei[signer],
            )
            return None
        fees, gas = paid
        if not self._is_allowed(intent, gas * fees.max_fee_wei, tell):
            return None
        market.pay(signer, gas * fees.max_fee_wei)
        if slot is not None:
            room.overtaken.add((signer, slot.nonce))
        return Draft(
            intent,
            signer,
            room.nonce_for(intent, signer) if slot is None else slot.nonce,
            fees,
            gas,
        )

    # Attempts that wait too long

    def _replacements(
        self, fresh: Mapping[int, Intent | None], overdue: Mapping[int, NonceSlot], room: Headroom
    ) -> Iterator[Draft]:
        left = {
            n: slot
            for n, slot in overdue.items()
            if (slot.signer, slot.nonce) not in room.overtaken
        }
        unneeded = [room.live[n] for n in left if fresh[n] is None and room.live[n].kind in STOPS]
        room.heard = self._heard(unneeded)
        kept = {
            i.id: i
            for i in unneeded
            if self._observer.witnesses.are_several and i.vault not in room.heard.denied
        }
        again = (
            (sent_as(room.live[n], fresh[n], kept.get(n), is_stood_down=room.is_stood_down), slot)
            for n, slot in left.items()
        )
        needed = [(intent, slot) for intent, slot in again if intent is not None]
        trials = {
            trial.intent.id: trial
            for trial in self._tried([(i, slot.signer, slot) for i, slot in needed], room)
        }
        for intent_id, slot in left.items():
            if intent_id in kept and intent_id not in trials:
                _wait(room.live[intent_id], "nodes disagree whether it is needed", nonce=slot.nonce)
                continue
            draft = self._replacement(room.live[intent_id], trials.get(intent_id), slot, room)
            if draft is not None:
                room.overtaken.add((slot.signer, slot.nonce))
                yield draft

    def _replacement(
        self, intent: Intent, trial: Trial | None, slot: NonceSlot, room: Headroom
    ) -> Draft | None:
        """The same again for more, or a filler when nobody needs it or the chain refuses it by
        now.
        """
        if (
            trial is not None
            and trial.gas is None
            and intent.kind in STOPS
            and len(trial.refused_at) < self._observer.witnesses.needed
        ):
            _wait(intent, "too few nodes refuse it", nonce=slot.nonce, refused=trial.why)
            return None
        is_unneeded = trial is None or trial.gas is None
        if is_unneeded and intent.id in room.out_of_reach and intent.outbox_id is None:
            room.given_up.append(slot)
            return None
        cap = self._caps.of(intent.kind)
        offer = room.market.raised(slot.fees, cap, is_stop=intent.kind in STOPS)
        if offer is None:
            _wait(
                intent,
                "its fee is at the cap",
                nonce=slot.nonce,
                max_fee_wei=slot.fees.max_fee_wei,
                cap_wei=room.market.cap_wei(cap),
            )
            return None
        filler = Draft(intent, slot.signer, slot.nonce, offer.fees, FILLER_GAS, is_filler=True)
        if trial is None or trial.gas is None:
            return filler
        paid = room.paid(trial, offer, self._caps.stops_wei)
        if paid is None:
            _wait(
                intent,
                "the key is short of ETH",
                signer=slot.signer,
                balance_wei=room.market.balances_wei[slot.signer],
            )
        elif self._is_allowed(intent, paid[1] * paid[0].max_fee_wei):
            return Draft(trial.intent, slot.signer, slot.nonce, *paid)
        return (
            filler
            if intent.outbox_id is not None and room.holds_up_others(slot) and room.can_fill(slot)
            else None
        )

    def _is_allowed(
        self, intent: Intent, wei: int, tell: Callable[..., object] | None = None
    ) -> bool:
        is_allowed = self._allowance is None or self._allowance.allows(intent, wei)
        if not is_allowed:
            _wait(intent, "more gas than is kept for it", tell, most_wei=wei)
        return is_allowed


def _groups(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[first : first + size] for first in range(0, len(items), size))


def _restated(intent: Intent, numbers: Numbers | None, snapshot: Snapshot) -> Intent | None:
    """As `restated`; an intent whose row cannot be used is none that anybody needs: what it was for
    is planned again.
    """

    def of_now() -> Intent | None:
        if (
            intent.kind == IntentKind.FILL
            and intent.state is IntentState.PLANNED
            and not _is_in_gap(intent, snapshot)
        ):
            return None
        return restated(intent, numbers, snapshot.head)

    return spared(of_now, intent=intent.id, kind=intent.kind, vault=intent.vault)


def _is_in_gap(filling: Intent, snapshot: Snapshot) -> bool:
    gap = snapshot.gap_of(filling.to)
    return gap is not None and gap[0] <= int(filling.reason["nonce"]) <= gap[1]


def _wait(intent: Intent, why: str, tell: Callable[..., object] | None = None, **told: Any) -> None:
    (tell or log.warning)(
        "intent waits",
        intent=intent.id,
        kind=intent.kind,
        vault=intent.vault,
        state=intent.state,
        why=why,
        **told,
    )
