"""Signatures of a wallet. eth-account is needed only here and in payments, and only when something
is signed.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eth_account.signers.local import LocalAccount

INSTALL = "eth-account is needed to sign; install it with: pip install eth-account"


def account_of(wallet: "LocalAccount | str") -> "LocalAccount":
    """The account itself, or that of a private key in hex.

    Errors: ImportError that says what to install.
    """
    if not isinstance(wallet, str):
        return wallet
    try:
        from eth_account import Account
    except ImportError as error:
        raise ImportError(INSTALL) from error
    found: LocalAccount = Account.from_key(wallet)
    return found


def sign_text(wallet: "LocalAccount | str", text: str) -> str:
    """An EIP-191 signature of the text as it is (personal_sign), 0x and 65 bytes in hex."""
    account = account_of(wallet)
    from eth_account.messages import encode_defunct

    return str(account.sign_message(encode_defunct(text=text)).signature.to_0x_hex())


def sign_typed_data(wallet: "LocalAccount | str", typed_data: Mapping[str, Any]) -> str:
    """An EIP-712 signature: of a mandate's terms, or of the authorization that moves USDC."""
    account = account_of(wallet)
    from eth_account.messages import encode_typed_data

    return str(
        account.sign_message(encode_typed_data(full_message=dict(typed_data))).signature.to_0x_hex()
    )
