"""What the market asks for a unit of gas, and the most that is offered: no single node's word decides either.

    base fee   the higher median of the nodes' newest blocks: the chain takes its own base fee, whatever more is offered
    tip        the lower median of what the nodes suggest, at most MOST_TIP_WEI or twice the base fee: this is paid as offered
    balance    the most that any node tells: a node that lags must not keep an account from paying

Caps, of each transaction: the setting's, and MARKET_TIMES what the market asks, so that no row of replacements burns an account.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_high, median_low
from typing import Any

from core.chain.rpc import Request, Rpc
from keeper.attempts import Fees, bumped, fees_for
from keeper.state import Head

GWEI = 10**9
MOST_TIP_WEI = 2 * GWEI
TIP_WHEN_UNKNOWN_WEI = GWEI
MARKET_TIMES = 10
LEAST_CAP_WEI = 10 * GWEI  # where the market asks next to nothing, a tenfold of it would replace nothing
LEAST_TIP_CAP_WEI = 5 * GWEI
ASKED_S = 1.0  # that a node may take


@dataclass(frozen=True, slots=True)
class Market:
    """`balances_wei` of our accounts go down as drafts are made."""

    base_fee_wei: int
    tip_wei: int
    balances_wei: dict[str, int]

    def cap_wei(self, cap_wei: int) -> int:
        """The setting's cap, or what the market makes of it."""
        return min(cap_wei, max(LEAST_CAP_WEI, MARKET_TIMES * (2 * self.base_fee_wei + self.tip_wei)))

    @property
    def tip_cap_wei(self) -> int:
        return max(LEAST_TIP_CAP_WEI, MARKET_TIMES * self.tip_wei)

    def offered(self, cap_wei: int) -> Fees | None:
        """The first offer; None when the base fee is above the cap."""
        return fees_for(self.base_fee_wei, self.tip_wei, cap_wei)

    def raised(self, last: Fees, cap_wei: int) -> Fees | None:
        """What a replacement of `last` offers; None when that is above a cap."""
        raised = bumped(last, self.offered(cap_wei), self.cap_wei(cap_wei))
        return None if raised is None or raised.max_priority_fee_wei > self.tip_cap_wei else raised


def market(rpc: Rpc, accounts: Sequence[str], head: Head) -> Market:
    """As every node of the pool tells it; `head` stands in where none tells a base fee. Errors: RpcError."""
    asked: list[Request] = [("eth_maxPriorityFeePerGas", []), ("eth_getBlockByNumber", ["latest", False])]
    requests = [*asked, *(("eth_getBalance", [account, "latest"]) for account in accounts)]
    told = list(rpc.batch_of_each(requests, ASKED_S).values()) or [rpc.batch_settled(requests)]
    tips = [tip for answers in told if (tip := _number(answers[0])) is not None]
    bases = [base for answers in told if (base := _base_fee(answers[1])) is not None]
    base_fee_wei = median_high(bases) if bases else head.base_fee_wei
    tip_wei = min(median_low(tips) if tips else TIP_WHEN_UNKNOWN_WEI, max(MOST_TIP_WEI, 2 * base_fee_wei))
    balances = {account: _most([answers[n] for answers in told]) for n, account in enumerate(accounts, len(asked))}
    return Market(base_fee_wei, tip_wei, balances)


def _most(answers: Sequence[Any]) -> int:
    """0 when no node tells: then nothing can be paid for."""
    return max((number for answer in answers if (number := _number(answer)) is not None), default=0)


def _base_fee(block: Any) -> int | None:
    return _number(block.get("baseFeePerGas")) if isinstance(block, dict) else None


def _number(answer: Any) -> int | None:
    """None for an error and for anything that is not a number."""
    try:
        return int(answer, 16) if isinstance(answer, str) else None
    except ValueError:
        return None
