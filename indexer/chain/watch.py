"""Whose logs and whose reverted calls are kept: the factory, the x402 adapter, listed adapters, and
every vault.

The watch list is a copy of what Postgres says of the canonical chain, read at start and after an
unwind, and moved on by each block that was committed.
"""

from dataclasses import dataclass, field, replace

from sqlalchemy.orm import Session

from core.blocks import queries as repository
from core.blocks.registry import KnownVault, ever_listed_adapters, known_vaults
from core.chain.abi import events_by_topic, topic_of
from core.chain.blocks import RawLog
from core.errors import OutsideError
from core.identity.queries import LinkedWallet
from core.mandate.chain.decode import decode_log
from core.mandate.rules.events import KeeperChanged
from core.mandate.rules.terms import ZERO_ADDRESS
from core.sponsored.logs import bought_event
from indexer.chain.context import ChainContext


class WatchChangedError(OutsideError):
    """Late logs changed of whom logs are kept, after these blocks were fetched: fetch them again."""

    def __init__(self) -> None:
        super().__init__("the watch list changed while a block was read")


@dataclass(slots=True)
class WatchList:
    """`keeper` is who was keeper after the last block; `adapters` holds delisted ones too, old
    vaults still use them.

    `x402_adapter`, one of the adapters, is the only contract whose payments are believed; None:
    none is deployed.

    `wallets` are the linked wallets of accounts, whose incoming USDC is noted. They change without
    the chain's knowing, so that they are asked for again for each block or range.
    """

    factory: str
    usdc: str
    adapters: set[str]
    keeper: str = ZERO_ADDRESS
    vaults: dict[str, KnownVault] = field(default_factory=dict)
    wallets: dict[str, LinkedWallet] = field(default_factory=dict)
    x402_adapter: str | None = None
    # None: none is deployed, or its older events are still being read (reserve.py)
    reserve_token: str | None = None

    def add_agent(self, vault: str, agent: str) -> None:
        """The newest agent is last; past ones stay, since their reverted calls count too."""
        known = self.vaults[vault]
        others = tuple(past for past in known.agents if past != agent)
        self.vaults[vault] = replace(known, agents=(*others, agent))

    def is_foreign(self, vault: str) -> bool:
        """Whether it is the vault of terms that this service did not issue."""
        known = self.vaults.get(vault)
        return known is not None and known.mandate_id is None

    def is_agent(self, vault: str, sender: str) -> bool:
        """Present or past, of a vault of ours: nobody reads why calls to one of foreign terms
        fail.
        """
        known = self.vaults.get(vault)
        return known is not None and known.mandate_id is not None and sender in known.agents

    def may_concern(self, log: RawLog) -> bool:
        """False only for a log that no fact is made of, also if its block creates the vault or
        lists the adapter that it is of.
        """
        known = (
            log.address in self.vaults
            or log.address in self.adapters
            or log.address in (self.factory, self.usdc, self.reserve_token)
        )
        # a purchase is beside the use of its authorization, whatever token is followed
        event = log.topics[0] if log.topics else None
        return known or event in events_by_topic() or event == bought_event().topic

    def copy(self) -> "WatchList":
        """A watch list of its own, to be moved on through blocks that may yet fail to commit."""
        return replace(self, adapters=set(self.adapters), vaults=dict(self.vaults))


def read_watch_list(session: Session, chain: ChainContext) -> WatchList:
    """The watch list at the cursor."""
    adapters = ever_listed_adapters(session, chain.chain_id)
    if chain.x402_adapter is not None:
        adapters.add(chain.x402_adapter)
    vaults = {vault.address: vault for vault in known_vaults(session, chain.chain_id)}
    # once all events of the reserve token up to the cursor are read
    is_followed = repository.cursor(session, repository.RESERVE_FOLLOWED) is not None
    return WatchList(
        chain.factory,
        chain.usdc,
        adapters,
        keeper_at(session, chain),
        vaults,
        x402_adapter=chain.x402_adapter,
        reserve_token=chain.reserve_token if is_followed else None,
    )


def keeper_at(session: Session, chain: ChainContext, before: int = repository.MOST_HEIGHT) -> str:
    """Whoever is it at the end of the block before that height.

    The factory's constructor already says KeeperChanged, so after the first block there is always
    one.
    """
    topic = topic_of("KeeperChanged")
    log = repository.newest_log(session, chain.chain_id, chain.factory, topic, before)
    event = None if log is None else decode_log(log)
    return event.new_keeper if isinstance(event, KeeperChanged) else ZERO_ADDRESS
