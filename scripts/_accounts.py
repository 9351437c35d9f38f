"""The accounts of the local stack."""

from eth_account import Account

# anvil's public test phrase: everybody has these keys, so nothing but a local chain accepts them.
TEST_PHRASE = "test test test test test test test test test test test junk"
PERSONAS = ("deployer", "owner", "agent", "keeper", "guard", "operator", "stranger")
# Further accounts of the phrase: who settles payments sends its own transactions, so that nobody
# else may.
SETTLER_NUMBER, TREASURY_NUMBER, GAS_NUMBER = 7, 8, 9
SPONSOR_NUMBER = 11
# The console's: its built-in wallet, and practice agents (api/web/local/node.js).
VISITOR_NUMBER = 12
ACCOUNTS = 24


def personas() -> dict[str, dict[str, str]]:
    """The stack's accounts by role: {address, private_key}."""
    return {role: wallet_of(number) for number, role in enumerate(PERSONAS)}


def wallet_of(number: int) -> dict[str, str]:
    """One of the phrase's accounts: {address, private_key}."""
    Account.enable_unaudited_hdwallet_features()
    wallet = Account.from_mnemonic(TEST_PHRASE, account_path=f"m/44'/60'/0'/0/{number}")
    return {"address": wallet.address, "private_key": wallet.key.to_0x_hex()}
