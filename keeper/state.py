"""What the keeper knows of the vaults, and what it may decide to do about it.

Values only; the jobs map one to the other.

Laws
- A reading is one node's: one call of its lens, one state.
- What could not be read is None, never 0: nothing is decided from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from core.chain.blocks import BlockHeader
from core.keeper.views import WatchedVault
from core.mandate.rules.lifecycle import CLOSED, OF_VAULT, VaultStatus
from core.money import UnixSeconds, UsdcE6, usdc_text_or_none

# measured by the vault: own cash plus its adapters' valueOf
SOURCE_VAULT_WORTH = "vault.worth"
# the same with a part at cost, which is out where no adapter values it: no market value
SOURCE_AT_COST = "vault.worth_at_cost"
UNREADABLE = "unreadable"  # no worth: the lens could not value the vault
OUT_OF_RANGE = "out_of_range"  # a number, but no amount of USDC


class IntentKind(StrEnum):
    """Why a transaction is sent.

    STOP is the vault's `enforceStopLine` (keeper.stops). ACCEPT is the factory's `acceptKeeper`,
    ANCHOR the anchors' `post`. Rows of the outbox bring kinds of their own.
    """

    STOP = "stop"
    REMOVE = "remove_agent"
    SETTLE = "settle"
    ACCEPT = "accept_keeper"
    MARK = "mark"
    ANCHOR = "anchor"


ENDED = tuple(vault for vault, status in OF_VAULT.items() if status in CLOSED)
YIELDING = (IntentKind.MARK, IntentKind.ANCHOR)  # they leave the ETH of twenty stops
URGENT = (IntentKind.STOP, IntentKind.REMOVE)


FELL = "at_or_below_floor"  # why a vault is stopped


class Role(StrEnum):
    """Whose key signs.

    KEEPER is the one that the factory names; STOP sends stops and nothing else, and where there is
    none KEEPER sends them; PAUSER is a pauser of the factory, and removes agents where nothing else can stop them;
    CUSTODY sends what the API asks for; SPONSOR sends sponsored buys.
    """

    KEEPER = "keeper"
    STOP = "stop"
    PAUSER = "pauser"
    CUSTODY = "custody"
    SPONSOR = "sponsor"


OF_REQUESTS = (Role.CUSTODY, Role.SPONSOR)  # their loops are beside the stops'


def head_of(answer: object) -> BlockHeader | None:
    """A node's newest block as `results.header` reads it; None: an error, no block, or one without a
    base fee.
    """
    if isinstance(answer, BlockHeader) and answer.base_fee_wei is not None:
        return answer
    return None


@dataclass(frozen=True, slots=True)
class ReadBlock:
    """The block whose state a reading has. `hash` None: the node has not named that block."""

    number: int
    timestamp: int
    hash: str | None


@dataclass(frozen=True, slots=True)
class VaultReading:
    """A vault as one node's lens answers, in the state of `block`.

    Status, worth and fee are None when the node gave no usable answer. `source` says where
    the worth comes from, or why there is none.
    """

    watched: WatchedVault
    node: str
    status: VaultStatus | None
    worth_usdc_e6: UsdcE6 | None
    source: str
    fee_owed_usdc_e6: UsdcE6 | None = None
    block: ReadBlock | None = None

    @property
    def vault(self) -> str:
        return self.watched.vault

    @property
    def floor_usdc_e6(self) -> UsdcE6 | None:
        """Of the signed terms."""
        return self.watched.floor_usdc_e6

    def above_floor_usdc_e6(self) -> int | None:
        """Distance to the stop line; 0 or less is at or below it.

        None when worth or floor is unknown.
        """
        if self.worth_usdc_e6 is None or self.floor_usdc_e6 is None:
            return None
        return self.worth_usdc_e6 - self.floor_usdc_e6

    @property
    def is_at_cost(self) -> bool:
        """True when money is out where no adapter values it: the worth counts it at cost."""
        return self.source == SOURCE_AT_COST

    def is_for_anyone(self, head: BlockHeader | ReadBlock) -> bool:
        """True while the vault takes `enforceStopLine`, and judges by itself whether it fell.

        Source: MandateVault.enforceStopLine.
        """
        return self.watched.ends_at is None or head.timestamp < self.watched.ends_at

    def action(self, kind: IntentKind, head: BlockHeader, why: str) -> "Action":
        """What is to be sent of this vault, with the numbers of this reading."""
        return Action(kind, self.vault, head, why, self)


@dataclass(frozen=True, slots=True)
class FactoryKeepers:
    """Whom the factory names as keeper.

    `pending` may accept from `eta` (unix seconds) on; None: nobody is proposed.
    """

    factory: str
    named: str
    pending: str | None
    eta: UnixSeconds


@dataclass(frozen=True, slots=True)
class KeeperState:
    """The watched vaults as one node shows them, or as the nodes do together.

    `live`: kinds of intents that are not finished, by vault. `head_age_s`: seconds of a clock that
    only rises since the head was first seen. A head older than `max_head_age_s` is stale; exactly
    that age is not.

    `keepers` None: the factory could not be read. `own` is this process's keeper address, None in a
    dry run.
    """

    chain_id: int
    head: BlockHeader
    head_age_s: int
    vaults: tuple[VaultReading, ...]
    max_head_age_s: int
    live: Mapping[str, frozenset[str]]
    keepers: FactoryKeepers | None = None
    own: str | None = None

    def live_of(self, reading: VaultReading) -> frozenset[str]:
        return self.live.get(reading.vault, frozenset())

    @property
    def is_stale(self) -> bool:
        return self.head_age_s > self.max_head_age_s

    @property
    def is_stood_down(self) -> bool:
        """True when the factory names another keeper: the vaults take no mark of this one, and from
        anyone enforceStopLine.
        """
        return self.own is not None and self.keepers is not None and self.keepers.named != self.own


@dataclass(frozen=True, slots=True)
class Action:
    """One transaction to be sent: to which contract (a vault or the factory), as of which block,
    and why.

    `why`: `at_or_below_floor`, `first`, `moved`, `daily`, `ended`, `terms_ended`, `proposed`.
    `reading`: of a vault.
    """

    kind: IntentKind
    to: str
    head: BlockHeader
    why: str
    reading: VaultReading | None = None

    @property
    def worth_usdc_e6(self) -> UsdcE6 | None:
        return None if self.reading is None else self.reading.worth_usdc_e6

    def reason(self) -> dict[str, Any]:
        """What led to it, as JSON, kept with the intent.

        The block is the one whose state was read: its time shows how old the worth was.
        """
        seen = self.reading
        block = self.head if seen is None or seen.block is None else seen.block
        return {
            "vault": self.to,
            "block_number": block.number,
            "block_hash": block.hash,
            "block_at": block.timestamp,
            "worth_usdc": usdc_text_or_none(self.worth_usdc_e6),
            "floor_usdc": None if seen is None else usdc_text_or_none(seen.floor_usdc_e6),
            "source": None if seen is None else seen.source,
            "why": self.why,
        }
