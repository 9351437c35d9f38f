"""The chain of a story: two venues whose prices move, vaults that fall with them, blocks, fees and reorgs.

Laws
- People's transactions are mined as they are sent; what the keeper sends waits in the pool and is mined, or not.
- Of every block that ever was the worth and the status of each vault are kept, by the block's hash: a mark is true if its
  worth was the vault's at a block of the height that it names, though that block may be orphaned by now.
- No reorg goes below the block at which the story begins.
"""

import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from core.chain import calldata
from core.chain.abi import function
from core.chain.rpc import RpcRefusedError
from core.db.engine import Database
from core.domain.blocks import BlockHeader
from tests.integration.chain_fixtures import CHAIN_ID, USDC, DeployedChain
from tests.integration.indexer.conftest import issue
from tests.integration.keeper.chaos.mempool import Mempool, hex_of
from tests.personas import DEPLOYER, OPERATOR, OWNER, Persona

GWEI = 10**9
NORMAL_WEI = GWEI
RICH_WEI = 20_000 * GWEI  # what people pay at most: their transactions are always mined
DEED_GAS = 2_000_000
ONE = 1_000_000  # a price of 1
FALLEN = 450_000  # with at least 100 USDC bought at 1 or above, below a floor of 95 %
HARMLESS = (1_300_000, 1_150_000, 1_050_000, 950_000, 900_000)
DANGEROUS = (830_000, 750_000, 500_000, FALLEN)
FLOORS_BPS = (500, 500, 200, 300)
STEADY, STEADY_BPS = 1, 2_000  # the second vault never falls: of it there are marks as long as the story goes


@dataclass(frozen=True, slots=True)
class Site:
    """A vault: its floor, and the venue (0 or 1) in which its money is."""

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
    worths: dict[tuple[str, int], set[int]] = field(default_factory=dict)  # by vault and height, of every block that was there
    foreign: set[str] = field(default_factory=set)  # hashes of what the keepers' keys sent elsewhere
    disturbances: int = 0  # reorgs and foreign transactions: what may leave a stop of ours behind that has no effect
    fallen_for_good: bool = False
    _is_high: bool = False
    _raw_of: dict[str, str] = field(default_factory=dict)
    _venues: list[str] = field(default_factory=list)

    @property
    def head(self) -> BlockHeader:
        header = self.chain.reader.header()
        assert header is not None
        return header

    # The beginning, with a block for each transaction

    def build(self, database: Database, count: int) -> None:
        """Vaults at two venues, funded and invested; then blocks come only when the story makes them."""
        deployed = [self.chain, self._second_venue()]
        self._venues = [one.contracts["test_venue"] for one in deployed]
        for number in range(count):
            venue = number if number < 2 else self.luck.randrange(2)
            loss_bps = STEADY_BPS if number == STEADY else self.luck.choice(FLOORS_BPS)
            floor = 1_000 * USDC * (10_000 - loss_bps) // 10_000
            chain, public_id = deployed[venue], f"m_keeper{number:04d}"
            terms = chain.terms(public_id, nonce=number + 1, stop_floor=floor, stop_floor_bps=loss_bps)
            issue(self.chain, database, terms)
            vault, bought = chain.create_vault(terms), (100 if number == STEADY else self.luck.choice((100, 200, 300))) * USDC
            for _ in range(bought // (100 * USDC)):
                assert chain.buy(vault, 100 * USDC).status == 1
            self.sites.append(Site(vault, floor, venue, bought))
        self.chain.rpc.call("evm_setAutomine", [False])
        self.floor = self.head.number
        self._note_worths()

    def _second_venue(self) -> DeployedChain:
        chain, usdc = self.chain, self.chain.contracts["usdc"]
        venue = chain.deploy("TestVenue", usdc, OPERATOR.address, ONE)
        adapter = chain.deploy("TestVenueAdapter", usdc, venue)
        chain.succeed(OPERATOR, venue, calldata.call_by_signature("setAdapter(address)", [adapter]))
        chain.succeed(DEPLOYER, chain.contracts["factory"], calldata.list_adapter(adapter))
        chain.mint(venue, 1_000_000 * USDC)
        return DeployedChain(chain.anvil, {**chain.contracts, "test_venue": venue, "test_venue_adapter": adapter}, chain.start_block)

    # What people do: each answers the raw transaction

    def price(self, venue: int, price_e6: int) -> str:
        return self._signed(OPERATOR, self._venues[venue], calldata.set_price(price_e6))

    def some_price(self) -> list[str]:
        """A move of one venue; one that fell for good stays below every floor."""
        venue = self.luck.randrange(2)
        if venue == 0 and self.fallen_for_good:
            return [self.price(0, FALLEN - self.luck.randrange(100) * 1_000)]
        levels = self.luck.choices((HARMLESS, DANGEROUS), (3, 1))[0]
        return [self.price(venue, self.luck.choice(levels) + self.luck.randrange(1_000))]

    def noted_move(self) -> str:
        """Of the second venue, by more than one percent of any vault's worth there; it is dangerous for none."""
        self._is_high = not self._is_high
        return self.price(STEADY, HARMLESS[0] if self._is_high else HARMLESS[3])

    def owner_stops(self, site: Site) -> str:
        return self._signed(OWNER, site.address, calldata.stop("enough"))

    def foreign_transaction(self, signer: Persona, *, is_rich: bool) -> str:
        """One of the keeper's keys, sent by somebody else who has it too, at the next nonce of the chain."""
        fee_wei = RICH_WEI if is_rich else 2 * NORMAL_WEI
        raw = self._signed(signer, OWNER.address, "0x", fee_wei=fee_wei, priority_wei=fee_wei if is_rich else NORMAL_WEI)
        self.foreign.add(hex_of(raw))
        self.disturbances += 1
        return raw

    def _signed(self, sender: Persona, to: str, data: str, *, fee_wei: int = RICH_WEI, priority_wei: int = NORMAL_WEI) -> str:
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
        self._raw_of[hex_of(raw)] = raw
        return raw

    # Blocks

    def mine(self, raws: Sequence[str] = (), *, with_pool: bool = True) -> BlockHeader:
        """One block. `with_pool` False: whoever makes it favours others; what waits goes on waiting."""
        call = self.chain.rpc.call
        with self.pool.lock:
            at = max(self.head.timestamp + 1, int(time.time()))
            call("anvil_dropAllTransactions", [])
            call("anvil_setNextBlockBaseFeePerGas", [hex(self.base_fee_wei)])
            for raw in raws:
                self._send(raw)
            if with_pool:
                self.pool.pass_all_on()
            call("evm_setNextBlockTimestamp", [at])
            call("evm_mine", [])
            call("anvil_dropAllTransactions", [])
            self.pool.prune()
            self.pool.pass_all_on()
        return self._note_worths()

    def reorg(self, depth: int, longer: int, keep: float, *, keeps_ours: bool) -> str:
        """Replace the newest blocks. `keep`: the share of people's transactions that come again; `keeps_ours`: the keeper's too."""
        depth = min(depth, self.head.number - self.floor)
        if depth == 0:
            self.mine()
            return "mine one block"
        self.disturbances += 1
        with self.pool.lock:
            newest = self.chain.reader.headers(range(self.head.number - depth + 1, self.head.number + 1))
            hashes = [tx for header in newest if header is not None for tx in header.transaction_hashes]
            self.chain.rpc.call("anvil_rollback", [depth])
            for tx in hashes:
                if tx in self.pool.seen and keeps_ours:
                    self.pool.offer(self.pool.seen[tx])
        kept = [self._raw_of[tx] for tx in hashes if tx in self._raw_of and self.luck.random() < keep]
        for _ in range(max(1, depth + longer)):
            now, kept = kept[: (some := self.luck.randint(0, 2))], kept[some:]
            self.mine(now, with_pool=self.luck.random() < 0.7)
        return f"replace {depth} blocks, {longer:+d}, {'with' if keeps_ours else 'without'} the keeper's, to {self.head.number}"

    def _send(self, raw: str) -> None:
        with suppress(RpcRefusedError):  # Its nonce may be used up on this branch.
            self.chain.rpc.call("eth_sendRawTransaction", [raw])

    # Looking

    def _note_worths(self) -> BlockHeader:
        head = self.head
        for site, (_, worth) in zip(self.sites, self.look(head.hash), strict=True):
            self.worths.setdefault((site.address, head.number), set()).add(worth)
        return head

    def look(self, at: str) -> list[tuple[str, int]]:
        """(status, worth) of each vault at a block."""
        status, worth = (function("MandateVault", name).selector for name in ("status", "worth"))
        calls = [("eth_call", [{"to": site.address, "data": data}, {"blockHash": at}]) for site in self.sites for data in (status, worth)]
        answers = [int(answer, 16) for answer in self.chain.rpc.batch(calls)]
        names = ("funding", "working", "stopped", "settled")
        return [(names[number], value) for number, value in zip(answers[::2], answers[1::2], strict=True)]

    def unstopped(self) -> list[str]:
        """Vaults that are at or below their floor at the head, and work."""
        looks = zip(self.sites, self.look(self.head.hash), strict=True)
        return [site.address for site, (status, worth) in looks if status == "working" and worth <= site.floor_usdc_e6]
