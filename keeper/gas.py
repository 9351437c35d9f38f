"""What a unit of gas may cost: no single node's word decides.

    base fee   first the higher median of the nodes' newest blocks, again the most: the chain takes its own base fee, whatever more
               is offered
    tip        first the lower median of what the nodes suggest, for a stop again the most; at most MOST_TIP_WEI or twice the least base
               fee, and for a stop at least LEAST_STOP_TIP_WEI: this is paid as offered
    balance    the most that any node reports: a node that lags must not keep an account from paying. What a mark leaves for stops is
               reckoned from the lower median: one that reports too much must not spend it

Caps, of each transaction: the setting's, and MARKET_TIMES what the market asks, so that no row of
replacements burns an account. A base fee above the setting's cap bars nothing as long as one node
names one below it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median_high, median_low
from typing import Any

from core.chain import results
from core.chain.abi import decode_revert
from core.chain.blocks import BlockHeader
from core.chain.errors import RpcError, RpcRevertedError
from core.chain.nodes import Nodes, Request
from core.chain.refusals import cleaned
from core.chain.results import Parse
from core.hexes import hex_of
from core.keeper.gas import FILLER_GAS
from keeper.state import URGENT, head_of

GWEI = 10**9
MOST_TIP_WEI = 2 * GWEI
LEAST_STOP_TIP_WEI = GWEI // 10
TIP_WHEN_UNKNOWN_WEI = GWEI
MARKET_TIMES = 10
# where the market asks next to nothing, a tenfold of it would replace nothing
LEAST_CAP_WEI = 10 * GWEI
LEAST_TIP_CAP_WEI = 5 * GWEI
LEAST_STOP_GAS = 60_000  # what the lightest vault uses
ASKED_S = 5.0  # that a node may take
OTHERS_S = 1.0  # once another one has answered
STILL_S = 30.0  # a node whose head has not risen for so long has what it has
MOST_AHEAD = 16  # that one node's count may be above what the others name
GAS_MARGIN_PERCENT = 125  # of an estimate: a price may move what a venue's valuation costs
# that a node spends on one estimate: a vault whose adapters burn more cannot be acted on by that call
TRIAL_GAS = 10_000_000
BUMP_EIGHTHS = 9  # of the last fee: nodes refuse a replacement of less than a tenth more


@dataclass(frozen=True, slots=True)
class Fees:
    """EIP-1559, wei a unit of gas."""

    max_fee_wei: int
    max_priority_fee_wei: int


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that a unit of gas may cost, wei. A stop is worth more than a mark."""

    others_wei: int
    stops_wei: int

    def of(self, kind: str) -> int:
        return self.stops_wei if kind in URGENT else self.others_wei


def bumped(last: Fees, market: Fees | None, cap_wei: int) -> Fees | None:
    """What a replacement offers: an eighth more (rounded up), and no less than the market asks;
    None when that is above the cap.
    """
    asked = market or Fees(0, 0)
    priority = max(_an_eighth_more(last.max_priority_fee_wei), asked.max_priority_fee_wei)
    max_fee = max(_an_eighth_more(last.max_fee_wei), asked.max_fee_wei, priority)
    return None if max_fee > cap_wei else Fees(max_fee, priority)


def _an_eighth_more(wei: int) -> int:
    return max(wei + 1, -(-wei * BUMP_EIGHTHS // 8))


@dataclass(frozen=True, slots=True)
class NodeAnswers:
    """A number as the nodes report it."""

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
    report) go down as transactions are made.
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
        most_tip_wei = max(LEAST_TIP_CAP_WEI, MARKET_TIMES * self.tip_wei.middle)
        if least is None or fees is None or fees.max_priority_fee_wei > most_tip_wei:
            return None
        return Offer(fees, least.max_fee_wei)

    def _fees(self, base_fee_wei: int, tip_wei: int, cap_wei: int) -> Fees | None:
        """base * 2 + tip, at most the cap; None when every node's base fee is above it."""
        if self.base_fee_wei.least > cap_wei:
            return None
        max_fee_wei = min(min(base_fee_wei, cap_wei) * 2 + tip_wei, cap_wei)
        return Fees(max_fee_wei, min(tip_wei, max_fee_wei))


def _numbers(answers: Mapping[str, Sequence[Any]], place: int) -> list[int]:
    return [one for each in answers.values() if isinstance(one := each[place], int)]


class Quotes:
    """What the nodes say of their heads, the market, and our accounts' nonces, at one moment."""

    def __init__(
        self,
        answers: Mapping[str, Sequence[Any]],
        accounts: Sequence[str],
        rising: Collection[str] = (),
    ) -> None:
        """`rising`: nodes whose heads rise."""
        self._rising = rising
        self.heads = {
            name: head for name, each in answers.items() if (head := head_of(each[1])) is not None
        }
        self._answers = answers
        self._first = 2 + len(accounts)
        self._place = {account: n for n, account in enumerate(accounts)}
        tips = _numbers(answers, 0) or [TIP_WHEN_UNKNOWN_WEI]
        bases = [head.base_fee_wei or 0 for head in self.heads.values()] or [0]
        most_tip_wei = max(MOST_TIP_WEI, 2 * min(bases))
        # where none answers, nothing can be paid for
        balances = {one: _numbers(answers, 2 + n) or [0] for n, one in enumerate(accounts)}
        self.market = Market(
            NodeAnswers(min(bases), median_high(bases), max(bases)),
            NodeAnswers(*(min(f(tips), most_tip_wei) for f in (min, median_low, max))),
            {account: max(found) for account, found in balances.items()},
            {account: median_low(found) for account, found in balances.items()},
        )

    @property
    def head(self) -> BlockHeader:
        """The middle one, of two the higher."""
        number = median_high(sorted(head.number for head in self.heads.values()))
        return next(head for head in self.heads.values() if head.number == number)

    def heights(self) -> dict[str, int]:
        return {name: head.number for name, head in self.heads.items()}

    def rising_heights(self) -> dict[str, int]:
        """Of nodes whose heads rise; of all where none's does."""
        heights = self.heights()
        return {name: at for name, at in heights.items() if name in self._rising} or heights

    def reach(self) -> dict[str, float]:
        """Up to which block each node has, or is about to have, what there is."""
        return {name: inf if name in self._rising else at for name, at in self.heights().items()}

    def pending(self, account: str) -> list[int]:
        """The counts with what waits that are named, highest first. One address may be two nodes:
        what is in blocks is in them.
        """
        place = self._first + 2 * self._place[account]
        named = [
            [c for c in each[place : place + 2] if isinstance(c, int)]
            for each in self._answers.values()
        ]
        return sorted({max(counts) for counts in named if counts}, reverse=True)

    def count(self, account: str) -> int:
        """Transactions that are in blocks."""
        return _most(self._counts(account))

    def reachable(self, account: str) -> int:
        """The highest nonce that can be mined, by the counts with what waits."""
        return _most(self.pending(account))

    def is_short(self, account: str) -> bool:
        """It may pay for no stop at all."""
        least_wei: int = LEAST_STOP_GAS * self.market.base_fee_wei.least
        return self.market.sure_wei[account] < max(1, least_wei)

    def used(self, account: str) -> int:
        """Transactions that some node has in blocks."""
        return max(self._counts(account), default=0)

    def mined(self, account: str) -> int:
        """Transactions that every node has in blocks."""
        return min(self._counts(account), default=0)

    def _counts(self, account: str) -> list[int]:
        return _numbers(self._answers, self._first + 2 * self._place[account] + 1)


def _most(counts: Collection[int]) -> int:
    """The most that is named, unless it is far above all others."""
    found = sorted(set(counts), reverse=True)
    while len(found) > 1 and found[0] > found[1] + MOST_AHEAD:
        found = found[1:]
    return next(iter(found), 0)


def of_each(
    rpc: Nodes,
    requests: Sequence[Request],
    among: Collection[str] | None = None,
    parse: Sequence[Parse[Any]] | None = None,
    others_s: float = OTHERS_S,
) -> dict[str, list[Any]]:
    """What each node says (`among` these), by its name, a failed call as its error in place; one that
    is `others_s` later than another says nothing. Where all of them failed a moment ago, the one that
    answers first.
    """
    found = rpc.batch_of_each(requests, ASKED_S, among, parse, others_s)
    if found or not requests or (among is not None and set(among) != set(rpc.names)):
        return found
    try:
        with rpc.pinned():
            answers = rpc.batch_settled(requests, parse, ASKED_S)
            return {rpc.pinned_name or rpc.names[0]: answers}
    except RpcError:
        return {}


def quotes(rpc: Nodes, accounts: Sequence[str]) -> Quotes:
    """Of every node that answers."""
    return quotes_and(rpc, accounts, (), ())[0]


def quotes_and(
    rpc: Nodes,
    accounts: Sequence[str],
    requests: Sequence[Request],
    parse: Sequence[Parse[Any]],
) -> tuple[Quotes, dict[str, list[Any]]]:
    """In one request, with what else is asked of each node, and its answers to that."""
    asked: list[Request] = [
        ("eth_maxPriorityFeePerGas", []),
        ("eth_getBlockByNumber", ["latest", False]),
        *(("eth_getBalance", [account, "latest"]) for account in accounts),
    ]
    for account in accounts:
        asked += [("eth_getTransactionCount", [account, at]) for at in ("pending", "latest")]
    counts, wei = [results.number] * (2 * len(accounts)), [results.wei] * len(accounts)
    parsers = [results.fee, results.header, *wei, *counts, *parse]
    answers = of_each(rpc, [*asked, *requests], parse=parsers)
    for name, each in answers.items():
        if isinstance(each[1], BlockHeader):
            rpc.saw(name, each[1])
    rising = {name for name in answers if rpc.head_age_s(name) < STILL_S}
    more = {name: each[len(asked) :] for name, each in answers.items()}
    return Quotes(answers, accounts, rising), more


def gas_of_calls(rpc: Nodes, calls: Mapping[int, tuple[str, str, bytes]]) -> dict[int, int | str]:
    """How much gas each call (sender, contract, data) needs at the first node that lets it pass, or
    why all refuse it.
    """
    found: dict[int, int | str] = dict.fromkeys(calls, "no node answers")
    for node in rpc.names:
        left = [number for number in calls if not isinstance(found[number], int)]
        if not left:
            break
        asked: list[Request] = [
            (
                "eth_estimateGas",
                [{"from": sender, "to": to, "data": hex_of(data), "gas": hex(TRIAL_GAS)}, "latest"],
            )
            for sender, to, data in (calls[number] for number in left)
        ]
        answers = of_each(rpc, asked, [node], [results.number] * len(asked)).get(node, [])
        found |= {number: _gas_of(answer) for number, answer in zip(left, answers, strict=False)}
    return found


def _gas_of(answer: Any) -> int | str:
    """Of an estimate, with a margin; or the refusal's name, or its words, as of a token that
    reverts with a sentence.
    """
    if isinstance(answer, RpcError):
        found = decode_revert(answer.revert_data) if isinstance(answer, RpcRevertedError) else None
        if found is None:
            return str(answer)
        return cleaned(found.args["message"]) or found.name if found.name == "Error" else found.name
    return answer * GAS_MARGIN_PERCENT // 100 if FILLER_GAS <= answer <= TRIAL_GAS else "absurd gas"
