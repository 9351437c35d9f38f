"""What nonces and wei are left while the drafts of a round are made, one after the other.

Laws
- There is no stored nonce counter: the next nonce is the account's count plus what pending attempts
  hold.
- A stop takes the nonce of a pending mark or request of the same key, or goes by a key of its own;
  it never queues behind one.
- A stop goes for less rather than not at all, and a mark leaves what the next stops may cost.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from core.keeper.gas import FILLER_GAS
from core.keeper.intents import Intent
from keeper.attempts import NonceSlot, first_free_nonce
from keeper.funds import STOP_GAS, STOPS_WANTED
from keeper.gas import Fees, Market, Offer
from keeper.intents import is_for_the_keeper
from keeper.snapshot import Snapshot
from keeper.state import STOPS, YIELDING, IntentKind
from keeper.trials import Trial
from keeper.witness import Heard

STUCK_BLOCKS = 3  # a key whose lowest nonce waits so long sends no stop while another key can


class Allowance(Protocol):
    """What requests of the outbox may cost."""

    sends_stops_too: bool  # their key

    def allows(self, intent: Intent, wei: int) -> bool:
        """Whether so much is kept for the intent's request.

        What is about no request may cost what it costs.
        """
        ...


@dataclass(slots=True)
class Headroom:
    """What nonces and wei are left while drafts are made, one after the other."""

    snapshot: Snapshot
    market: Market
    live: Mapping[int, Intent]  # by id
    # stops by vault: one that had such goes by `enforceStopLine` only when nothing else is left
    reverted: Mapping[str, int]
    avoided: frozenset[str]  # signers that are asked last
    is_stood_down: bool  # the factory names another keeper
    void: frozenset[int]  # intents of requests that may be done no more
    allowance: Allowance | None  # what requests may cost
    held: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    # pending nonces that a draft of this round replaces
    overtaken: set[tuple[str, int]] = field(default_factory=set)
    heard: Heard = field(default_factory=Heard)  # of the stops of this turn
    # by intent: the asked node has it not, and its key pays for no filler
    out_of_reach: Mapping[int, NonceSlot] = field(default_factory=dict)
    given_up: list[NonceSlot] = field(default_factory=list)  # in this turn
    refused: dict[int, str] = field(default_factory=dict)  # by intent: why the chain refuses it

    def __post_init__(self) -> None:
        for slot in self.snapshot.pending:
            self.held[slot.signer].add(slot.nonce)

    def overtakable(self, signer: str) -> NonceSlot | None:
        """The lowest nonce of this signer that a mark or a request pends at and no draft of this
        round replaces.
        """
        slots = (
            slot
            for slot in self.snapshot.pending_of(signer)
            if (signer, slot.nonce) not in self.overtaken
        )
        return next((slot for slot in slots if self._is_overtakable(slot)), None)

    def _is_overtakable(self, slot: NonceSlot) -> bool:
        """Requests are another loop's intents: what is live there is none of these."""
        intent = self.live.get(slot.newest.intent_id)
        return intent is None or intent.kind in YIELDING

    def is_avoided(self, signer: str) -> bool:
        """Its signer failed, or what holds its lowest nonce waits, and is nothing that a stop could
        replace.
        """
        if signer in self.avoided:
            return True
        lowest = self.snapshot.lowest_of(signer)
        is_stuck = (
            lowest is not None
            and self.snapshot.head.number >= lowest.newest.offered_block + STUCK_BLOCKS
        )
        return is_stuck and self.overtakable(signer) is None

    def stop_signers(self, vault: str | None) -> set[str]:
        """Whose keys have a stop of this vault pending."""
        found = (
            (slot.signer, self.live.get(slot.newest.intent_id)) for slot in self.snapshot.pending
        )
        return {
            signer
            for signer, intent in found
            if intent is not None and intent.kind == IntentKind.STOP and intent.vault == vault
        }

    def can_fill(self, slot: NonceSlot) -> bool:
        """Its key can pay for a transfer of nothing in its place."""
        return self.market.balances_wei[slot.signer] >= FILLER_GAS * slot.fees.max_fee_wei

    def holds_up_others(self, slot: NonceSlot) -> bool:
        """It is the lowest nonce of its key, has waited, and more pends above it."""
        has_waited = self.snapshot.head.number >= slot.newest.offered_block + STUCK_BLOCKS
        return (
            has_waited
            and slot.nonce == self.snapshot.counts[slot.signer]
            and len(self.snapshot.pending_of(slot.signer)) > 1
        )

    def claimants(self, trial: Trial) -> frozenset[str] | None:
        """On whose word alone this stop would be sent; None: it is none, or follows one that was
        sent, or enough nodes call for it.

        One that stands down has no other way: where a stop reverted before, it goes on the word of
        those that let it pass.
        """
        intent = trial.intent
        if intent.kind != IntentKind.STOP:
            return None
        in_vain = trial.passed_at if self.is_stood_down and intent.vault in self.reverted else None
        return self.heard.claimants.get(intent.to, in_vain)

    def nonce_for(self, intent: Intent, signer: str) -> int:
        """The lowest free one; a filling has its own, since bytes of ours may stand at lower ones
        of the same gap.
        """
        is_filling = intent.kind == IntentKind.FILL
        nonce = (
            int(intent.reason["nonce"])
            if is_filling
            else first_free_nonce(self.snapshot.counts[signer], self.held[signer])
        )
        self.held[signer].add(nonce)
        return nonce

    def is_unneeded(self, intent: Intent) -> bool:
        """A filling whose nonce another transaction of ours has meanwhile: a stop takes the lowest
        one. What is void, and what is another keeper's.
        """
        is_filled = (
            intent.kind == IntentKind.FILL and int(intent.reason["nonce"]) in self.held[intent.to]
        )
        return (
            is_filled
            or intent.id in self.void
            or (self.is_stood_down and is_for_the_keeper(intent))
        )

    def paid(self, trial: Trial, offer: Offer, stop_cap_wei: int) -> tuple[Fees, int] | None:
        """What the signer can pay of an offer, with the gas limit; None when it is too little.

        A stop goes for less rather than not at all. A mark and an anchor leave what STOPS_WANTED
        stops may cost, and so does a request of a key that sends stops too.
        """
        left_wei = self.market.balances_wei[trial.signer]
        is_request = trial.intent.outbox_id is not None
        if trial.intent.kind in YIELDING or (
            is_request and self.allowance is not None and self.allowance.sends_stops_too
        ):
            left_wei = self.market.sure_wei[
                trial.signer
            ] - STOPS_WANTED * STOP_GAS * self.market.cap_wei(stop_cap_wei)
        for gas in trial.gas_limits():
            if left_wei >= gas * offer.fees.max_fee_wei:
                return offer.fees, gas
        if trial.intent.kind in STOPS:
            return next(
                (
                    (fees, gas)
                    for gas in trial.gas_limits()
                    if (fees := offer.within(left_wei // gas)) is not None
                ),
                None,
            )
        return None
