"""The key of this service that signs what vaults pay for."""

from dataclasses import dataclass

from core.chain.signer import DigestSigner


@dataclass(frozen=True, slots=True)
class OwnSigners:
    """`guard` None: vaults can't pay for web resources."""

    guard: DigestSigner | None = None
