"""Who gets the agent's fee, in the words of clause 9 and of the owner's calls.

Laws
- The payee is the agent of the signed terms. Terms that name none: the agent at the first call that
  spends. Only the payee can name another, so a new agent never changes it.
- Nobody yet and not known are two answers.

Source: MandateVault.payee; docs/rules.md#clauses.
"""

from dataclasses import dataclass
from typing import Any

from core.mandate.rules.state import MandateState
from core.mandate.rules.terms import ZERO_ADDRESS, MandateTerms


@dataclass(frozen=True, slots=True)
class VaultPayee:
    """`address` None: nobody yet, or, where `is_known` is False, not known now. `agent`: whom the
    vault obeys, or obeyed last; before there is a vault the agent of the terms. None: nobody.
    """

    address: str | None
    agent: str | None
    is_known: bool = True

    @property
    def is_agent(self) -> bool | None:
        """None while there is no payee, or none is known."""
        return None if self.address is None else self.address == self.agent

    @property
    def words(self) -> str:
        """To go on after `the fee is`."""
        if not self.is_known:
            return "paid to whom the vault names, which is not known now"
        if self.address is None:
            return "paid to the agent whose call is the first that spends"
        return f"paid to {self.address}, which is {'' if self.is_agent else 'not '}the agent"

    def to_json(self) -> dict[str, Any]:
        return {"address": self.address, "is_agent": self.is_agent, "text_en": self.words}


UNKNOWN_PAYEE = VaultPayee(None, None, is_known=False)


def payee_of(terms: MandateTerms, state: MandateState) -> VaultPayee:
    """By the ledger, or by what the chain says in its place (core.mandate.rules.seen)."""
    acts = (
        _somebody(state.agent_on_chain) or state.last_agent_set
        if state.vault_address is not None
        else _somebody(terms.agent)
    )
    return VaultPayee(state.payee_named or _somebody(terms.agent), acts)


def fee_stays_words(payee: VaultPayee, new_agent: str, agent_fee_bps: int) -> str | None:
    """What the owner should know of the fee before setting this agent; None when there is nothing."""
    if not agent_fee_bps or payee.address == new_agent:
        return None
    if payee.address is None:
        return "The agent's fee goes to the agent whose call is the first that spends."
    return f"The agent's fee stays with {payee.address}; only that account can pass the right to it on."


def _somebody(address: str | None) -> str | None:
    return None if address == ZERO_ADDRESS else address
