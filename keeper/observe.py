"""All watched vaults at one block hash.

Which vaults and their floors: Postgres; their numbers: the chain, in batches of eth_call.

Laws
- One block: every call of a state names the same block by its hash (EIP-1898), so a node on another
  branch or behind answers an error, never another block's numbers.
- One vault's trouble is its own: a call has a gas limit, and a batch that fails is asked in halves
  down to the vault that is at fault (keeper.trouble), within the caller's patience. Only a pool
  that answers nothing at all ends the reading.
- What the preferred node does not say is asked of each other one before it counts as unknown; a
  node that refuses what another one knows rests (keeper.witness), and so does one whose head is not
  believed (keeper.heads).
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from core.chain import results
from core.chain.abi import AbiDecodeError, function
from core.chain.blocks import BlockHeader
from core.chain.errors import RpcError, RpcUnreachableError
from core.chain.nodes import Request
from core.chain.reader import VIEW_GAS
from core.hexes import bytes_of
from core.keeper.views import SourcedMark, WatchedVault
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.lifecycle import VaultStatus
from core.mandate.rules.terms import ZERO_ADDRESS
from core.money import BPS_ONE, UnixSeconds
from keeper import views
from keeper.floors import Floors
from keeper.heads import Heads
from keeper.state import FactoryKeepers, Head, SentMark, VaultReading, WrittenMark
from keeper.trouble import Trouble
from keeper.views import Ask, Numbers
from keeper.witness import Witnesses

VAULTS_A_BATCH = 120  # up to three calls each: one HTTP request
PART_S = 1.0  # that a part of a batch that failed may take
NEAR_BPS = 500  # of the floor above it: a vault that was read there last is looked at again soon
ALONE_A_LOOK = 400  # vaults in trouble whose status is read by itself
# after not even that was answered: twice as long each time
ALONE_REST_S, MOST_ALONE_REST_S = 2.0, 300.0

_KEEPER, _PENDING = (function("MandateVaultFactory", name) for name in ("keeper", "pendingKeeper"))


class Observer:
    """Reads vaults, and keeps which of them are in trouble."""

    def __init__(
        self,
        reader: VaultReader,
        chain_id: int,
        max_head_age_s: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.chain_id = chain_id
        self.max_head_age_s = max_head_age_s
        self.trouble = Trouble(clock)
        self.heads = Heads(reader.rpc, max_head_age_s, clock)
        self.floors = Floors(reader.rpc)
        self.witnesses = Witnesses(reader.rpc, self.heads, self.floors, clock)
        self.told_by: str | None = None  # the node that told the newest head
        self._reader = reader
        self._clock = clock
        self._alone_from, self._alone_rest_s = clock(), ALONE_REST_S
        # vaults that were well above their floor when they were read last
        self._far: set[str] = set()

    def head(self, now: UnixSeconds) -> Head:
        """The newest block that is believed.

        `now`: of this machine's clock. Errors: NoHeadError, RpcError.
        """
        self.told_by, head = self.heads.newest(now)
        return head

    def readings(
        self,
        watched: Sequence[WatchedVault],
        live: Mapping[str, frozenset[str]],
        head: Head,
        patience_s: float = 0.0,
    ) -> tuple[VaultReading, ...]:
        """Everything the jobs decide from.

        `live`: kinds of unfinished intents by vault. Errors: RpcError, as `numbers`.
        """
        self.floors.tell(
            {
                vault.vault: vault.floor_usdc_e6
                for vault in watched
                if vault.floor_usdc_e6 is not None
            }
        )
        self.floors.agree([vault.vault for vault in watched if vault.vault not in self.trouble])
        ended = {
            vault.vault
            for vault in watched
            if vault.ends_at is not None and vault.ends_at <= head.at
        }
        numbers = self.numbers([vault.vault for vault in watched], head, ended, patience_s)
        return tuple(
            _reading(vault, numbers[vault.vault], live.get(vault.vault, frozenset()))
            for vault in watched
        )

    def numbers(
        self,
        vaults: Sequence[str],
        head: Head,
        with_fee: Collection[str] = (),
        patience_s: float = PART_S,
    ) -> dict[str, Numbers]:
        """Status, worth and floor of each vault at the head's hash, and the fee owed of some.

        Vaults in trouble are asked last, until `patience_s` is over; of those that were not read
        only the status is asked. A floor that nobody told is read from the vault's code. Errors:
        RpcError when no node answers anything.
        """
        found: dict[str, Numbers] = {}
        sound = [vault for vault in vaults if vault not in self.trouble]
        for first in range(0, len(sound), VAULTS_A_BATCH):
            part = sound[first : first + VAULTS_A_BATCH]
            try:
                found |= self._read(part, head, with_fee)
            except RpcError:
                # a node that does not even answer this is the trouble itself
                self._reader.block_number()
                self.trouble.suspect(part)
        found |= self._troubled(
            [vault for vault in vaults if vault not in found], head, with_fee, patience_s
        )
        found |= self._said_by_others(
            [vault for vault, numbers in found.items() if numbers.is_open],
            head,
            with_fee,
            len(found),
        )
        unread = [vault for vault in vaults if vault not in found]
        statuses = self._statuses(unread[:ALONE_A_LOOK], head)
        return found | {
            v: Numbers(statuses.get(v), None, self.floors.of(v), views.UNREADABLE) for v in unread
        }

    def _troubled(
        self, vaults: Sequence[str], head: Head, with_fee: Collection[str], patience_s: float
    ) -> dict[str, Numbers]:
        until = self._clock() + patience_s
        found: dict[str, Numbers] = {}
        due = self.trouble.due(vaults)
        while due and self._clock() < until:
            group = due.popleft()
            try:
                found |= self._read(group.vaults, head, with_fee, PART_S)
            except RpcError:
                due += self.trouble.failed(group, is_near=self._is_near(group.vaults[0]))
            else:
                self.trouble.answered(group)
        return found

    def _is_near(self, vault: str) -> bool:
        return vault not in self._far

    def _read(
        self,
        vaults: Sequence[str],
        head: Head,
        with_fee: Collection[str],
        within_s: float | None = None,
    ) -> dict[str, Numbers]:
        """As the pool answers.

        Errors: RpcError, of the whole batch; also where each of its calls failed with one vault's.
        """
        said = views.read(
            partial(self._ask, within_s=within_s), vaults, head.hash, self.floors.kept, with_fee
        )
        found = {
            v: one
            if one.floor_usdc_e6 is not None
            else replace(one, floor_usdc_e6=self.floors.of(v))
            for v, one in said.items()
        }
        if len(found) > 1 and all(
            numbers.has_burnt and numbers.status is None for numbers in found.values()
        ):
            raise RpcUnreachableError("eth_call", ["every call of the batch failed"])
        for vault, numbers in found.items():
            self._note(vault, numbers)
            if numbers.has_burnt:
                self.trouble.waits(vault, is_near=self._is_near(vault))
        return found

    def _said_by_others(
        self, vaults: Sequence[str], head: Head, with_fee: Collection[str], asked: int
    ) -> dict[str, Numbers]:
        """Numbers of vaults that the node that was asked does not know, of the same block.

        It rests when others know most of `asked`.
        """
        preferred, left = (
            self._reader.rpc.pinned_name or self.told_by,
            list(vaults[:VAULTS_A_BATCH]),
        )
        found: dict[str, Numbers] = {}
        for name in self.witnesses.others(preferred):
            if not left:
                break
            try:
                said = views.read(
                    partial(self.witnesses.ask_of, name),
                    left,
                    head.hash,
                    self.floors.kept,
                    with_fee,
                )
            except RpcError:
                continue
            found |= {vault: numbers for vault, numbers in said.items() if not numbers.is_open}
            left = [vault for vault in left if vault not in found]
        for vault, numbers in found.items():
            self._note(vault, numbers)
        if 2 * len(found) > min(asked, VAULTS_A_BATCH):
            self.witnesses.doubt(preferred, "refuses")
        return found

    def _note(self, vault: str, numbers: Numbers) -> None:
        """Its floor, and how near to it the vault is."""
        if numbers.floor_usdc_e6 is None:
            return
        self.floors.note(vault, numbers.floor_usdc_e6)
        if numbers.worth_usdc_e6 is not None:
            is_far = numbers.worth_usdc_e6 * BPS_ONE > numbers.floor_usdc_e6 * (BPS_ONE + NEAR_BPS)
            (self._far.add if is_far else self._far.discard)(vault)

    def _statuses(self, vaults: Sequence[str], head: Head) -> dict[str, VaultStatus]:
        """Of those that answer: what makes a worth fail leaves the status readable."""
        if self._clock() < self._alone_from:
            return {}
        try:
            found = views.statuses(partial(self._ask, within_s=PART_S), vaults, head.hash)
        except RpcError:
            self._alone_from = self._clock() + self._alone_rest_s
            self._alone_rest_s = min(2 * self._alone_rest_s, MOST_ALONE_REST_S)
            return {}
        self._alone_rest_s = ALONE_REST_S
        return found

    def newest_statuses(self, vaults: Sequence[str], head: Head) -> dict[str, VaultStatus]:
        """Of those that answer, at the head's hash. Errors: RpcError."""
        return views.statuses(self._ask, vaults, head.hash)

    def safe_number(self) -> int | None:
        """The highest block that any node calls safe; None when none names one."""
        said = self._reader.rpc.batch_of_each(
            [("eth_getBlockByNumber", ["safe", False])], PART_S, parse=[results.header]
        )
        return max(
            (safe.number for (safe,) in said.values() if isinstance(safe, BlockHeader)),
            default=None,
        )

    def statuses_of_each(self, vaults: Sequence[str], tag: str) -> list[dict[str, VaultStatus]]:
        """What each node says of these at the block that it calls `safe` or `latest`; a node
        without one says nothing.
        """
        found = []
        for name in self._reader.rpc.names:
            try:
                found.append(views.statuses(partial(self.witnesses.ask_of, name), vaults, tag))
            except RpcError:
                continue
        return found

    def keepers(self, head: Head, own: str | None) -> FactoryKeepers | None:
        """Whom the factory names at the head's hash; None when it gives no usable answer.

        Errors: RpcUnreachableError.

        One node that names `own` is enough; a proposal of `own` counts when every node tells it.
        """
        found = self._keepers(self._ask, head)
        if own is None or (found is not None and found.named == own != found.pending):
            return found
        others = [
            said
            for name in self.witnesses.others(self.told_by)
            if (said := self._keepers_of(name, head)) is not None
        ]
        if found is None:
            return others[0] if others else None
        named = own if any(said.named == own for said in others) else found.named
        pending = found.pending if all(said.pending == found.pending for said in others) else None
        return FactoryKeepers(found.factory, named, pending, found.eta)

    def _keepers_of(self, name: str, head: Head) -> FactoryKeepers | None:
        try:
            return self._keepers(partial(self.witnesses.ask_of, name), head)
        except RpcError:
            return None

    def _keepers(self, ask: Ask, head: Head) -> FactoryKeepers | None:
        factory = self._reader.contracts["factory"]
        calls: list[Request] = [
            (
                "eth_call",
                [
                    {"to": factory, "data": called.selector, "gas": hex(VIEW_GAS)},
                    {"blockHash": head.hash},
                ],
            )
            for called in (_KEEPER, _PENDING)
        ]
        named, pending = ask(calls)
        # an error stands in its place
        if not (isinstance(named, str) and isinstance(pending, str)):
            return None
        try:
            (named_address,) = _KEEPER.decode_output(bytes_of(named))
            proposed, eta = _PENDING.decode_output(bytes_of(pending))
        except (AbiDecodeError, ValueError):
            return None
        return FactoryKeepers(
            factory, named_address, None if proposed == ZERO_ADDRESS else proposed, UnixSeconds(eta)
        )

    def _ask(self, requests: Sequence[Request], within_s: float | None = None) -> list[Any]:
        return self._reader.rpc.batch_settled(requests, within_s=within_s)


def _reading(vault: WatchedVault, numbers: Numbers, live: frozenset[str]) -> VaultReading:
    return VaultReading(
        vault=vault.vault,
        public_id=vault.public_id,
        status=numbers.status,
        worth_usdc_e6=numbers.worth_usdc_e6,
        floor_usdc_e6=numbers.floor_usdc_e6,
        source=numbers.source,
        last_sent=_last_sent(vault),
        ends_at=vault.ends_at,
        fee_owed_usdc_e6=numbers.fee_owed_usdc_e6,
        last_written=None if vault.last_written is None else _written(vault.last_written),
        live=live,
        lacks_mark=vault.lacks_mark,
    )


def _last_sent(vault: WatchedVault) -> SentMark:
    sent = vault.last_sent
    if sent is None or sent.worth_usdc_e6 is None:
        return SentMark(vault.budget_usdc_e6, 0, UnixSeconds(vault.created_at))
    return SentMark(sent.worth_usdc_e6, sent.block_number, UnixSeconds(int(sent.at.timestamp())))


def _written(mark: SourcedMark) -> WrittenMark:
    return WrittenMark(
        mark.worth_usdc_e6, mark.block_number, UnixSeconds(int(mark.at.timestamp())), mark.source
    )
