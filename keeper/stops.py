"""Sends `enforceStopLine()`: the only way in which the keeper stops a vault.

    lens of any node: it fell --> eth_call at each node: one lets it pass --> signed --> every node
                                     '-- all refuse: again, TRIES_S            '-- each tick: sent again, raised; mined? reverted? over?
                                                                                        '-- Postgres: intent and attempts, afterwards

Laws
- The vault measures by itself, in the block that takes the transaction: a wrong word costs a call
  that reverts. So nobody votes, and nothing is waited for: neither leadership nor Postgres.
- The nonce is the lowest one from the highest pending count on that any node names and that no stop
  of this process holds. What is in no block, though a block came since, is raised at its nonce; what
  is out of reach of the counts, or was used, is signed again at another one, each time after twice
  as many blocks. A stop too many reverts.
- A receipt counts once a second node has it too, where there is one that has the block or rises.
- Of one node's word alone (its lens and its eth_call) stops of at most MOST_ALONE blocks are
  outstanding or ended `AboveStopLine` within ALONE_S. Beyond that another node that answers has to
  let the stop pass. A word that led to a revert rests for its vault REVERTED_REST_S; where nodes
  agreed, as they do when a price goes up and down again, AGREED_REST_S after the first MOST_ALONE
  such blocks within ALONE_S. What a node shows as mined well, and none as failed, is not
  outstanding: who withholds receipts holds up nobody.
- Where no node lets any of the first STOPS_A_TURN pass, the rest of that lens's word waits AGAIN_S.
- A stop is over once its block is safe: one node's word does not send it again, where there are two.
"""

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import structlog

from core.chain import results
from core.chain.abi import decode_revert
from core.chain.errors import RpcError, RpcRevertedError
from core.chain.nodes import Request
from core.hexes import hex_of
from keeper.attempts import (
    Draft,
    Receipts,
    agreed,
    broadcast,
    ends_of,
    first_free_nonce,
    in_parts,
    receipts,
    safe_block,
)
from keeper.funds import STOP_GAS
from keeper.gas import (
    GAS_MARGIN_PERCENT,
    LEAST_STOP_GAS,
    Fees,
    Market,
    Offer,
    Quotes,
    of_each,
    quotes,
    quotes_and,
)
from keeper.intents import Desk
from keeper.signers import UNSIGNED, words_of
from keeper.state import Role, VaultReading
from keeper.stop_rows import ENFORCE, Attempt, Stop, StopEnd, StopRows

STOPS_A_TURN = 25
# What a stop may use. The first pays for a dozen adapters, the last for as many as a vault can have.
GAS_STEPS = (STOP_GAS, 2_000_000, 10_000_000)
ABOVE_STOP_LINE = "AboveStopLine"
# what more gas does not change
FINAL = frozenset(
    {ABOVE_STOP_LINE, "MandateStopped", "MandateEnded", "MandateNotFunded", "SettleGrace"}
)
TRIES, TRIES_S = 8, 0.5  # of a stop that no node lets pass, in a turn
MOST_ALONE, ALONE_S = 10, 3_600.0
REVERTED_REST_S, AGREED_REST_S = 60.0, 5.0  # of one node's word, and of several nodes'
OVER_REST_S = 600.0  # of one node's word, that a vault works again
MOST_LOOKED_AT = 1_000  # nonces below a stop
SENT_S = 0.2  # a slow node takes bytes beside what comes next
AGAIN_S = 1.0  # between two looks at the same stop, or at a lens that no trial bears out
SILENT_S = 5.0  # for so long a signer that failed is asked last

log = structlog.get_logger("keeper")


class _VaultWords:
    """What nodes say of one vault in this turn: who calls it fallen, and who lets the stop pass."""

    def __init__(self, due: VaultReading) -> None:
        self.reading = due
        self.vault = due.vault
        self.callers = [due.node]
        self.passed: dict[str, int] = {}  # gas, by node
        self.refused: dict[str, str] = {}

    def note(self, node: str, gas: int, answer: Any) -> None:
        """What its eth_call comes to with so much gas."""
        if not isinstance(answer, RpcError):
            self.passed.setdefault(node, gas)
            self.refused.pop(node, None)
        elif node not in self.passed:
            self.refused[node] = _why(answer)

    @property
    def words(self) -> frozenset[str]:
        return frozenset((*self.callers, *self.passed))


class Stops:
    """`now`: aware UTC; `clock`: seconds that only rise."""

    def __init__(
        self,
        desk: Desk,
        *,
        now: Callable[[], datetime],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """A key for stops alone is used before the keeper's."""
        own = {r: desk.signers[r] for r in (Role.STOP, Role.KEEPER) if r in desk.signers}
        roles = {signer.address: role for role, signer in own.items()}
        self._rpc, self._caps = desk.rpc, desk.caps
        self._rows = StopRows(desk=desk, roles=roles, now=now, clock=clock)
        self._signers = {signer.address: signer for signer in own.values()}
        self._clock = clock
        self._followed_at = float("-inf")
        self._silent_until: dict[str, float] = {}  # by account
        self._ranks: dict[str, int] = {}  # which of the counts that nodes name is taken, by account
        self._rests: dict[tuple[str, str], float] = {}  # until when, by vault and node
        self._refusals: dict[str, int] = {}  # in a row, by vault
        self._unheard: dict[str, float] = {}  # until when, by node
        self._spent: dict[frozenset[str], dict[int, float]] = {}  # by words: when, by block

    # What is sent

    def send(self, due: Sequence[VaultReading]) -> None:
        """Send a stop for each vault that has none under way, those first that were refused least
        often. Where no node lets one of the first pass, the others wait. Never raises what nodes,
        signers or the database do.
        """
        with self._rows.lock:
            if claims := self._claims(due):
                self._send_all(claims)
            if self._rows.stops and self._clock() - self._followed_at >= AGAIN_S:
                self._look()

    def _send_all(self, claims: Sequence[_VaultWords]) -> None:
        """What the nodes say of nonces, fees and the first of them comes in one request."""
        first, accounts = claims[:STOPS_A_TURN], list(self._signers)
        trials = _trials([one.vault for one in first], accounts[0], STOP_GAS)
        nodes, trial_answers = quotes_and(self._rpc, accounts, trials, [results.code] * len(first))
        if not nodes.heads:
            log.warning("stops wait", why="no node returns its latest block", stops=len(claims))
            return
        for node, answers in trial_answers.items():
            for claim, answer in zip(first, answers, strict=True):
                claim.note(node, STOP_GAS, answer)
        is_borne_out = False
        for group in in_parts(claims, STOPS_A_TURN):
            is_borne_out |= self._send(group, nodes)
            if not is_borne_out and len(claims) > STOPS_A_TURN:
                until = self._clock() + AGAIN_S
                self._unheard |= dict.fromkeys((n for one in group for n in one.callers), until)
                return

    def _claims(self, due: Sequence[VaultReading]) -> list[_VaultWords]:
        now, found = self._clock(), dict[str, _VaultWords]()
        self._rests = {place: until for place, until in self._rests.items() if until > now}
        for one in due:
            stop = self._rows.stops.get(one.vault)
            if stop is not None and stop.slots:
                stop.is_doubted |= stop.receipt is not None
            elif one.vault in found:
                found[one.vault].callers.append(one.node)
            elif (one.vault, one.node) not in self._rests and self._unheard.get(one.node, 0) <= now:
                found[one.vault] = _VaultWords(one)
        return sorted(found.values(), key=lambda one: self._refusals.get(one.vault, 0))

    def _send(self, claims: Sequence[_VaultWords], nodes: Quotes) -> bool:
        """Whether a node lets one of them pass."""
        sender = self._order(nodes)[0]
        self._try(claims, sender)
        sent = list[Attempt]()
        for claim in claims:
            if (stop := self._stop(claim, nodes)) is not None:
                attempt = self._signed(stop, nodes)
                sent += [] if attempt is None else [attempt]
        self._broadcast(sent)
        return any(claim.passed for claim in claims)

    def _stop(self, claim: _VaultWords, nodes: Quotes) -> Stop | None:
        """None: it waits."""
        if not claim.passed:
            self._refusals[claim.vault] = self._refusals.get(claim.vault, 0) + 1
            log.info("stop waits", vault=claim.vault, why="refused", refused=claim.refused)
            return None
        self._refusals.pop(claim.vault, None)
        if claim.vault in self._rows.over and len(claim.passed) < min(2, len(self._rpc.names)):
            until = self._clock() + OVER_REST_S
            self._rests |= dict.fromkeys(((claim.vault, one) for one in claim.callers), until)
            return None
        words, others = claim.words, claim.refused.keys() - claim.words
        if len(words) == 1 and others and self._is_spent(words):
            why = "too many stops reverted on the report of one node, and no other node confirms it"
            _wait(claim.vault, why, nodes=sorted(words))
            return None
        stop = self._rows.stops.get(claim.vault)
        if stop is None:
            stop = self._rows.new(claim.reading, nodes.head)
        stop.words, stop.wanted_at, stop.end = words, self._clock(), None
        stop.gas = max(stop.gas, *claim.passed.values())
        return stop

    def _is_spent(self, words: frozenset[str]) -> bool:
        """Whether stops of these words, of as many blocks as may be, are outstanding or reverted
        above the line.
        """
        since = self._clock() - ALONE_S
        ended = {block for block, at in self._spent.get(words, {}).items() if at > since}
        outstanding = {
            stop.block
            for stop in self._rows.stops.values()
            if stop.words == words
            and stop.slots
            and stop.receipt is None
            and not stop.is_seen
            and stop.wanted_at > since
        }
        return len(ended | outstanding) >= MOST_ALONE

    # Who lets it pass

    def _try(self, claims: Sequence[_VaultWords], sender: str) -> None:
        """Each at every node, and again while none lets it pass: one address may lead to several
        nodes, and some of them lag.
        """
        until = self._clock() + TRIES_S
        for n in range(1, TRIES):
            if n > 1 and self._clock() >= until:
                return
            left = [claim for claim in claims if not claim.passed]
            for gas in GAS_STEPS if left else ():
                for node, answers in self._called([one.vault for one in left], sender, gas).items():
                    for claim, answer in zip(left, answers, strict=True):
                        claim.note(node, gas, answer)
                left = [claim for claim in left if not FINAL.issuperset(claim.refused.values())]

    def _called(self, vaults: Sequence[str], sender: str, gas: int) -> dict[str, list[Any]]:
        """What each node says."""
        requests = _trials(vaults, sender, gas)
        return of_each(self._rpc, requests, parse=[results.code] * len(vaults))

    # Nonces, fees and signatures

    def _order(self, nodes: Quotes) -> list[str]:
        """Accounts, those first that can sign and pay."""
        now = self._clock()
        return sorted(
            self._signers,
            key=lambda one: (self._silent_until.get(one, now) > now, nodes.is_short(one)),
        )

    def _signed(self, stop: Stop, nodes: Quotes) -> Attempt | None:
        """Its next attempt, at a nonce of its own, by the first key that can; None: it waits."""
        for account in self._order(nodes):
            offer = nodes.market.offered(self._caps.stops_wei, is_stop=True)
            counts = nodes.pending(account)
            if offer is None:
                _wait(stop.vault, "the fee is above the cap", cap_wei=self._caps.stops_wei)
                return None
            if not counts:
                continue
            held = self._rows.held(account)
            rank = self._ranks[account] = max(self._ranks.get(account, 0), stop.tries)
            nonce = first_free_nonce(counts[rank % len(counts)], held)
            attempt = self._attempt(stop, account, nonce, offer, nodes)
            if attempt is not None:
                stop.tries = rank + 1
                return attempt
        return None

    def _attempt(
        self, stop: Stop, account: str, nonce: int, offer: Offer, nodes: Quotes
    ) -> Attempt | None:
        market = nodes.market
        paid = self._paid(stop, account, offer, market)
        if paid is None:
            _wait(stop.vault, "the key is short of ETH", signer=account,
                       balance_wei=market.balances_wei[account])  # fmt: skip
            return None
        fees, gas = paid
        draft = Draft(stop.intent, account, nonce, fees, gas)
        try:
            tx = draft.signed(self._signers[account], nodes.head.number)
        except UNSIGNED as error:
            _wait(stop.vault, "it is not signed", signer=account, error=words_of(error))
            self._silent_until[account] = self._clock() + SILENT_S
            return None
        market.pay(account, gas * fees.max_fee_wei)
        attempt = Attempt(tx, gas, nodes.heights())
        stop.slots.setdefault(attempt.slot, []).append(attempt)
        stop.block = stop.block or nodes.head.number
        return attempt

    def _paid(
        self, stop: Stop, account: str, offer: Offer, market: Market
    ) -> tuple[Fees, int] | None:
        """What the account can pay: less for each unit, or fewer units where it passes with them."""
        left, gas = market.balances_wei[account], stop.gas or STOP_GAS
        if (fees := offer.within(left // gas)) is not None:
            return fees, gas
        fees = offer.within(offer.least_max_fee_wei)
        fewer = 0 if fees is None else left // max(1, fees.max_fee_wei)
        if fees is None or fewer < LEAST_STOP_GAS:
            return None
        answers = self._called([stop.vault], account, fewer).values()
        return (fees, fewer) if any(not isinstance(one, RpcError) for (one,) in answers) else None

    def _broadcast(self, attempts: Sequence[Attempt]) -> None:
        """To every node, in the order of nonces."""
        in_order = {one.tx: one for one in sorted(attempts, key=lambda one: one.slot)}
        for part, by_node in broadcast(self._rpc, list(in_order), SENT_S):
            is_everywhere = by_node.keys() == set(self._rpc.names)
            for tx in part:
                in_order[tx].sent_at = self._clock() if is_everywhere else None

    # What became of them

    def follow(self) -> None:
        """Look at what is under way, send it again or raise it. Once a look at the vaults; never
        raises what nodes or signers do.
        """
        with self._rows.lock:
            if self._rows.all():
                self._look()

    def write(self) -> None:
        """Read what other processes left, and write down what is not written yet. Once a tick; never
        raises what the database does.
        """
        self._rows.read()
        self._rows.write()

    def reserved(self, account: str) -> frozenset[int]:
        """Nonces of this account that stops hold."""
        return frozenset(self._rows.held(account))

    def _look(self) -> None:
        self._followed_at = self._clock()
        nodes = quotes(self._rpc, list(self._signers))
        if not nodes.heads:
            return
        safe = self._safe(nodes)
        asked = [
            stop
            for stop in self._rows.stops.values()
            if stop.slots
            and stop.end is None
            and (stop.receipt is None or stop.is_doubted or stop.receipt.block_number <= safe)
        ]
        asked.sort(key=lambda stop: min(nonce for _, nonce in stop.slots))
        for group in in_parts(asked, STOPS_A_TURN):
            answers = receipts(self._rpc, [one.hash for stop in group for one in stop.attempts])
            if not answers:
                break
            for stop in group:
                self._judge(stop, answers, nodes, safe)
        self._go_on(nodes)

    def _safe(self, nodes: Quotes) -> int:
        """The highest block that a stop is over in; -1 when none is mined below the newest one."""
        mined = [s.receipt.block_number for s in self._rows.stops.values() if s.receipt is not None]
        is_waiting = mined and max(nodes.heights().values()) > min(mined)
        return safe_block(self._rpc, nodes) if is_waiting else -1

    def _judge(self, stop: Stop, answers: Receipts, nodes: Quotes, safe: int) -> None:
        each = [(one, agreed([one.tx], answers, nodes.reach())) for one in stop.attempts]
        found = [(one, mined[1]) for one, mined in each if mined is not None]
        found.sort(key=lambda one: -one[1].status)
        stop.is_doubted = False
        stop.is_seen = ends_of([one.tx for one in stop.attempts], answers) == {1}
        if not found:
            stop.lose_receipt(nodes.head.number)
            return
        attempt, receipt = found[0]  # one at another nonce may have reverted, since this one did it
        stop.mined, stop.receipt = attempt, receipt
        if receipt.status == 1:
            stop.end = StopEnd.OVER if receipt.block_number <= safe else None
            return
        self._rows.revert(stop)
        why = self._why_reverted(stop, attempt, receipt.block_hash)
        log.warning("stop reverted", vault=stop.vault, why=why, nodes=sorted(stop.words))
        words, now, is_agreed = stop.words, self._clock(), len(stop.words) > 1
        rest_s = AGREED_REST_S if is_agreed and not self._is_spent(words) else REVERTED_REST_S
        self._rests |= dict.fromkeys(((stop.vault, node) for node in words), now + rest_s)
        if is_agreed or why == ABOVE_STOP_LINE:
            spent = self._spent.get(words, {}) | {receipt.block_number: now}
            self._spent[words] = {n: at for n, at in spent.items() if at > now - ALONE_S}

    def _why_reverted(self, stop: Stop, attempt: Attempt, block_hash: str) -> str:
        """What the vault says at the end of that block, by those nodes whose word it was not where
        there are such.
        """
        call = {
            "from": attempt.tx.signer,
            "to": stop.vault,
            "data": hex_of(ENFORCE),
            "gas": hex(attempt.gas),
        }
        asked: list[Request] = [("eth_call", [call, {"blockHash": block_hash}])]
        answers = of_each(self._rpc, asked, parse=[results.code])
        reasons = {n: _why(one) for n, (one,) in answers.items() if isinstance(one, RpcError)}
        others = [why for name, why in reasons.items() if name not in stop.words]
        return next(iter(others or reasons.values()), "unknown")

    def _go_on(self, nodes: Quotes) -> None:
        """Send again what is in no block; raise the lowest nonce of each key, and what pays less
        than the base fee; sign again what is out of reach.
        """
        due, lowest = list[Attempt](), dict[str, int]()
        waiting = [
            (stop, slot)
            for stop in self._rows.all()
            for slot in stop.open()
            if slot[0] in self._signers and slot[1] >= nodes.mined(slot[0])
        ]
        for _, (account, nonce) in waiting:
            lowest[account] = min(nonce, lowest.get(account, nonce))
        for stop, slot in waiting:
            newest = stop.slots[slot][-1]
            has_waited = newest.has_waited(nodes.heights())
            is_cheap = newest.fees.max_fee_wei < nodes.market.base_fee_wei.middle
            if has_waited and (slot[1] == lowest[slot[0]] or is_cheap):
                newest = self._raised(stop, newest, nodes) or newest
            due += [newest] if has_waited or newest.is_due(self._clock()) else []
        for stop in self._rows.all():
            open_slots = [slot for slot in stop.open() if slot in {one for _, one in waiting}]
            stop.is_clear = not any(n < max(nodes.pending(a), default=0) for a, n in open_slots)
            if stop.end is None and stop.receipt is None and self._is_lost(stop, nodes):
                again = self._signed(stop, nodes)
                due += [] if again is None else [again]
        self._broadcast(due)

    def _is_lost(self, stop: Stop, nodes: Quotes) -> bool:
        """Its newest nonce has waited, each twice as long as the one before, and cannot be mined: it
        is above one that nobody holds, or another transaction has it, or its key is no longer ours or
        pays for nothing.
        """
        if stop.newest is None:
            return False
        (account, nonce), heights = stop.newest, nodes.heights()
        first, patience = stop.slots[stop.newest][0], 1 << len(stop.slots) - 1
        if account not in self._signers:
            return first.has_waited(heights, 2 * patience)
        held = self._rows.held(account)
        gap = range(min(nodes.pending(account), default=nonce), nonce)[:MOST_LOOKED_AT]
        if any(free not in held for free in gap):
            return first.has_waited(heights, patience)
        is_dry = nodes.is_short(account) and self._order(nodes)[0] != account
        return (is_dry or nonce < nodes.used(account)) and first.has_waited(heights, 2 * patience)

    def _raised(self, stop: Stop, last: Attempt, nodes: Quotes) -> Attempt | None:
        offer = nodes.market.raised(last.fees, self._caps.stops_wei, is_stop=True)
        if offer is None:
            _wait(stop.vault, "its fee is at the cap", max_fee_wei=last.fees.max_fee_wei)
            return None
        return self._attempt(stop, *last.slot, offer, nodes)


def _trials(vaults: Sequence[str], sender: str, gas: int) -> list[Request]:
    """Whether each lets a stop pass with so much gas."""
    limit = hex(gas * 100 // GAS_MARGIN_PERCENT)
    call = {"from": sender, "data": hex_of(ENFORCE), "gas": limit}
    return [("eth_call", [{**call, "to": vault}, "latest"]) for vault in vaults]


def _wait(vault: str, why: str, **more: Any) -> None:
    log.warning("stop waits", vault=vault, why=why, **more)


def _why(error: RpcError) -> str:
    found = decode_revert(error.revert_data) if isinstance(error, RpcRevertedError) else None
    return str(error)[:100] if found is None else found.name
