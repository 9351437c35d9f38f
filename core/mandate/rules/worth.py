"""What a mandate is worth: cash, which is known, and positions, which are estimated.

Of a vault the positions are what the chain shows (cash.py, state.py); no report changes them:
  chain_mark  what the vault measured at the keeper's last mark, moved at cost since
  cost        before the first mark: what left for targets and has not come back
  cash        nothing is out
On paper reports are all there is:
  agent_mark  the sum of the agent's latest marks, cost for positions without one
  cost        what reported positions cost
A paper mandate's positions are void once it ended. Source: docs/rules.md#progress,
docs/rules.md#after-a-stop.

What the chain itself says of a vault at one block: it replaces a ledger that is short of
facts (core.quarantine.rules).
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from core.mandate.rules.lifecycle import CLOSED, MarketMode, Status
from core.mandate.rules.state import MandateFacts, MandateState, changed
from core.mandate.rules.terms import ZERO_ADDRESS
from core.money import BPS_ONE, UsdcE6, bps_of_down


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """USDC base units. `worth_usdc_e6` = cash + positions; cash is shown as 0 when it is below.

    `at_cost`: the part of the positions that no adapter values, on paper that the agent has not
    marked.
    """

    cash_usdc_e6: UsdcE6
    positions_usdc_e6: UsdcE6
    source: str
    at_cost_usdc_e6: UsdcE6

    @property
    def worth_usdc_e6(self) -> UsdcE6:
        return UsdcE6(self.cash_usdc_e6 + self.positions_usdc_e6)


def worth_of(state: MandateState, facts: MandateFacts) -> Worth:
    """The estimate as of the last row."""
    if facts.market_mode is MarketMode.PAPER:
        positions, at_cost, source = _on_paper(state)
    else:
        at_cost = state.at_cost_usdc_e6
        positions = state.valued_out_usdc_e6 + at_cost
        source = "cost" if positions else "cash"
        if state.mark is not None:
            source = "chain_mark"
    return Worth(
        cash_usdc_e6=UsdcE6(max(0, state.cash_usdc_e6)),
        positions_usdc_e6=UsdcE6(positions),
        source=source,
        at_cost_usdc_e6=UsdcE6(at_cost),
    )


def gain_est_usdc_e6(state: MandateState, worth: Worth) -> int:
    """What the mandate has made so far, deposits and withdrawals left out: may be negative."""
    return (
        worth.worth_usdc_e6
        + state.withdrawn_usdc_e6
        + state.paid_out_usdc_e6
        - state.deposited_usdc_e6
    )


def agent_fee_reserved_usdc_e6(state: MandateState, worth: Worth, agent_fee_bps: int) -> UsdcE6:
    """What the agent would still be owed if everything closed at the estimate."""
    gain = gain_est_usdc_e6(state, worth)
    return agent_fee_owed_usdc_e6(gain, agent_fee_bps, state.paid_out_usdc_e6)


def agent_fee_owed_usdc_e6(gain: int, agent_fee_bps: int, paid_out: int) -> UsdcE6:
    """bps of a gain (negative: a loss), rounded down, less what was paid; never below 0. Source:
    MandateVault.feeOwed, for its realised gain.
    """
    return UsdcE6(max(0, bps_of_down(max(0, gain), agent_fee_bps) - paid_out))


def exit_cost_up(amount_usdc_e6: int, spread_bps: int) -> UsdcE6:
    """What closing `amount_usdc_e6` costs at a spread, rounded up: against the owner, so that
    leave_now is no promise.
    """
    return UsdcE6(-(-amount_usdc_e6 * spread_bps // BPS_ONE))


def _on_paper(state: MandateState) -> tuple[int, int, str]:
    if state.is_ended or not state.positions:
        return 0, 0, "cash"
    marked = [one for one in state.positions if one.mark_source == "agent_mark"]
    worth = sum(position.mark_usdc_e6 for position in state.positions)
    at_cost = worth - sum(position.mark_usdc_e6 for position in marked)
    return worth, at_cost, "agent_mark" if marked else "cost"


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
