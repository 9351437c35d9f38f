"""Who holds which office of a deployment, and where test contracts may go. Pure: no chain; refusals are sentences.

Laws
- Off the devnet the deployer holds no office that outlives the deployment: its key is on the machine that deploys.
- All that is wrong is said at once, before anything is sent.
- Test contracts go to chains of a list, and the mock USDC and anvil's public keys to the devnet alone. What a node says of
  itself opens nothing on its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from eth_utils.address import is_hex_address, to_checksum_address

from scripts._deployments import BASE_SEPOLIA_USDC

BASE_SEPOLIA_CHAIN_ID = 84532
ZERO_ADDRESS = "0x" + "00" * 20
DEVNET = "devnet"
TEST_CHAIN_IDS = frozenset({BASE_SEPOLIA_CHAIN_ID})  # the devnet answers to Base Sepolia's id
TEST_CONTRACTS = frozenset({"test_venue", "test_venue_adapter"})
USDC_BY_CHAIN = {BASE_SEPOLIA_CHAIN_ID: BASE_SEPOLIA_USDC}


@dataclass(frozen=True, slots=True)
class Office:
    """`variable` of the environment names who holds it. `may_be_deployer`: also off the devnet."""

    variable: str
    title: str
    may_be_deployer: bool = False


OFFICES = {
    "admin": Office("ADMIN_ADDRESS", "admin of factory and reserve token"),
    "pauser": Office("PAUSER_ADDRESS", "pauser"),
    "keeper_admin": Office("KEEPER_ADMIN_ADDRESS", "account that proposes keepers and guards"),
    "keeper": Office("KEEPER_ADDRESS", "keeper", may_be_deployer=True),
    "guard": Office("GUARD_ADDRESS", "guard", may_be_deployer=True),
    "operator": Office("OPERATOR_ADDRESS", "operator of the test venue"),
    "treasury": Office("TREASURY_ADDRESS", "treasury of the reserve token"),
    "relay": Office("RELAY_ADDRESS", "relay", may_be_deployer=True),
}


class OfficesRefusedError(Exception):
    """The environment names no offices that a deployment may have; the message has a sentence for each fault."""


@dataclass(frozen=True, slots=True)
class Offices:
    """Checksum addresses, none zero."""

    admin: str
    pauser: str
    keeper_admin: str
    keeper: str
    guard: str
    operator: str
    treasury: str
    relay: str


def is_devnet(network: str, chain_id: int, client_version: str) -> bool:
    """The local chain: the network of ape-config.yaml, an id of the list, and anvil. All three."""
    return network == DEVNET and chain_id in TEST_CHAIN_IDS and "anvil" in client_version.lower()


def belongs_on(name: str, chain_id: int) -> bool:
    """Whether that contract of the record may be deployed to the chain: test contracts to test chains only."""
    return name not in TEST_CONTRACTS or chain_id in TEST_CHAIN_IDS


def offices_of(environment: Mapping[str, str], deployer: str, *, on_devnet: bool) -> Offices:
    """The offices that the environment names. The relay's default is the keeper; on the devnet the deployer's are its own.

    Errors: OfficesRefusedError with everything that is wrong.
    """
    named = {name: environment.get(office.variable, "").strip() for name, office in OFFICES.items()}
    named["relay"] = named["relay"] or named["keeper"]
    if on_devnet:
        named = {name: value or ("" if OFFICES[name].may_be_deployer else deployer) for name, value in named.items()}
    faults = [fault for name, value in named.items() if (fault := _fault(name, value, deployer, on_devnet=on_devnet))]
    if faults:
        raise OfficesRefusedError("\n".join(faults))
    return Offices(**{name: to_checksum_address(value) for name, value in named.items()})


def _fault(name: str, value: str, deployer: str, *, on_devnet: bool) -> str | None:
    office = OFFICES[name]
    variable, title = office.variable, office.title
    if not value:
        # Without a keeper there is no default for the relay; one sentence is enough.
        return None if name == "relay" else f"{variable} is not set: set it to the address of the {title}"
    if not _is_address(value):
        return f"{variable} is {value}, which is not an address: give 0x and 40 hex digits, with a right checksum if in mixed case"
    if value.lower() == ZERO_ADDRESS:
        return f"{variable} is the zero address, and nobody could act as {title}: set it to an account that somebody holds"
    if not on_devnet and not office.may_be_deployer and value.lower() == deployer.lower():
        return f"{variable} is the deployer {deployer}, which may hold no such office off the devnet: name another account as {title}"
    return None


def _is_address(value: str) -> bool:
    """0x and 40 digits; in mixed case the checksum must be right, since it is there to find a digit that was mistyped."""
    if not value.startswith("0x") or not is_hex_address(value):
        return False
    digits = value[2:]
    return digits in (digits.lower(), digits.upper()) or value == to_checksum_address(value)
