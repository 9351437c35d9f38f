"""A mandate as it is now, for whoever acts on it or has to get out: by its ledger, and where that
is short, by the chain itself.
"""

from dataclasses import dataclass, field
from typing import Any

from api.areas.mandates.service.views import chain_now, digest_of, is_paper, reading_of, vault_of
from api.kernel.operation import Call
from core.chain.errors import RpcError
from core.mandate.rules.lifecycle import Status
from core.mandate.rules.progress import data_issue
from core.mandate.rules.state import MandateState
from core.mandate.rules.worth import VaultSeen, as_seen
from core.mandate.tables import Mandate
from core.quarantine.rules import Reading, ShortLedger


@dataclass(frozen=True, slots=True)
class Current:
    """`now`: unix seconds of the block that `state` goes by, for paper of the clock.

    Of a short ledger `seen` is what the chain says, and `state` says the same. `unseen`: the chain
    could not be asked, so that `state` is the ledger's last word and may be wrong.
    """

    vault: str | None
    state: MandateState
    now: int
    short: ShortLedger | None
    seen: VaultSeen | None = None
    unseen: RpcError | None = field(default=None, compare=False)

    @property
    def status(self) -> Status:
        return self.state.status

    @property
    def data_issue(self) -> dict[str, Any]:
        """What every answer that was made of this carries."""
        return data_issue(self.state, self.short)

    def require_known(self) -> "Current":
        """For what must not be built of a last word. Errors: the RpcError."""
        if self.unseen is not None:
            raise self.unseen
        return self


def current_of(call: Call, mandate: Mandate) -> Current:
    """Asks the chain only where the ledger is short."""
    return current_by(call, mandate, reading_of(call, mandate), chain_now(call, mandate))


def current_by(call: Call, mandate: Mandate, reading: Reading[MandateState], now: int) -> Current:
    """The same of a mandate whose ledger was read. `now`: unix seconds of the latest block."""
    vault = vault_of(mandate)
    if reading.short is None or is_paper(mandate):
        return Current(vault, reading.said, now, reading.short)
    try:
        vault = vault or _vault_made(call, mandate)
        seen = None if vault is None else call.deps.chain.vault_seen(vault)
    except RpcError as error:
        return Current(vault, reading.said, now, reading.short, unseen=error)
    if seen is None:
        return Current(None, reading.said, now, reading.short)
    return Current(vault, as_seen(reading.said, seen), seen.at, reading.short, seen)


def _vault_made(call: Call, mandate: Mandate) -> str | None:
    """The vault of the signed terms: its creation may be what the ledger lacks.

    Errors: RpcError.
    """
    vault = call.deps.chain.predict_vault(digest_of(mandate))
    return vault if call.deps.chain.is_vault(vault) else None
