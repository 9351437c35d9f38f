"""What the tables must hold, folded from the canonical chain: every block, receipt and log, read
from anvil itself.

Nothing of indexer/ or of core.mandate.ledger is used here. Rows are tuples whose first field is the
block's height, so that the first difference is the earliest. Hashes are 0x lower-case hex,
addresses checksum strings, amounts USDC base units.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eth_utils.address import to_checksum_address

from core.chain.abi import decode_revert, events_by_topic
from core.chain.blocks import BlockHeader, RawLog, TransactionReceipt
from core.chain.errors import RpcRevertedError
from core.mandate.chain.decode import decode_log
from core.mandate.rules import events as ev
from core.mandate.rules.rows import reason_as_recorded
from core.mandate.rules.terms import ZERO_ADDRESS
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.indexer.chaos.people import Place
from tests.integration.indexer.conftest import Issued
from tests.personas import STRANGER

NOTED = (
    ev.KeeperProposed,
    ev.KeeperChanged,
    ev.KeeperProposalCancelled,
    ev.GuardProposed,
    ev.GuardChanged,
    ev.GuardProposalCancelled,
    ev.RoleGranted,
    ev.RoleRevoked,
)
_TOPICS = {event.name: topic for topic, event in events_by_topic().items()}
CREATED, TRANSFER = _TOPICS["VaultCreated"], _TOPICS["Transfer"]
_KINDS: Mapping[type, str] = {
    ev.Deposited: "deposit",
    ev.Executed: "move",
    ev.Withdrawn: "withdraw",
    ev.Settled: "payout",
    ev.Stopped: "stop",
}
Row = tuple[Any, ...]


@dataclass(slots=True)
class Sums:
    """One mandate: what the chain's logs moved, and the status that follows."""

    status: str = "signed"
    vault: str | None = None
    deposited: int = 0
    spent: int = 0
    received: int = 0
    withdrawn: int = 0
    paid_out: int = 0
    may_have_expired: bool = False  # no vault, and the end of the terms is past

    @property
    def cash(self) -> int:
        return self.deposited + self.received - self.spent - self.withdrawn - self.paid_out


@dataclass(slots=True)
class _Vault:
    owner: str
    mandate: Issued | None
    created: int
    agent: str | None = None  # named last
    agents: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Expected:
    """Tables by name; `ledger` and `sums` by mandate id, `deposits` by account id.

    `foreign`: the strangers' vaults.
    """

    head: tuple[int, str]
    tables: dict[str, list[Row]]
    ledger: dict[int, list[Row]]
    sums: dict[int, Sums]
    deposits: dict[int, list[Row]]
    foreign: frozenset[str] = frozenset()


def fold(chain: DeployedChain, places: Sequence[Place], wallets: Mapping[str, int]) -> Expected:
    """Read the whole chain and fold it.

    `wallets`: the linked ones, whatever their time, with their accounts' ids.
    """
    folding = _Fold(
        chain, {place.digest: place.issued for place in places if place.issued is not None}, wallets
    )
    reader = chain.reader
    head = reader.header()
    assert head is not None
    for header in reader.headers(range(chain.start_block - 1, head.number + 1)):
        assert header is not None
        receipts = reader.receipts(header.hash) if header.transaction_hashes else ()
        assert receipts is not None
        folding.block(header, receipts)
    for place in places:
        sums = None if place.issued is None else folding.sums[place.issued.id]
        if sums is not None:
            sums.may_have_expired = (
                sums.vault is None
                and sums.status == "signed"
                and place.terms.ends_at <= head.timestamp
            )
    foreign = frozenset(
        address
        for address, vault in folding.vaults.items()
        if vault.mandate is None and vault.owner == STRANGER.address
    )
    return Expected(
        (head.number, head.hash),
        folding.tables,
        folding.ledger,
        folding.sums,
        folding.deposits,
        foreign,
    )


class _Fold:
    def __init__(
        self, chain: DeployedChain, issued: Mapping[str, Issued], wallets: Mapping[str, int]
    ) -> None:
        self.chain, self.issued, self.wallets = chain, issued, wallets
        self.factory, self.usdc = chain.contracts["factory"], chain.contracts["usdc"]
        self.keeper = ZERO_ADDRESS
        self.vaults: dict[str, _Vault] = {}
        self.adapters: set[str] = {chain.contracts["x402_adapter"]}
        self.listings: dict[str, int] = {}  # adapter -> index of its open listing
        self.tables: dict[str, list[Row]] = {
            name: []
            for name in ("chain_block", "raw_log", "vault", "vault_agent", "adapter", "reverted_tx")
        }
        self.ledger: dict[int, list[Row]] = {mandate.id: [] for mandate in issued.values()}
        self.sums: dict[int, Sums] = {mandate.id: Sums() for mandate in issued.values()}
        self.deposits: dict[int, list[Row]] = {account: [] for account in wallets.values()}
        self.header: BlockHeader

    def block(self, header: BlockHeader, receipts: Sequence[TransactionReceipt]) -> None:
        self.header = header
        self.tables["chain_block"].append(
            (header.number, header.hash, header.parent_hash, header.timestamp)
        )
        if header.number < self.chain.start_block:
            return
        logs = [log for receipt in receipts for log in receipt.logs]
        watched = {self.factory, *self.adapters, *self.vaults, *_created(logs, self.factory)}
        noted = [
            m for m, sums in self._vaulted() if sums.status in ("signed", "working", "stopped")
        ]
        for log in logs:
            is_payment = self._payment(log)
            if is_payment or log.address in watched:
                self._keep(log)
            if log.address == self.factory:
                self._factory_event(log, noted)
            elif log.address in self.vaults:
                self._vault_event(decode_log(log), log, self.vaults[log.address])
        self._reverts(receipts)

    def _vaulted(self) -> Iterable[tuple[Issued, Sums]]:
        """Mandates whose vault stood before this block."""
        return [
            (vault.mandate, self.sums[vault.mandate.id])
            for vault in self.vaults.values()
            if vault.mandate is not None and vault.created < self.header.number
        ]

    # Logs

    def _keep(self, log: RawLog) -> None:
        at = self.header
        self.tables["raw_log"].append(
            (
                at.number,
                at.hash,
                log.log_index,
                log.tx_hash,
                log.tx_index,
                log.address,
                "".join(log.topics),
                log.data,
            )
        )

    def _payment(self, log: RawLog) -> bool:
        """USDC that reaches a linked wallet from another address; a transfer of nothing is none."""
        if log.address != self.usdc or log.topics[0] != TRANSFER or log.topics[1] == log.topics[2]:
            return False
        account, amount = self.wallets.get(_address(log.topics[2])), int(log.data, 16)
        if account is None or amount == 0:
            return False
        self.deposits[account].append(
            (self.header.number, self.header.hash, log.tx_hash, log.log_index, amount)
        )
        return True

    def _factory_event(self, log: RawLog, noted: Sequence[Issued]) -> None:
        if log.topics[0] == CREATED:
            self._created(*_creation(log), log)
            return
        at, event = self.header, decode_log(log)
        is_first = isinstance(event, ev.KeeperChanged | ev.GuardChanged) and ZERO_ADDRESS in (
            getattr(event, "previous_keeper", None),
            getattr(event, "previous_guard", None),
        )
        match event:
            case ev.AdapterListed():
                self.listings[event.adapter] = len(self.tables["adapter"])
                self.tables["adapter"].append((at.number, event.adapter, at.hash, None))
                self.adapters.add(event.adapter)
            case ev.AdapterDelisted():
                index = self.listings.pop(event.adapter)
                self.tables["adapter"][index] = (*self.tables["adapter"][index][:3], at.hash)
            case ev.TermsCancelled():
                mandate = self.issued.get(event.terms_digest)
                if mandate is not None:
                    self._row(mandate, "note", "chain", None, 0, log)
                    self.sums[mandate.id].status = "cancelled"
            case ev.KeeperChanged():
                self.keeper = event.new_keeper
        if isinstance(event, NOTED) and not is_first:
            for mandate in noted:
                self._row(mandate, "note", "chain", None, 0, log)

    def _created(self, address: str, digest: str, owner: str, agent: str, log: RawLog) -> None:
        mandate = self.issued.get(digest)
        self.vaults[address] = _Vault(owner, mandate, self.header.number)
        self.tables["vault"].append(
            (self.header.number, address, self.header.hash, digest, mandate and mandate.id)
        )
        self._name(address, agent)
        if mandate is not None:
            self._row(mandate, "note", "chain", None, 0, log)
            self.sums[mandate.id].vault = address

    def _name(self, address: str, agent: str) -> None:
        """An agent is named; once a block in the table, however often in the block."""
        vault = self.vaults[address]
        row = (self.header.number, address, agent, self.header.hash)
        if agent != ZERO_ADDRESS:
            vault.agents.add(agent)
            vault.agent = agent
            if row not in self.tables["vault_agent"]:
                self.tables["vault_agent"].append(row)

    def _vault_event(self, event: ev.ChainEvent | None, log: RawLog, vault: _Vault) -> None:
        if isinstance(event, ev.AgentSet):
            self._name(log.address, event.agent)
        if vault.mandate is None or event is None:
            return
        sums, amount, delta = self.sums[vault.mandate.id], None, 0
        kind, by = _KINDS.get(type(event), "note"), "chain"
        if isinstance(event, ev.Stopped):
            by, sums.status = self._who(event.by, vault), "stopped"
        elif isinstance(event, ev.Marked):
            by = "keeper"
        else:
            amount, delta = _moved(event, sums, vault.mandate.terms.budget_usdc)
        self._row(vault.mandate, kind, by, amount, delta, log)

    def _who(self, by: str, vault: _Vault) -> str:
        parties = {vault.agent: "agent", vault.owner: "owner", self.keeper: "keeper"}
        return parties.get(by, "chain")

    def _row(
        self, mandate: Issued, kind: str, by: str, amount: int | None, delta: int, log: RawLog
    ) -> None:
        at = self.header
        row = (at.number, at.hash, log.tx_hash, log.log_index, kind, by, amount, delta, None)
        self.ledger[mandate.id].append(row)

    # Reverted attempts

    def _reverts(self, receipts: Sequence[TransactionReceipt]) -> None:
        """Failed transactions straight to a mandate's vault, from an agent that it has or had by
        the end of this block.
        """
        at = self.header
        for receipt in receipts:
            vault = self.vaults.get(receipt.to or "")
            if (
                receipt.status == 1
                or vault is None
                or vault.mandate is None
                or receipt.sender not in vault.agents
            ):
                continue
            reason = self._reason(receipt)
            self.tables["reverted_tx"].append(
                (
                    at.number,
                    at.hash,
                    receipt.tx_hash,
                    receipt.sender,
                    receipt.to,
                    receipt.gas_used,
                    reason,
                )
            )
            row = (
                at.number,
                at.hash,
                receipt.tx_hash,
                None,
                "note",
                "chain",
                None,
                0,
                reason_as_recorded(reason),
            )
            self.ledger[vault.mandate.id].append(row)

    def _reason(self, receipt: TransactionReceipt) -> str:
        """What the call answers on the state before its block; `unknown` when it passes there, or
        fails without a name.
        """
        rpc = self.chain.rpc
        transaction = rpc.call("eth_getTransactionByHash", [receipt.tx_hash])
        call = {key: transaction[key] for key in ("from", "to", "input", "gas")}
        overrides = {"number": hex(self.header.number), "time": hex(self.header.timestamp)}
        try:
            rpc.call("eth_call", [call, {"blockHash": self.header.parent_hash}, {}, overrides])
        except RpcRevertedError as error:
            decoded = decode_revert(error.revert_data)
            return "unknown" if decoded is None else decoded.name
        return "unknown"


def _moved(event: ev.ChainEvent, sums: Sums, budget: int) -> tuple[int | None, int]:
    """Add the event to the sums; (amount, what it does to the cash)."""
    match event:
        case ev.Deposited():
            sums.deposited += event.amount
            sums.status = (
                "working" if sums.status == "signed" and event.deposited == budget else sums.status
            )
            return event.amount, event.amount
        case ev.Executed():
            sums.spent += event.spent
            sums.received += event.received
            return event.spent or event.received, event.received - event.spent
        case ev.Unwound():
            sums.received += event.received
            return event.received, event.received
        case ev.Withdrawn():
            if sums.status == "signed":  # not funded yet: what was deposited goes back
                sums.deposited -= event.amount
            else:
                sums.withdrawn += event.amount
            return event.amount, -event.amount
        case ev.Settled():
            sums.paid_out += event.fee
            sums.status = "settled"
            return event.fee, -event.fee
        case _:
            return None, 0


def _created(logs: Sequence[RawLog], factory: str) -> set[str]:
    return {
        _creation(log)[0] for log in logs if log.address == factory and log.topics[0] == CREATED
    }


def _creation(log: RawLog) -> tuple[str, str, str, str]:
    """(vault, digest, owner, agent) of a VaultCreated, whatever its text and its terms: they stand
    in its words.
    """
    return _address(log.topics[1]), log.topics[2], _address(log.topics[3]), _address(log.data[:66])


def _address(word: str) -> str:
    return to_checksum_address("0x" + word[-40:])
