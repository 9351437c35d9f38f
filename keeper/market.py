"""What the market asks for a unit of gas, and the most that is offered: no single node's word
decides either.

    base fee   first the higher median of the nodes' newest blocks, again the most: the chain takes its own base fee, whatever more
               is offered
    tip        first the lower median of what the nodes suggest, for a stop again the most; at most MOST_TIP_WEI or twice the least base
               fee, and for a stop at least LEAST_STOP_TIP_WEI: this is paid as offered
    balance    the most that any node tells: a node that lags must not keep an account from paying. What a mark leaves for stops is
               reckoned from the lower median: one that tells too much must not spend it

Caps, of each transaction: the setting's, and MARKET_TIMES what the market asks, so that no row of
replacements burns an account. A base fee above the setting's cap bars nothing as long as one node
names one below it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_high, median_low
from typing import Any

from core.chain import results
from core.chain.nodes import Nodes, Request
from keeper.attempts import Fees, bumped, fees_for
from keeper.state import Head

GWEI = 10**9
MOST_TIP_WEI = 2 * GWEI
LEAST_STOP_TIP_WEI = GWEI // 10
TIP_WHEN_UNKNOWN_WEI = GWEI
MARKET_TIMES = 10
# where the market asks next to nothing, a tenfold of it would replace nothing
LEAST_CAP_WEI = 10 * GWEI
LEAST_TIP_CAP_WEI = 5 * GWEI
ASKED_S = 1.0  # that a node may take


@dataclass(frozen=True, slots=True)
class NodeAnswers:
    """A number as the nodes tell it."""

    least: int
    middle: int
    most: int


@dataclass(frozen=True, slots=True)
class Offer:
    """What is best offered, and the maxFeePerGas below which nothing is gained."""

    fees: Fees
    least_max_fee_wei: int

    def within(self, most_wei: int) -> Fees | None:
        """As much of it as `most_wei` for a unit of gas allows."""
        if most_wei < self.least_max_fee_wei:
            return None
        max_fee_wei = min(self.fees.max_fee_wei, most_wei)
        return Fees(max_fee_wei, min(self.fees.max_priority_fee_wei, max_fee_wei))


@dataclass(frozen=True, slots=True)
class Market:
    """`balances_wei` and `sure_wei` of our accounts (the most and the lower median of what nodes
    tell) go down as drafts are made.
    """

    base_fee_wei: NodeAnswers
    tip_wei: NodeAnswers
    balances_wei: dict[str, int]
    sure_wei: dict[str, int]

    def pay(self, account: str, wei: int) -> None:
        self.balances_wei[account] -= wei
        self.sure_wei[account] -= wei

    def cap_wei(self, cap_wei: int) -> int:
        """The setting's cap, or what the market makes of it."""
        return min(
            cap_wei,
            max(LEAST_CAP_WEI, MARKET_TIMES * (2 * self.base_fee_wei.most + self.tip_wei.middle)),
        )

    @property
    def tip_cap_wei(self) -> int:
        return max(LEAST_TIP_CAP_WEI, MARKET_TIMES * self.tip_wei.middle)

    def offered(self, cap_wei: int, *, is_stop: bool) -> Offer | None:
        """The first offer; None when every node names a base fee above the cap."""
        tip_wei = max(self.tip_wei.middle, LEAST_STOP_TIP_WEI) if is_stop else self.tip_wei.middle
        fees = self._fees(self.base_fee_wei.middle, tip_wei, cap_wei)
        return (
            None
            if fees is None
            else Offer(fees, min(self.base_fee_wei.least + tip_wei, fees.max_fee_wei))
        )

    def raised(self, last: Fees, cap_wei: int, *, is_stop: bool) -> Offer | None:
        """What a replacement of `last` offers; None when that is above a cap."""
        tip_wei = max(self.tip_wei.most, LEAST_STOP_TIP_WEI) if is_stop else self.tip_wei.middle
        least, cap = bumped(last, None, self.cap_wei(cap_wei)), self.cap_wei(cap_wei)
        fees = bumped(last, self._fees(self.base_fee_wei.most, tip_wei, cap), cap)
        if least is None or fees is None or fees.max_priority_fee_wei > self.tip_cap_wei:
            return None
        return Offer(fees, least.max_fee_wei)

    def _fees(self, base_fee_wei: int, tip_wei: int, cap_wei: int) -> Fees | None:
        return (
            None
            if self.base_fee_wei.least > cap_wei
            else fees_for(min(base_fee_wei, cap_wei), tip_wei, cap_wei)
        )


def market(rpc: Nodes, accounts: Sequence[str], head: Head) -> Market:
    """As every node of the pool tells it; `head` stands in where none tells a base fee.

    Errors: RpcError.
    """
    asked: list[Request] = [
        ("eth_maxPriorityFeePerGas", []),
        ("eth_getBlockByNumber", ["latest", False]),
    ]
    requests = [*asked, *(("eth_getBalance", [account, "latest"]) for account in accounts)]
    parsers = [results.fee, results.header, *[results.wei] * len(accounts)]
    told = list(rpc.batch_of_each(requests, ASKED_S, parse=parsers).values()) or [
        rpc.batch_settled(requests, parsers)
    ]
    tips = [tip for answers in told if isinstance(tip := answers[0], int)] or [TIP_WHEN_UNKNOWN_WEI]
    bases = [
        newest.base_fee_wei for answers in told if (newest := Head.of(answers[1])) is not None
    ] or [head.base_fee_wei]
    most_tip_wei = max(MOST_TIP_WEI, 2 * min(bases))
    tip_wei = NodeAnswers(
        *(min(one, most_tip_wei) for one in (min(tips), median_low(tips), max(tips)))
    )
    balances = {
        account: _numbers([answers[n] for answers in told])
        for n, account in enumerate(accounts, len(asked))
    }
    most, sure = (
        {account: of(found) for account, found in balances.items()} for of in (max, median_low)
    )
    return Market(NodeAnswers(min(bases), median_high(bases), max(bases)), tip_wei, most, sure)


def _numbers(answers: Sequence[Any]) -> list[int]:
    """0 when no node tells: then nothing can be paid for."""
    return [answer for answer in answers if isinstance(answer, int)] or [0]
