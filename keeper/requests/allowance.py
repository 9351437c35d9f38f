"""What requests of the outbox may cost: a part of the day's gas is kept for each before it is
signed.

most that one may cost = the purse's gas * maxFeePerGas + upper bound of the fee for its bytes on
layer 1
maxFeePerGas           = twice the first offer of the market, within the caps: room for replacements
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from core.chain.fees import layer_1_fee_wei
from core.custody.rules import TRANSFER_GAS
from core.keeper.intents import Intent
from core.keeper.rules import Purse
from core.mandate.chain.reader import VaultReader
from core.sponsored.rules import BUY_GAS, UNSIGNED_BUY_BYTES
from keeper.funds import STOP_GAS, STOPS_WANTED
from keeper.gas import Caps, quotes
from keeper.state import Head, Role

ROOM_FOR_REPLACEMENTS = 2
# upper bound of an unsigned type 2 transaction with a transfer's 292 bytes of call data
UNSIGNED_TRANSFER_BYTES = 450


@dataclass(frozen=True, slots=True)
class PurseTerms:
    """Whose ETH pays: each purse has a key, a loop and a day's budget of its own. `gas`,
    `unsigned_bytes`: the most that one of its requests may use, and its size.
    """

    purse: Purse
    role: Role
    gas: int
    unsigned_bytes: int


CUSTODY = PurseTerms(Purse.CUSTODY, Role.CUSTODY, TRANSFER_GAS, UNSIGNED_TRANSFER_BYTES)
SPONSOR = PurseTerms(Purse.SPONSOR, Role.SPONSOR, BUY_GAS, UNSIGNED_BUY_BYTES)


@dataclass(slots=True)
class KeptGas:
    """The gas that is kept for requests that are under way, by outbox id.

    `sends_stops_too`: their key does. `layer_1_wei`: what each transaction pays beside its gas.
    """

    sends_stops_too: bool
    kept_wei: dict[int, int] = field(default_factory=dict)
    layer_1_wei: int = 0

    def allows(self, intent: Intent, wei: int) -> bool:
        """Whether so much is kept for the intent's request; what is about none may cost what it costs."""
        return intent.outbox_id is None or wei + self.layer_1_wei <= self.kept_wei.get(
            intent.outbox_id, 0
        )


@dataclass(frozen=True, slots=True)
class RequestPrice:
    """What a request may cost, as of `head`; None: no node names its newest block.

    `most_wei` None: not known, or above the cap. `barred`: why nothing new is planned.
    `affordable`: how many more requests the key can pay for. `least_wei`: what one needs to be sent
    once, without room for replacements.
    """

    head: Head | None
    most_wei: int | None
    layer_1_wei: int
    barred: str | None
    affordable: int = 0
    least_wei: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What a request may cost now. `account`: whose key pays."""

    reader: VaultReader
    account: str
    caps: Caps
    sends_stops_too: bool
    terms: PurseTerms = CUSTODY

    def now(self, kept_wei: Sequence[int]) -> RequestPrice:
        """`kept_wei`: for those under way. Errors: RpcError."""
        said = quotes(self.reader.rpc, [self.account])
        if not said.heads:
            return RequestPrice(None, None, 0, "no node names its newest block")
        now, head = said.market, said.head
        cap_wei = now.cap_wei(self.caps.others_wei)
        offer = now.offered(self.caps.others_wei, is_stop=False)
        layer_1_wei = layer_1_fee_wei(self.reader, self.terms.unsigned_bytes)
        if offer is None:
            return RequestPrice(head, None, 0, "the fee is above the cap")
        if layer_1_wei is None:
            return RequestPrice(
                head, None, 0, "the gas price oracle refuses to name the fee of layer 1"
            )
        most_wei = (
            self.terms.gas * min(cap_wei, ROOM_FOR_REPLACEMENTS * offer.fees.max_fee_wei)
            + layer_1_wei
        )
        spared_wei = (
            STOPS_WANTED * STOP_GAS * now.cap_wei(self.caps.stops_wei)
            if self.sends_stops_too
            else 0
        )
        left_wei = now.sure_wei[self.account] - sum(kept_wei) - spared_wei
        barred = None if left_wei >= most_wei else "the key is short of ETH"
        least_wei = min(most_wei, self.terms.gas * offer.fees.max_fee_wei + layer_1_wei)
        return RequestPrice(
            head, most_wei, layer_1_wei, barred, max(0, left_wei // most_wei), least_wei
        )
