"""What the chain itself says of a vault at one block: it replaces a ledger that is short of
facts (core.quarantine.rules).
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from core.mandate.rules.lifecycle import CLOSED, Status
from core.mandate.rules.state import MandateState, changed
from core.mandate.rules.terms import ZERO_ADDRESS
from core.mandate.rules.worth import Worth
from core.money import UsdcE6


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultSeen:
    """Amounts are USDC base units, times unix seconds, addresses checksum strings.

    `at`: the block's time.

    `agent`, `payee`: the zero address when there is none. `stopped_at`: 0 without a stop.
    `balance_usdc_e6`: with what anybody gave. `worth_usdc_e6`: as the vault measures it, None while
    an adapter reverts. Source: MandateVault.totals, status, worth, payee, feeOwed.
    """

    vault: str
    at: int
    status: Status
    agent: str
    payee: str
    stopped_at: int
    deposited_usdc_e6: int
    spent_usdc_e6: int
    received_usdc_e6: int
    withdrawn_usdc_e6: int
    fee_paid_usdc_e6: int
    unvalued_out_usdc_e6: int
    fee_owed_usdc_e6: int
    balance_usdc_e6: int
    worth_usdc_e6: int | None

    @property
    def cash_usdc_e6(self) -> int:
        """The mandate's own cash. Source: MandateVault._ownCash."""
        came_in = self.deposited_usdc_e6 + self.received_usdc_e6
        return max(0, came_in - self.spent_usdc_e6 - self.withdrawn_usdc_e6 - self.fee_paid_usdc_e6)

    @property
    def withdrawable_usdc_e6(self) -> int:
        return max(0, self.balance_usdc_e6 - self.fee_owed_usdc_e6)

    @property
    def worth(self) -> Worth | None:
        """As the vault measures it: own cash, what its adapters value, the rest at cost; None while an
        adapter reverts.
        """
        if self.worth_usdc_e6 is None:
            return None
        cash = self.cash_usdc_e6
        return Worth(
            cash_usdc_e6=UsdcE6(cash),
            positions_usdc_e6=UsdcE6(max(0, self.worth_usdc_e6 - cash)),
            source="chain",
            at_cost_usdc_e6=UsdcE6(self.unvalued_out_usdc_e6),
        )


def as_seen(state: MandateState, seen: VaultSeen) -> MandateState:
    """The ledger's state with what the chain says in its place.

    What the chain does not say (who stopped it) is the ledger's, or None.
    """
    is_stopped = seen.stopped_at > 0
    stopped_at = datetime.fromtimestamp(seen.stopped_at, UTC) if is_stopped else None
    left = (
        seen.deposited_usdc_e6 + seen.received_usdc_e6 - seen.spent_usdc_e6 - seen.fee_paid_usdc_e6
    )
    is_ended = seen.status in CLOSED
    is_paused = not is_ended and seen.agent == ZERO_ADDRESS
    return changed(
        state,
        status=seen.status,
        cash_usdc_e6=seen.cash_usdc_e6,
        deposited_usdc_e6=seen.deposited_usdc_e6,
        spent_usdc_e6=seen.spent_usdc_e6,
        received_usdc_e6=seen.received_usdc_e6,
        withdrawn_usdc_e6=min(seen.withdrawn_usdc_e6, max(0, left)),
        paid_out_usdc_e6=seen.fee_paid_usdc_e6,
        unvalued_out_usdc_e6=seen.unvalued_out_usdc_e6,
        vault_address=seen.vault,
        stopped_at=stopped_at,
        stopped_by=state.stopped_by if is_stopped else None,
        ended_at=(stopped_at or state.ended_at) if is_ended else None,
        agent_on_chain=seen.agent,
        agent_known=True,
        payee_named=None if seen.payee == ZERO_ADDRESS else seen.payee,
        paused=is_paused,
        paused_at=state.paused_at if is_paused else None,
    )
