"""The slow job `balances`: can each of the keeper's accounts pay for STOPS_WANTED stops, and would
they be taken?

    cost of a stop = STOP_GAS * cap of maxFeePerGas + fee for its bytes on layer 1
    stops left = balance // cost of a stop

At the cap, not at today's price: when every price falls at once, gas is dear. The layer-1 fee is
the upper bound of the OP stack's GasPriceOracle; a chain without that contract has no such fee, and
an oracle that refuses leaves the cost unknown, never 0.
Source: https://docs.base.org/base-chain/specs/upgrades/fjord/predeploys.
"""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from core.chain.signer import Signer
from core.db.engine import Database
from core.errors import OutsideError
from core.jobs.rules import ATTENTION
from core.jobs.schedule import JobSkippedError
from core.keeper import figures as keeper_metrics
from core.mandate.chain.reader import VaultReader
from core.money import eth_text
from keeper.state import OF_REQUESTS, Role

NAME = "balances"
EVERY_S = 30
LIMIT_S = 120
STOPS_WANTED = 20
STOP_GAS = 400_000  # what a stop may use at most: its gas limit where it can't be estimated
# Upper bound of an unsigned type 2 transaction with `mark`'s 100 bytes: type 1, list 3, chain id
# and nonce and both fees 9 each, gas 5, to 21, value 1, data 102, access list 1.
UNSIGNED_STOP_BYTES = 170


@dataclass(frozen=True, slots=True)
class SignerBalance:
    """What one role can pay.

    `stop_cost_wei` None: the layer-1 fee is not known, or it sends no stops.
    """

    role: str
    address: str
    balance_wei: int
    stop_cost_wei: int | None
    nonce_gap: int

    @property
    def stops_left(self) -> int | None:
        """Whole stops that the balance pays for, rounded down."""
        return None if self.stop_cost_wei is None else self.balance_wei // self.stop_cost_wei

    @property
    def missing_wei(self) -> int | None:
        """What is to be sent for STOPS_WANTED stops; 0 when they are paid for."""
        return (
            None
            if self.stop_cost_wei is None
            else max(0, STOPS_WANTED * self.stop_cost_wei - self.balance_wei)
        )

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "stops_left": self.stops_left}

    def attention(self) -> str | None:
        """What a person has to do, as a sentence."""
        if self.missing_wei is None:
            return (
                "The cost of a stop is unknown (the gas price oracle does not answer), so it "
                f"is unknown how many {self.address} can pay for."
            )
        if self.missing_wei > 0:
            short = f"pays for {self.stops_left} stops, but {STOPS_WANTED} are required"
            return (
                f"Send at least {eth_text(self.missing_wei)} ETH to {self.address} "
                f"({self.role}): its balance {short}."
            )
        return None


def stop_cost_wei(max_fee_wei: int, layer_1_fee_wei: int | None) -> int | None:
    """What one stop costs at most; None when the layer-1 fee is not known."""
    return None if layer_1_fee_wei is None else STOP_GAS * max_fee_wei + layer_1_fee_wei


def nonce_gap(count: int, held: Collection[int]) -> int:
    """Nonces below the highest that is held which nobody holds and the account has not used: what
    waits behind them is stuck.
    """
    ahead = {nonce for nonce in held if nonce >= count}
    return max(ahead) - count + 1 - len(ahead) if ahead else 0


@dataclass(frozen=True, slots=True)
class Funds:
    """One run.

    `max_fee_wei` is the cap of maxFeePerGas; `gas_a_day_wei`: what requests may cost in a day,
    by the role that pays.
    """

    reader: VaultReader
    database: Database
    signers: Mapping[Role, Signer]
    max_fee_wei: int
    gas_a_day_wei: Mapping[Role, int] = field(default_factory=dict)

    def run(self, now: datetime) -> Mapping[str, Any]:
        """A balance a role, whether the factory knows the keeper's and the pauser's accounts, and
        what asks for attention.

        Errors: RpcError, JobSkippedError.
        """
        if not self.signers:
            raise JobSkippedError("a dry run has no accounts")
        cost = stop_cost_wei(self.max_fee_wei, self.reader.layer_1_fee_wei(UNSIGNED_STOP_BYTES))
        balances = [
            self._balance(role, signer, cost)
            for role, signer in self.signers.items()
            if role not in OF_REQUESTS
        ]
        gas = [
            self._balance(role, self.signers[role], None)
            for role in OF_REQUESTS
            if role in self.signers
        ]
        named, own = self.reader.keeper(), self.signers[Role.KEEPER].address
        pauser = self.signers.get(Role.PAUSER)
        is_pauser = None if pauser is None else self.reader.is_pauser(pauser.address)
        no_pauser = None if pauser is None or is_pauser else _without_the_role(pauser.address)
        sentences = [
            self._named(named, own),
            no_pauser,
            *(_key(signer) for signer in self.signers.values()),
            *(balance.attention() for balance in balances),
            *map(self._short_of_gas, gas),
        ]
        attention = " ".join(sentence for sentence in sentences if sentence is not None)
        did = {
            "signers": [balance.as_json() for balance in (*balances, *gas)],
            "is_named_by_factory": named == own,
        }
        did |= {} if is_pauser is None else {"is_pauser": is_pauser}
        return did | ({ATTENTION: attention} if attention else {})

    def _balance(self, role: Role, signer: Signer, cost_wei: int | None) -> SignerBalance:
        # before the count: what is mined in between then leaves no gap
        with self.database.read() as session:
            held = keeper_metrics.held_nonces(session, signer.address)
        gap = nonce_gap(self.reader.transaction_count(signer.address), held)
        return SignerBalance(
            role, signer.address, self.reader.balance_wei(signer.address), cost_wei, gap
        )

    def _short_of_gas(self, gas: SignerBalance) -> str | None:
        missing_wei = self.gas_a_day_wei.get(Role(gas.role), 0) - gas.balance_wei
        if missing_wei <= 0:
            return None
        return (
            f"Send at least {eth_text(missing_wei)} ETH to {gas.address} ({gas.role}): it holds "
            "less than requests may cost in a day."
        )

    @staticmethod
    def _named(named: str, own: str) -> str | None:
        if named == own:
            return None
        return (
            f"The factory names the keeper {named}: vaults refuse marks from {own}. Start the "
            "keeper with that account's key."
        )


def _without_the_role(account: str) -> str:
    return (
        f"The factory does not know {account} as a pauser: it can't remove agents. Let the "
        "factory's admin grant PAUSER_ROLE to it, or set KEEPER_PAUSER_* to a pauser's key."
    )


def _key(signer: Signer) -> str | None:
    try:
        signer.require_key()
    except OutsideError as error:
        return f"Nothing can be signed: {error}."
    return None
