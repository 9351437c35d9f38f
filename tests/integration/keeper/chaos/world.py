"""The chain of a story: two venues whose prices move, vaults that fall with them, blocks, fees and
reorgs.

Laws
- People's transactions are mined as they are sent; what the keeper sends waits in the pool and is
  mined, or not.
- Of every block that ever was the worth and the status of each vault are kept, by the block's hash:
  a mark is true if its worth was the vault's at a block of the height that it names, though that
  block may be orphaned by now.
- No reorg goes below the block at which the story begins.
- A third venue has a mood (its adapter may revert, burn its gas, answer 2^255): a vault there whose
  worth nobody can read need not be stopped, and hinders no other.
"""

import random
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from core.chain.abi import call_by_signature, function
from core.chain.blocks import BlockHeader
from core.chain.errors import RpcRefusedError
from core.db.engine import Database
from core.mandate.chain import calldata
from core.mandate.venues import test_venue
from tests.integration.chain_fixtures import CHAIN_ID, USDC, DeployedChain
from tests.integration.indexer.conftest import issue
from tests.integration.keeper.chaos.mempool import Mempool, tx_hash_of
from tests.personas import DEPLOYER, KEEPER, OPERATOR, OWNER, STRANGER, Persona

GWEI = 10**9
NORMAL_WEI = GWEI
RICH_WEI = 20_000 * GWEI  # what people pay at most: their transactions are always mined
DEED_GAS = 2_000_000
ONE = 1_000_000  # a price of 1
FALLEN = 450_000  # with at least 100 USDC bought at 1 or above, below a floor of 95 %
HARMLESS = (1_300_000, 1_150_000, 1_050_000, 950_000, 900_000)
DANGEROUS = (830_000, 750_000, 500_000, FALLEN)
FLOORS_BPS = (500, 500, 200, 300)
MOODY, MOODY_VAULTS = 2, 2
WORTH_GAS = 5_000_000  # enough for an adapter that means it
NOTICE_S = 48 * 3_600 + 60  # a keeper's change takes so long
# the second vault never falls: of it there are marks as long as the story goes
STEADY, STEADY_BPS = 1, 2_000


STATUSES = ("funding", "working", "stopped", "settled")
# What an adapter answers to every question, as its code.
MOODS = {
    "reverts": "0x60006000fd",
    "burns its gas": "0x5b600056",
    "answers 2^255": "0x600160ff1b60005260206000f3",
}


@dataclass(frozen=True, slots=True)
class Site:
    """A vault: its floor, and the venue (0, 1, or the moody one) in which its money is."""

    address: str
    floor_usdc_e6: int
    venue: int
    bought_usdc_e6: int


@dataclass(slots=True)
class World:
    chain: DeployedChain
    luck: random.Random
    pool: Mempool
    sites: list[Site] = field(default_factory=list)
    floor: int = 0  # the height at which the story begins
    base_fee_wei: int = NORMAL_WEI
    # by height the highest of the blocks that were there
    base_fees_wei: dict[int, int] = field(default_factory=dict)
    # hashes of what the keepers' keys sent elsewhere
    foreign: set[str] = field(default_factory=set)
    # reorgs and foreign transactions: what may leave a stop of ours behind that has no effect
    disturbances: int = 0
    fallen_for_good: bool = False
    mood: str | None = None  # of MOODS
    dry: set[str] = field(default_factory=set)  # accounts without a wei
    _is_high: bool = False
    _next_at: int = 0  # no block is older from here on
    _raw_of: dict[str, str] = field(default_factory=dict)
    _venues: list[str] = field(default_factory=list)
    _moody_adapter: tuple[str, str] = ("", "")  # address and code

    @property
    def head(self) -> BlockHeader:
        header = self.chain.reader.header()
        assert header is not None
        return header

    # The beginning, with a block for each transaction

    def build(self, database: Database, count: int) -> None:
        """Vaults at two venues, funded and invested; then blocks come only when the story makes
        them.
        """
        deployed = [self.chain, self._another_venue(), self._another_venue()]
        self._venues = [one.contracts["test_venue"] for one in deployed]
        moody = deployed[MOODY].contracts["test_venue_adapter"]
        self._moody_adapter = moody, self.chain.rpc.call("eth_getCode", [moody, "latest"])
        for number in range(count + MOODY_VAULTS):
            venue = number if number < 2 else self.luck.randrange(2)
            venue = venue if number < count else MOODY
            loss_bps = STEADY_BPS if number == STEADY else self.luck.choice(FLOORS_BPS)
            floor = 1_000 * USDC * (10_000 - loss_bps) // 10_000
            chain, public_id = deployed[venue], f"m_keeper{number:04d}"
            terms = chain.terms(
                public_id, nonce=number + 1, stop_floor=floor, stop_floor_bps=loss_bps
            )
            issue(self.chain, database, terms)
            vault, bought = (
                chain.create_vault(terms),
                (100 if number == STEADY else self.luck.choice((100, 200, 300))) * USDC,
            )
            for _ in range(bought // (100 * USDC)):
                assert chain.buy(vault, 100 * USDC).status == 1
            self.sites.append(Site(vault, floor, venue, bought))
        self.chain.rpc.call("evm_setAutomine", [False])
        self.begin_here()

    def begin_here(self) -> None:
        """What is below is the story's past."""
        self.floor = self.head.number

    def _another_venue(self) -> DeployedChain:
        chain, usdc = self.chain, self.chain.contracts["usdc"]
        venue = chain.deploy("TestVenue", usdc, OPERATOR.address, ONE)
        adapter = chain.deploy("TestVenueAdapter", usdc, venue)
        chain.succeed(OPERATOR, venue, call_by_signature("setAdapter(address)", [adapter]))
        chain.succeed(DEPLOYER, chain.contracts["factory"], calldata.list_adapter(adapter))
        chain.mint(venue, 1_000_000 * USDC)
        return DeployedChain(
            chain.anvil,
            {**chain.contracts, "test_venue": venue, "test_venue_adapter": adapter},
            chain.start_block,
        )

    # What people do: each answers the raw transaction

    def price(self, venue: int, price_e6: int) -> str:
        return self._signed(OPERATOR, self._venues[venue], test_venue.set_price(price_e6))

    def some_price(self) -> list[str]:
        """A move of one venue; one that fell for good stays below every floor."""
        venue = self.luck.randrange(2)
        if venue == 0 and self.fallen_for_good:
            return [self.price(0, FALLEN - self.luck.randrange(100) * 1_000)]
        levels = self.luck.choices((HARMLESS, DANGEROUS), (3, 1))[0]
        return [self.price(venue, self.luck.choice(levels) + self.luck.randrange(1_000))]

    def noted_move(self) -> str:
        """Of the second venue, by more than one percent of any vault's worth there; it is dangerous
        for none.
        """
        self._is_high = not self._is_high
        return self.price(STEADY, HARMLESS[0] if self._is_high else HARMLESS[3])

    def owner_stops(self, site: Site) -> str:
        return self._signed(OWNER, site.address, calldata.stop("enough"))

    def rotate(self, to: Persona) -> None:
        """The factory names another keeper, two days from now."""
        factory = self.chain.contracts["factory"]
        self.disturbances += 1
        self.mine(
            [self._signed(DEPLOYER, factory, calldata.propose_keeper(to.address))], with_pool=False
        )
        self._next_at = self.head.timestamp + NOTICE_S
        self.mine([self._signed(to, factory, calldata.accept_keeper())], with_pool=False)

    def foreign_transaction(self, signer: Persona, *, is_rich: bool) -> str:
        """One of the keeper's keys, sent by somebody else who has it too, at the next nonce of the
        chain.
        """
        fee_wei = RICH_WEI if is_rich else 2 * NORMAL_WEI
        raw = self._signed(
            signer,
            OWNER.address,
            "0x",
            fee_wei=fee_wei,
            priority_wei=fee_wei if is_rich else NORMAL_WEI,
        )
        self.foreign.add(tx_hash_of(raw))
        self.disturbances += 1
        return raw

    def _signed(
        self,
        sender: Persona,
        to: str,
        data: str,
        *,
        fee_wei: int = RICH_WEI,
        priority_wei: int = NORMAL_WEI,
    ) -> str:
        transaction = {
            "chainId": CHAIN_ID,
            "nonce": self.chain.reader.transaction_count(sender.address),
            "to": to,
            "data": data,
            "value": 0,
            "gas": DEED_GAS,
            "maxFeePerGas": fee_wei,
            "maxPriorityFeePerGas": priority_wei,
        }
        raw = "0x" + sender.signer.sign_transaction(transaction).hex()
        self._raw_of[tx_hash_of(raw)] = raw
        return raw

    # Blocks

    def mine(self, raws: Sequence[str] = (), *, with_pool: bool = True) -> BlockHeader:
        """One block.

        `with_pool` False: whoever makes it favours others; what waits goes on waiting.
        """
        call = self.chain.rpc.call
        with self.pool.lock:
            at = max(self.head.timestamp + 1, int(time.time()), self._next_at)
            call("anvil_dropAllTransactions", [])
            self._set_moods()
            call("anvil_setNextBlockBaseFeePerGas", [hex(self.base_fee_wei)])
            for raw in raws:
                self._send(raw)
            if with_pool:
                self.pool.pass_all_on()
            call("evm_setNextBlockTimestamp", [at])
            call("evm_mine", [])
            number = self.head.number
            self.base_fees_wei[number] = max(self.base_fee_wei, self.base_fees_wei.get(number, 0))
            call("anvil_dropAllTransactions", [])
            self.pool.prune()
            self.pool.pass_all_on()
        return self.head

    def reorg(self, depth: int, longer: int, keep: float, *, keeps_ours: bool) -> str:
        """Replace the newest blocks.

        `keep`: the share of people's transactions that come again; `keeps_ours`: the keeper's too.
        """
        depth = min(depth, self.head.number - self.floor)
        if depth == 0:
            self.mine()
            return "mine one block"
        self.disturbances += 1
        with self.pool.lock:
            newest = self.chain.reader.headers(
                range(self.head.number - depth + 1, self.head.number + 1)
            )
            hashes = [
                tx for header in newest if header is not None for tx in header.transaction_hashes
            ]
            self.chain.rpc.call("anvil_rollback", [depth])
            # what no transaction gave is gone with the blocks
            self._give({KEEPER.address, STRANGER.address} - self.dry)
            for tx in hashes:
                if tx in self.pool.seen and keeps_ours:
                    self.pool.offer(self.pool.seen[tx])
        kept = [
            self._raw_of[tx] for tx in hashes if tx in self._raw_of and self.luck.random() < keep
        ]
        for _ in range(max(1, depth + longer)):
            now, kept = kept[: (some := self.luck.randint(0, 2))], kept[some:]
            self.mine(now, with_pool=self.luck.random() < 0.7)
        return (
            f"replace {depth} blocks, {longer:+d}, {'with' if keeps_ours else 'without'} the "
            f"keeper's, to {self.head.number}"
        )

    def _set_moods(self) -> None:
        """What no transaction does: it holds from the next block on, also after a reorg."""
        adapter, code = self._moody_adapter
        self.chain.rpc.call(
            "anvil_setCode", [adapter, code if self.mood is None else MOODS[self.mood]]
        )
        for account in self.dry:
            self.chain.rpc.call("anvil_setBalance", [account, "0x0"])
        self.pool.forget(lambda one: one.sender in self.dry)

    def fill(self) -> None:
        """Everybody has ETH again."""
        self._give(self.dry)
        self.dry.clear()

    def _give(self, accounts: Collection[str]) -> None:
        for account in accounts:
            self.chain.rpc.call("anvil_setBalance", [account, hex(10**22)])

    def _send(self, raw: str) -> None:
        with suppress(RpcRefusedError):  # Its nonce may be used up on this branch.
            self.chain.rpc.call("eth_sendRawTransaction", [raw])

    # Looking

    def highest_base_fee_wei(self, number: int, blocks: int) -> int:
        """Of the blocks at that height and at `blocks` below it, those that were replaced
        included.
        """
        return max(
            self.base_fees_wei.get(height, NORMAL_WEI)
            for height in range(number - blocks, number + 1)
        )

    def look(self, at: str) -> list[tuple[str, int | None]]:
        """(status, worth) of each vault at a block; None: nobody can read it."""
        status, worth = (function("MandateVault", name).selector for name in ("status", "worth"))
        statuses = self.chain.rpc.batch([self._question(site, status, at) for site in self.sites])
        steady = [site for site in self.sites if site.venue != MOODY]
        worths = dict(
            zip(
                steady,
                self.chain.rpc.batch([self._question(site, worth, at) for site in steady]),
                strict=True,
            )
        )
        worths |= {
            site: self._answer_or_none(site, worth, at)
            for site in self.sites
            if site.venue == MOODY
        }
        read = [_first_word(worths[site]) for site in self.sites]
        return [
            (STATUSES[int(number, 16)], value) for number, value in zip(statuses, read, strict=True)
        ]

    def _answer_or_none(self, site: Site, selector: str, at: str) -> str | None:
        method, params = self._question(site, selector, at)
        try:
            return str(self.chain.rpc.call(method, params))
        except RpcRefusedError:
            return None

    @staticmethod
    def _question(site: Site, selector: str, at: str) -> tuple[str, list[object]]:
        return "eth_call", [
            {"to": site.address, "data": selector, "gas": hex(WORTH_GAS)},
            {"blockHash": at},
        ]

    def unstopped(self) -> list[str]:
        """Vaults that are at or below their floor at the head, as far as it can be read, and
        work.
        """
        return [
            site.address
            for site, (status, worth) in self._looks()
            if status == "working" and is_due(site, worth)
        ]

    def _looks(self) -> list[tuple[Site, tuple[str, int | None]]]:
        return list(zip(self.sites, self.look(self.head.hash), strict=True))


def is_due(site: Site, worth: int | None) -> bool:
    return worth is not None and worth <= site.floor_usdc_e6


def _first_word(answer: str | None) -> int | None:
    """Of a worth and its part at cost, the worth."""
    return None if answer is None else int(answer[2:66], 16)
