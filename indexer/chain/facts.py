"""What one verified block says of the product, as values.

Pure: the watch list in, facts out, nothing written.

Laws
- The block's own new vaults are found first, so that a vault's logs in the block that made it are
  not lost.
- An event is believed only from the contract that emits it: a listed adapter can't say Deposited,
  and of all adapters the x402 adapter alone can say X402Paid, whose event names the vault that is
  said to have paid.
- A log of a watched contract is kept as it is even when it can't be decoded; it then makes no
  event.
- What registers a vault (address, digest, owner) is in the topics of VaultCreated, so that no
  text in its body can hide it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar, get_args

from core.blocks.reverts import NewRevert
from core.chain.abi import AbiDecodeError, topic_of
from core.chain.blocks import BlockHeader, RawLog, TransactionReceipt
from core.errors import MandateError
from core.hexes import checksum_address
from core.identity.queries import LinkedWallet
from core.mandate.chain.decode import TRANSFER_TOPIC, decode_log
from core.mandate.rules.events import (
    AgentSet,
    ChainEvent,
    FactoryEvent,
    LogRef,
    VaultCreated,
    VaultEvent,
    X402Paid,
)
from core.mandate.rules.terms import ZERO_ADDRESS
from core.money import usdc_text
from core.reserve.decode import decode_reserve_log, is_event_of_reserve
from core.reserve.events import NewReserveEvent
from core.sponsored.logs import AuthorizationLog, authorizations_in
from core.transfers.ledger.writer import DEPOSIT, NewTransfer
from core.transfers.rules import USDC, FourStates
from indexer.chain.fetch import FetchedBlock
from indexer.chain.watch import WatchList

Event = TypeVar("Event")
FACTORY_EVENTS = get_args(FactoryEvent)
VAULT_EVENTS = get_args(VaultEvent)
VAULT_CREATED_TOPIC, ADAPTER_LISTED_TOPIC = map(topic_of, ("VaultCreated", "AdapterListed"))
WORD_CHARACTERS = len("0x") + 64
NAME_CHARACTERS = 64  # a public id of ours has 12
# What may be raised of one log, or of one held fact, while it is made into a value: nothing of it
# may end a round. None of them is raised by a connection, a disk or a lost lead. Where many facts
# are written at once they would hide a defect of ours: quarantine.py is stricter.
OF_ONE_FACT = (
    AbiDecodeError,
    MandateError,
    ValueError,
    ArithmeticError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    RecursionError,
)


@dataclass(frozen=True, slots=True)
class Found:
    """An event and where it is; None: a kept log whose body does not fit the ABI, and why."""

    ref: LogRef
    event: ChainEvent | None
    log: RawLog
    error: str = ""


@dataclass(frozen=True, slots=True)
class Created:
    """A vault that the factory made.

    `public_id` None: a name that is no mandate's of ours, of which nothing is kept.
    """

    address: str
    terms_digest: str
    owner: str
    public_id: str | None


@dataclass(frozen=True, slots=True)
class BlockFacts:
    """`logs` are those that are kept: of our contracts, and the payments' own.

    `payments`: transfers of USDC that reached the wallet of an account, by its id. `created` are the
    vaults that the block made, whether or not their events fit the ABI.
    """

    header: BlockHeader
    logs: tuple[RawLog, ...]
    found: tuple[Found, ...]
    payments: tuple[tuple[int, RawLog], ...]
    reverts: tuple[NewRevert, ...]
    created: tuple[Created, ...] = ()
    reserve: tuple[NewReserveEvent, ...] = ()
    uses: tuple[AuthorizationLog, ...] = ()  # of anybody's EIP-3009 authorizations

    def events_of(self, kind: type[Event]) -> tuple[Event, ...]:
        return tuple(item.event for item in self.found if isinstance(item.event, kind))

    @property
    def agents(self) -> tuple[tuple[str, str], ...]:
        """(vault, agent) pairs in the order that the block named them."""
        named = [_named_agent(item) for item in self.found]
        return tuple(pair for pair in named if pair is not None and pair[1] != ZERO_ADDRESS)


def _named_agent(item: Found) -> tuple[str, str] | None:
    if isinstance(item.event, VaultCreated):
        return item.event.vault, item.event.agent
    return (item.ref.address, item.event.agent) if isinstance(item.event, AgentSet) else None


def facts_of(block: FetchedBlock, watch: WatchList, chain_id: int) -> BlockFacts:
    """Everything that the block says of us."""
    at = block.header.timestamp
    of_factory = (one for one in block.logs if one.address == watch.factory)
    created = {made.address: made for one in of_factory if (made := created_by(one))}
    kept, found = list[RawLog](), list[Found]()
    payments, reserve = list[tuple[int, RawLog]](), list[NewReserveEvent]()
    for log in block.logs:
        paid = paid_account(log, watch.usdc, watch.wallets, at)
        is_vault = log.address in watch.vaults or log.address in created
        is_reserve = log.address == watch.reserve_token and is_event_of_reserve(log)
        is_ours = is_vault or log.address == watch.factory or log.address in watch.adapters
        if paid is not None:
            payments.append((paid, log))
        if paid is not None or is_ours or is_reserve:
            kept.append(log)
        if not is_ours and not is_reserve:
            continue
        try:
            if is_reserve:
                reserve.append(NewReserveEvent(decode_reserve_log(log), log, at))
                continue
            event = decode_log(log)
        except OF_ONE_FACT as error:
            found.append(Found(ref_of(log, at, chain_id), None, log, type(error).__name__))
            continue
        is_believed = (
            log.address == watch.factory
            if isinstance(event, FACTORY_EVENTS)
            else is_vault
            if isinstance(event, VAULT_EVENTS)
            else isinstance(event, X402Paid) and log.address == watch.x402_adapter
        )
        if event is not None and is_believed:
            found.append(Found(ref_of(log, at, chain_id), event, log))
            if isinstance(event, VaultCreated):
                name = kept_name(event.public_id)
                created[event.vault] = Created(event.vault, event.terms_digest, event.owner, name)
    pairs = filter(None, map(_named_agent, found))
    named = {pair for pair in pairs if not watch.is_foreign(pair[0])}
    return BlockFacts(
        block.header,
        tuple(kept),
        tuple(found),
        tuple(payments),
        reverts_among(block.receipts, lambda *pair: pair in named or watch.is_agent(*pair)),
        tuple(created.values()),
        tuple(reserve),
        uses=authorizations_in(block.logs, watch.usdc),
    )


def created_by(log: RawLog) -> Created | None:
    """The vault that a log of the factory registers, by its topics alone; None for other logs."""
    if len(log.topics) != 4 or log.topics[0] != VAULT_CREATED_TOPIC:
        return None
    _, vault, terms_digest, owner = log.topics
    return Created(address_in(vault), terms_digest, address_in(owner), None)


def listed_by(log: RawLog) -> str | None:
    """The adapter that a log of the factory lists; None for other logs."""
    return (
        address_in(log.topics[1])
        if len(log.topics) == 2 and log.topics[0] == ADAPTER_LISTED_TOPIC
        else None
    )


def address_in(topic: str) -> str:
    """The checksum address that a topic holds."""
    return checksum_address("0x" + topic[26:])


def kept_name(public_id: str) -> str | None:
    """A vault's name as it is kept.

    Whatever a stranger names a vault, no more is kept than a mandate of ours might be called.
    """
    return public_id if public_id.isprintable() and 0 < len(public_id) <= NAME_CHARACTERS else None


def paid_account(
    log: RawLog, usdc: str, wallets: Mapping[str, LinkedWallet], at: int
) -> int | None:
    """Whom it pays: a transfer of USDC to a wallet that was linked by then, but not what it sends to itself, and
    not of nothing: anybody may make transfers of 0, in the name of anybody, and each would cost a
    row.
    """
    if log.address != usdc or not _is_transfer(log) or not int(log.data, 16):
        return None
    linked = wallets.get(address_in(log.topics[2]))
    if linked is None or at < linked.since or log.topics[1] == log.topics[2]:
        return None
    return linked.account_id


def deposit_of(log: RawLog, chain_id: int) -> NewTransfer:
    """The payment as an entry of its account's transfer ledger, shown by the chain and reported by
    nobody: the amount is idle from its block on, and no longer when the block is replaced. An
    agent's own report of the transaction takes its place (core/transfers/reports.py).

    Errors: ValueError for a log that is no Transfer.
    """
    (sender, wallet), amount_e6 = map(address_in, log.topics[1:]), int(log.data, 16)
    return NewTransfer(
        kind=DEPOSIT,
        base_key=deposit_key(log.tx_hash, log.log_index),
        chain_id=chain_id,
        asset=USDC,
        deltas=FourStates(idle_e6=amount_e6),
        reported_by="chain",
        tx_hash=log.tx_hash,
        payload={
            "from": sender,
            "to": wallet,
            "amount": usdc_text(amount_e6),
            "log_index": log.log_index,
            "block_number": log.block_number,
            "block_hash": log.block_hash,
        },
    )


def deposit_key(tx_hash: str, log_index: int) -> str:
    """The payment's name within the account's ledger."""
    return f"deposit:{tx_hash}:{log_index}"


def _is_transfer(log: RawLog) -> bool:
    """An ERC-20 transfer: sender and receiver in topics, the amount one word of data."""
    return (
        len(log.topics) == 3
        and log.topics[0] == TRANSFER_TOPIC
        and len(log.data) == WORD_CHARACTERS
    )


def usdc_payees(logs: Iterable[RawLog], usdc: str) -> set[str]:
    """Everyone whom a Transfer of USDC among these logs pays."""
    return {address_in(log.topics[2]) for log in logs if log.address == usdc and _is_transfer(log)}


def ref_of(log: RawLog, at: int, chain_id: int) -> LogRef:
    """`at`: the time of its block, unix seconds."""
    return LogRef(
        chain_id, log.block_number, log.block_hash, at, log.tx_hash, log.log_index, log.address
    )


def reverts_among(
    receipts: Iterable[TransactionReceipt], is_agent: Callable[[str, str], bool]
) -> tuple[NewRevert, ...]:
    """Plain failed transactions to a vault from an agent of it, present or past: `is_agent` says so
    of (vault, sender).

    Calls through other contracts are not seen.
    """
    return tuple(
        NewRevert(
            tx_hash=item.tx_hash,
            tx_index=item.tx_index,
            sender=item.sender,
            vault=item.to,
            gas_used=item.gas_used,
        )
        for item in receipts
        if item.status == 0 and item.to is not None and is_agent(item.to, item.sender)
    )
