"""What the chain says: one frozen dataclass for each event of the contracts.

core/mandate/chain/decode.py turns logs into these and does nothing else with them. Field names
equal the Solidity names in snake_case; addresses are checksum strings, hashes and bytes32 are
0x-prefixed lower-case hex, amounts are USDC base units, times are unix seconds. Source:
contracts/interfaces/IMandateVaultEvents.sol, contracts/libraries/EventsLib.sol,
contracts/MandateVaultFactory.sol.
"""

from dataclasses import dataclass

from core.mandate.rules.terms import MandateTerms, Rule


@dataclass(frozen=True, slots=True)
class LogRef:
    """Where a log is. `at` is its block's time in unix seconds; `address` emitted it."""

    chain_id: int
    block_number: int
    block_hash: str
    at: int
    tx_hash: str
    log_index: int
    address: str


# Factory


@dataclass(frozen=True, slots=True)
class VaultCreated:
    vault: str
    terms_digest: str
    owner: str
    agent: str
    public_id: str
    terms: MandateTerms
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class TermsCancelled:
    terms_digest: str
    owner: str


@dataclass(frozen=True, slots=True)
class KeeperProposed:
    proposed_keeper: str
    eta: int


@dataclass(frozen=True, slots=True)
class KeeperChanged:
    previous_keeper: str
    new_keeper: str


@dataclass(frozen=True, slots=True)
class KeeperProposalCancelled:
    proposed_keeper: str


@dataclass(frozen=True, slots=True)
class GuardProposed:
    proposed_guard: str
    eta: int


@dataclass(frozen=True, slots=True)
class GuardChanged:
    previous_guard: str
    new_guard: str


@dataclass(frozen=True, slots=True)
class GuardProposalCancelled:
    proposed_guard: str


@dataclass(frozen=True, slots=True)
class AdapterListed:
    adapter: str


@dataclass(frozen=True, slots=True)
class AdapterDelisted:
    adapter: str


@dataclass(frozen=True, slots=True)
class RoleGranted:
    role: str
    account: str
    sender: str


@dataclass(frozen=True, slots=True)
class RoleRevoked:
    role: str
    account: str
    sender: str


# Vault


@dataclass(frozen=True, slots=True)
class Deposited:
    from_: str
    amount: int
    deposited: int
    balance: int


@dataclass(frozen=True, slots=True)
class Executed:
    """One call. All calls of one batch share `nonce`; the day counts the sum of their `spent`."""

    nonce: int
    target: str
    selector: str
    spent: int
    received: int
    balance: int


@dataclass(frozen=True, slots=True)
class AgentSet:
    agent: str


@dataclass(frozen=True, slots=True)
class AgentRemoved:
    agent: str
    by: str


@dataclass(frozen=True, slots=True)
class Marked:
    """What the vault measured; `unvalued_out` of it at cost."""

    worth: int
    unvalued_out: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """`worth` and `unvalued_out` mean something only when `worth_known`: at a stop by the line."""

    by: str
    reason: str
    worth: int
    unvalued_out: int
    worth_known: bool


@dataclass(frozen=True, slots=True)
class Unwound:
    by: str
    target: str
    selector: str
    received: int
    balance: int


@dataclass(frozen=True, slots=True)
class ProceedsReceived:
    adapter: str
    amount: int
    balance: int


@dataclass(frozen=True, slots=True)
class Settled:
    payee: str
    gain: int
    fee: int
    balance: int


@dataclass(frozen=True, slots=True)
class Withdrawn:
    token: str
    to: str
    amount: int
    balance: int


@dataclass(frozen=True, slots=True)
class PayeeChanged:
    previous_payee: str
    new_payee: str


# x402 adapter


@dataclass(frozen=True, slots=True)
class X402Paid:
    vault: str
    pay_to: str
    amount: int
    resource_hash: str


FactoryEvent = (
    VaultCreated
    | TermsCancelled
    | KeeperProposed
    | KeeperChanged
    | KeeperProposalCancelled
    | GuardProposed
    | GuardChanged
    | GuardProposalCancelled
    | AdapterListed
    | AdapterDelisted
    | RoleGranted
    | RoleRevoked
)
VaultEvent = (
    Deposited
    | Executed
    | AgentSet
    | AgentRemoved
    | Marked
    | Stopped
    | Unwound
    | ProceedsReceived
    | Settled
    | Withdrawn
    | PayeeChanged
)
ChainEvent = FactoryEvent | VaultEvent | X402Paid
