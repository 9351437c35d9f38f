"""What nodes say to a transaction before it is signed: would it pass, and for how much gas.

Laws
- The node that is asked decides. In favour of what stops a vault the others are asked as well where
  it refuses, where a stop reverted before, and where too few nodes call the vault fallen: it is
  sent when it would pass at any of them, with the most gas that any of them names.
- No word makes a stop run out of gas at less than STOP_GAS, as long as the balance pays for that
  much.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from core.chain.errors import RpcError, RpcRefusedError, RpcRevertedError
from core.chain.nodes import Nodes, Request
from core.chain.refusals import cleaned
from core.chain.revert import decode_revert
from core.hexes import hex_of
from core.keeper.gas import FILLER_GAS
from core.keeper.intents import Intent
from keeper.apart import settled_apart
from keeper.attempts import NonceSlot
from keeper.funds import STOP_GAS
from keeper.snapshot import OTHERS_S
from keeper.state import STOPS, Head, IntentKind

GAS_MARGIN_PERCENT = 125  # of the estimate: a price may move what a venue's valuation costs
# that a node spends on one trial: a vault whose adapters burn more cannot be acted on by that call
TRIAL_GAS = 10_000_000
ERROR_CHARACTERS = 300
SAVING = (*STOPS, IntentKind.REMOVE)  # what ends a loss: any node that lets it pass is enough

log = structlog.get_logger("keeper")


@dataclass(frozen=True, slots=True)
class Trial:
    """An intent as it would be sent by a signer, and what was said to it: gas units, or why not."""

    intent: Intent
    signer: str
    slot: NonceSlot | None
    gas: int | None
    refused: RpcError | None
    passed_at: frozenset[str] = frozenset()  # names of nodes
    refused_at: frozenset[str] = frozenset()

    def or_else(self, other: "Trial") -> "Trial":
        """The same at another node: what passes at either passes, with the more of gas."""
        more = max(self, other, key=lambda one: one.gas or 0)
        return replace(
            more,
            passed_at=self.passed_at | other.passed_at,
            refused_at=self.refused_at | other.refused_at,
        )

    def gas_limits(self) -> list[int]:
        """What may be sent along, most first; the less is for a balance that does not pay for
        more.
        """
        assert self.gas is not None
        return (
            sorted({self.gas, STOP_GAS}, reverse=True) if self.intent.kind in STOPS else [self.gas]
        )

    @property
    def why(self) -> str:
        """The refusal's name, or its words, as of a token that reverts with a sentence."""
        found = (
            decode_revert(self.refused.revert_data)
            if isinstance(self.refused, RpcRevertedError)
            else None
        )
        if found is None:
            return str(self.refused)
        return cleaned(found.args["message"]) or found.name if found.name == "Error" else found.name


def tried(
    rpc: Nodes,
    intents: Sequence[tuple[Intent, str, NonceSlot | None]],
    head: Head,
    doubted: Collection[str],
) -> list[Trial]:
    """Each as an eth_call at the head's hash and as a gas estimate.

    `doubted`: vaults whose stop reverted before, or that too few nodes call fallen.
    """
    if not intents:
        return []
    requests = [_requests(intent, signer, head) for intent, signer, _ in intents]
    answers = settled_apart(rpc, [request for pair in requests for request in pair])
    asked = rpc.pinned_name or ""
    trials = [
        _trial(*intent, *pair, asked)
        for intent, pair in zip(intents, zip(answers[::2], answers[1::2], strict=True), strict=True)
    ]
    doubtful = [
        n
        for n, one in enumerate(trials)
        if one.intent.kind in SAVING and (one.gas is None or one.intent.vault in doubted)
    ]
    if not doubtful:
        return trials
    said = rpc.batch_of_others([request for n in doubtful for request in requests[n]], OTHERS_S)
    for name, others in said.items():
        for n, pair in zip(doubtful, zip(others[::2], others[1::2], strict=True), strict=True):
            trials[n] = trials[n].or_else(_trial(*intents[n], *pair, name))
    return trials


def _requests(intent: Intent, signer: str, head: Head) -> tuple[Request, Request]:
    call = {"from": signer, "to": intent.to, "data": hex_of(intent.data), "gas": hex(TRIAL_GAS)}
    return ("eth_call", [call, {"blockHash": head.hash}]), ("eth_estimateGas", [call])


def _trial(
    intent: Intent, signer: str, slot: NonceSlot | None, called: Any, estimated: Any, node: str
) -> Trial:
    at = frozenset({node})
    if isinstance(called, RpcError):
        return Trial(
            intent,
            signer,
            slot,
            None,
            called,
            refused_at=at if isinstance(called, RpcRefusedError) else frozenset(),
        )
    gas = _gas_of(estimated)
    if gas is None:
        log.warning(
            "gas not estimated",
            intent=intent.id,
            error=str(estimated)[:ERROR_CHARACTERS],
            gas=STOP_GAS,
        )
        return Trial(intent, signer, slot, STOP_GAS, None, at)
    return Trial(intent, signer, slot, gas * GAS_MARGIN_PERCENT // 100, None, at)


def _gas_of(estimated: Any) -> int | None:
    """None for an error, and for what is no number of gas units that a transaction could have."""
    try:
        gas = int(estimated, 16)
    except (TypeError, ValueError):
        return None
    return gas if FILLER_GAS <= gas <= TRIAL_GAS else None
