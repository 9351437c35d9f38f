"""Who holds which office of a deployment, and where test contracts may go.

Pure: no chain; refusals are sentences.

Laws
- Off the devnet the deployer holds no office: its key is on the machine that deploys. Nor does an
  account whose key everybody has.
- All that is wrong is said at once, before anything is sent.
- Test contracts go to chains of a list, and the mock USDC and anvil's public keys to the devnet
  alone. What a node says of itself opens nothing on its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from core.environment import unquoted
from core.hexes import ZERO_ADDRESS, read_address
from core.mandate.venues.registry import venues
from core.public_accounts import PUBLIC_ACCOUNTS
from scripts._deployments import BASE_SEPOLIA_USDC

BASE_SEPOLIA_CHAIN_ID = 84532
DEAD = "0x000000000000000000000000000000000000dEaD"  # of contracts/libraries/ConstantsLib.sol
DEVNET = "devnet"
TEST_CHAIN_IDS = frozenset({BASE_SEPOLIA_CHAIN_ID})  # the devnet answers to Base Sepolia's id
TEST_CONTRACTS = frozenset(
    {
        *("test_venue", "test_pool", "test_weth", "uniswap_v3_factory", "test_market"),
        *(venue.adapter for venue in venues().declared if venue.is_test),
    }
)
USDC_BY_CHAIN = {BASE_SEPOLIA_CHAIN_ID: BASE_SEPOLIA_USDC}
NOBODY = frozenset(address.lower() for address in (ZERO_ADDRESS, DEAD, *USDC_BY_CHAIN.values()))
PUBLIC = frozenset(address.lower() for address in PUBLIC_ACCOUNTS)


@dataclass(frozen=True, slots=True)
class Office:
    """`variable` of the environment names who holds it.

    `falls_to_deployer`: on the devnet, when nobody is named.
    """

    variable: str
    title: str
    falls_to_deployer: bool = True


OFFICES = {
    "admin": Office("ADMIN_ADDRESS", "admin of factory and reserve token"),
    "pauser": Office("PAUSER_ADDRESS", "pauser"),
    "keeper_admin": Office("KEEPER_ADMIN_ADDRESS", "account that proposes keepers and guards"),
    "keeper": Office("KEEPER_ADDRESS", "keeper", falls_to_deployer=False),
    "guard": Office("GUARD_ADDRESS", "guard", falls_to_deployer=False),
    "operator": Office("OPERATOR_ADDRESS", "operator of the test venue"),
    "treasury": Office("TREASURY_ADDRESS", "treasury of the reserve token"),
    "relay": Office("RELAY_ADDRESS", "relay", falls_to_deployer=False),
}


class OfficesRefusedError(Exception):
    """The environment names no offices that a deployment may have; the message has a sentence for
    each fault.
    """


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
    """Whether that contract of the record may be deployed to the chain: test contracts to test
    chains only.
    """
    return name not in TEST_CONTRACTS or chain_id in TEST_CHAIN_IDS


def offices_of(environment: Mapping[str, str], deployer: str, *, on_devnet: bool) -> Offices:
    """The offices that the environment names.

    The relay's default is the keeper; on the devnet the deployer's are its own.

    Errors: OfficesRefusedError with everything that is wrong.
    """
    named = {name: _read(environment.get(office.variable, "")) for name, office in OFFICES.items()}
    if on_devnet:
        named = {
            name: value or (deployer if OFFICES[name].falls_to_deployer else "")
            for name, value in named.items()
        }
    faults = [
        fault
        for name, value in named.items()
        if (fault := _fault(name, value, deployer, on_devnet=on_devnet))
    ]
    if not on_devnet and deployer.lower() in PUBLIC:
        faults.append(
            f"the deployer is {deployer}, a public test account whose key everybody knows: sign "
            "with a key that only you have"
        )
    if faults:
        raise OfficesRefusedError("\n".join(faults))
    named["relay"] = named["relay"] or named["keeper"]
    return Offices(**{name: read_address(value) for name, value in named.items()})


def _read(value: str) -> str:
    try:
        return unquoted(value)
    except ValueError:
        return value  # which is no address


def _fault(name: str, value: str, deployer: str, *, on_devnet: bool) -> str | None:
    variable, title = OFFICES[name].variable, OFFICES[name].title
    if not value:
        # The relay that nobody names is the keeper.
        return (
            None
            if name == "relay"
            else f"{variable} is not set: set it to the address of the {title}"
        )
    try:
        read_address(value)
    except ValueError as error:
        return f"{variable} is {value}, which is not an address: {error}"
    if value.lower() in NOBODY:
        return (
            f"{variable} is {value}, so nobody could act as {title}: set it to an account whose "
            "key somebody holds"
        )
    return None if on_devnet else _fault_off_the_devnet(variable, title, value, deployer)


def _fault_off_the_devnet(variable: str, title: str, value: str, deployer: str) -> str | None:
    if value.lower() == deployer.lower():
        return (
            f"{variable} is the deployer {deployer}, which must not hold an office outside the "
            f"devnet: name another account as {title}"
        )
    if value.lower() in PUBLIC:
        return (
            f"{variable} is {value}, a public test account whose key everybody knows: name "
            f"another account as {title}"
        )
    return None
