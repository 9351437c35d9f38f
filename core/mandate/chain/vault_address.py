"""Where the vault of signed terms is, or would be: it follows from the factory and the digest
alone, so that no node has to be asked.
"""

from functools import cache

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from core.chain.abi import creation_code
from core.hexes import bytes_of

_SHELL = "VaultShell"  # the creation code of every vault


@cache
def _shell_hash() -> bytes:
    return bytes(keccak(hexstr=creation_code(_SHELL)))


def vault_address(factory: str, terms_digest: str) -> str:
    """The vault's checksum address.

    Source: MandateVaultFactory.predictVault (EIP-1014, the salt is the digest).
    """
    packed = b"\xff" + bytes_of(factory) + bytes_of(terms_digest) + _shell_hash()
    return str(to_checksum_address(keccak(packed)[12:]))
