"""The settings of sponsored buys (docs/sponsored-buys.md): whose key pays, how much, and what ETH
costs.
"""

from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from core.environment import Account, optional


class SponsorSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    # Sponsored buys
    sponsor_private_key: SecretStr | None = optional(
        "sends sponsored buys; accepted on a local chain only"
    )
    sponsor_keystore: Path | None = optional(
        "encrypted JSON keystore of the key that sends sponsored buys"
    )
    sponsor_keystore_password_file: Path | None = optional("file with that keystore's password")
    sponsor_remote_signer_url: str | None = Field(
        default=None,
        pattern=r"^https?://[^\s/?#@]+(/[^\s]*)?$",
        description="who signs with that key: eth_signTransaction over HTTP",
    )
    sponsor_remote_signer_address: Account | None = optional("the account that it signs with")
    sponsor_remote_signer_token_file: Path | None = optional(
        "file with the bearer token that it asks for"
    )
    gas_eth_usd: Decimal | None = Field(
        default=None,
        gt=0,
        le=1_000_000,
        decimal_places=6,
        description="what 1 ETH costs in USD: what exchanges are held against, or the price itself; "
        "none: it is not known, and no sponsored buy is quoted",
    )
    gas_eth_source: Literal["market", "fixed"] = Field(
        default="market",
        description="what gas is reckoned in USDC by: market, the median over exchanges, within half "
        "and twice GAS_ETH_USD; fixed, GAS_ETH_USD itself",
    )
