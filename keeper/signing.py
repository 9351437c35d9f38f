"""Which keys may sign where. A key that stands in the environment, or that everybody has, is for a local chain only."""

from core.domain.errors import MandateError

LOCAL_CLIENT = "anvil/"  # web3_clientVersion of a chain that runs on this machine for development

# The accounts of anvil's public test phrase: everybody has their keys.
PUBLIC_ACCOUNTS = frozenset(
    {
        "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
        "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
        "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC",
        "0x90F79bf6EB2c4f870365E785982E1f101E93b906",
        "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65",
        "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc",
        "0x976EA74026E726554dB657fA54763abd0C3a0aa9",
        "0x14dC79964da2C08b23698B3D3cc7Ca32193d9955",
        "0x23618e81E3f5cdF7f54C3d65f7FBc0aBf5B21E8f",
        "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720",
    }
)


class SignerRefusedError(MandateError):
    """This key must not sign on this chain."""

    def __init__(self, address: str, rule: str) -> None:
        super().__init__(f"{address}: {rule}")
        self.address = address
        self.rule = rule


def require_allowed(address: str, client_version: str, *, plain_variable: str | None) -> None:
    """May this account sign here? Asked of every role's.

    `client_version` is the node's web3_clientVersion; `plain_variable` names the setting that holds the key in plain, None
    when none does. Errors: SignerRefusedError on a chain that is not local.
    """
    if client_version.lower().startswith(LOCAL_CLIENT):
        return
    if plain_variable is not None:
        better = plain_variable.replace("PRIVATE_KEY", "KEYSTORE")
        raise SignerRefusedError(address, f"{plain_variable} is accepted on a local chain only; use {better}")
    if address in PUBLIC_ACCOUNTS:
        raise SignerRefusedError(address, "this is a public test account; make a keystore of a key that is yours alone")
