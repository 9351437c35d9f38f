"""Who calls: what a valid credential proves, and nothing more.

Laws
- An agent's key makes an AgentCaller, an owner's signed session an OwnerCaller, connect's token a
  BearerCaller.
- A BearerCaller proves the agent's account for wallet registration only; it is never an owner
  (docs/rules.md#bearer-tokens).
- An operator acts on operators' routes only; a wallet that makes an operator makes no owner
  (docs/rules.md#operators).
- `account_id` of an owner never leaves the service: not in an answer, a log or a token
  (docs/rules.md#addresses-and-ids).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCaller:
    """`account_id` is the agent's public user id.

    `scopes` None: full access; empty: none. Addresses are checksummed.

    `came_from`: the network address that its owner signed up from, or, without one, that it
    registered from (IPv6 by /64); None: not known. What the owner lets the key build, in USDC base
    units: a call (`per_order`) and a UTC day (`per_day`); None: no limit.
    """

    account_id: int
    key_id: int
    name: str
    owner_id: int | None
    wallet_address: str | None
    came_from: str | None
    scopes: tuple[str, ...] | None
    per_order_usdc_e6: int | None = None
    per_day_usdc_e6: int | None = None
    generation: int = 0  # of the account's secrets when the call was let in


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerCaller:
    account_id: int
    wallet_address: str
    session_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BearerCaller:
    account_id: int
    name: str
    wallet_address: str | None
    generation: int = 0  # of the account's secrets when the call was let in


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorCaller:
    account_id: int
    key_id: int | None  # None: signed in with a wallet of OPERATOR_ADDRESSES


@dataclass(frozen=True, slots=True)
class Nobody:
    """No credential was sent, and the route needs none."""


Caller = AgentCaller | OwnerCaller | BearerCaller | OperatorCaller | Nobody
