"""Deploy the contracts to a network of ape-config.yaml and record them: `make deploy NETWORK=sepolia RPC_URL=... ACCOUNT=...`.

Safe to repeat: a contract that is recorded, has code and would be created by the same bytes is kept. On the local chain
(anvil, network devnet) the mock USDC is placed at Base Sepolia's USDC address and anvil's public accounts sign; on any
other chain an Ape account signs (its passphrase may come from APE_ACCOUNTS_<alias>_PASSPHRASE).

Offices come from ADMIN_ADDRESS, PAUSER_ADDRESS, KEEPER_ADMIN_ADDRESS (default: the deployer), KEEPER_ADDRESS,
GUARD_ADDRESS, OPERATOR_ADDRESS (of the test venue) and TREASURY_ADDRESS (of the reserve token; both default to
the deployer) and RELAY_ADDRESS (of the relay adapter; default: the keeper).
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import rlp
from ape import accounts, chain, project
from ape.api import AccountAPI
from ape.cli import ConnectedProviderCommand
from eth_utils import keccak, to_canonical_address, to_checksum_address, to_hex

from scripts._deployments import BASE_SEPOLIA_USDC, Deployed, Record, load, record_path

ADMIN_DELAY_S = 3 * 24 * 3600
USDC_E6_PER_USDC = 1_000_000
RESERVE_SEED_USDC_E6 = USDC_E6_PER_USDC  # SEED_USDC of contracts/libraries/ConstantsLib.sol


@dataclass(frozen=True, slots=True)
class Step:
    """One contract: its name in the record, its source, its constructor's arguments once earlier addresses are known."""

    name: str
    contract: str
    args: Callable[[dict[str, str], "Offices"], list[Any]]
    before: Callable[[dict[str, str], AccountAPI], None] | None = None  # what the constructor needs to find done


@dataclass(frozen=True, slots=True)
class Offices:
    admin: str
    pauser: str
    keeper_admin: str
    keeper: str
    guard: str
    operator: str
    treasury: str
    relay: str

    @classmethod
    def from_environment(cls, deployer: str) -> "Offices":
        def office(variable: str, default: str | None = None) -> str:
            value = os.environ.get(variable) or default
            if value is None:
                raise click.ClickException(f"{variable} is not set; it must be the address of that office")
            return str(to_checksum_address(value))

        return cls(
            admin=office("ADMIN_ADDRESS", deployer),
            pauser=office("PAUSER_ADDRESS", deployer),
            keeper_admin=office("KEEPER_ADMIN_ADDRESS", deployer),
            keeper=office("KEEPER_ADDRESS"),
            guard=office("GUARD_ADDRESS"),
            operator=office("OPERATOR_ADDRESS", deployer),
            treasury=office("TREASURY_ADDRESS", deployer),
            relay=office("RELAY_ADDRESS", os.environ.get("KEEPER_ADDRESS")),
        )


def allow_reserve_seed(at: dict[str, str], signer: AccountAPI) -> None:
    """The reserve token takes its first USDC from its creator, so the address that it will have is allowed it before."""
    usdc = project.MockUSDC.at(at["usdc"])
    if is_local():
        usdc.mint(signer.address, RESERVE_SEED_USDC_E6, sender=signer)
    if usdc.balanceOf(signer.address) < RESERVE_SEED_USDC_E6:
        raise click.ClickException(f"{signer.address} needs 1 USDC at {at['usdc']} to seed the reserve token")
    future = get_create_address(signer.address, signer.nonce + 1)
    usdc.approve(future, RESERVE_SEED_USDC_E6, sender=signer)


STEPS = (
    Step(
        "factory",
        "MandateVaultFactory",
        lambda at, who: [at["usdc"], ADMIN_DELAY_S, [who.admin, who.pauser, who.keeper_admin, who.keeper, who.guard]],
    ),
    Step("test_venue", "TestVenue", lambda at, who: [at["usdc"], who.operator, USDC_E6_PER_USDC]),  # a unit costs 1 USDC
    Step("test_venue_adapter", "TestVenueAdapter", lambda at, who: [at["usdc"], at["test_venue"]]),
    Step("x402_adapter", "X402Adapter", lambda at, who: [at["factory"]]),
    Step("relay_adapter", "RelayAdapter", lambda at, who: [at["usdc"], who.relay]),
    Step(
        "reserve_token",
        "ReserveToken",
        lambda at, who: [at["usdc"], ADMIN_DELAY_S, who.admin, who.pauser, who.treasury],
        allow_reserve_seed,
    ),
)
ADAPTERS = ("test_venue_adapter", "x402_adapter", "relay_adapter")


def get_create_address(creator: str, nonce: int) -> str:
    """Where CREATE puts the contract that `creator` makes with `nonce`."""
    return str(to_checksum_address(keccak(rlp.encode([to_canonical_address(creator), nonce]))[12:]))


def is_local() -> bool:
    """True on anvil. A node's word is enough: the keys that this unlocks are worthless everywhere else."""
    return "anvil" in str(chain.provider.make_request("web3_clientVersion", [])).lower()


def signer_for(network: str, alias: str | None) -> AccountAPI:
    if network == "devnet":
        if not is_local():
            raise click.ClickException("network devnet signs with anvil's public keys, but this node is not anvil; use another network")
        return accounts.test_accounts[0]
    if alias is None:
        raise click.ClickException("say who signs: --account <alias of an Ape account> (`ape accounts import <alias>` makes one)")
    account = accounts.load(alias)
    if f"APE_ACCOUNTS_{alias}_PASSPHRASE" in os.environ:
        account.set_autosign(True)
    return account


def has_code(address: str) -> bool:
    return len(chain.provider.get_code(address)) > 0


def ensure_usdc(record: Record) -> None:
    """Base Sepolia has Circle's USDC; the local chain gets the mock's code at the same address."""
    if not has_code(BASE_SEPOLIA_USDC):
        if not is_local():
            raise click.ClickException(f"there is no USDC at {BASE_SEPOLIA_USDC} on this chain; is it Base Sepolia?")
        template = accounts.test_accounts[0].deploy(project.MockUSDC)
        code = chain.provider.make_request("eth_getCode", [template.address, "latest"])
        chain.provider.make_request("anvil_setCode", [BASE_SEPOLIA_USDC, code])
        click.echo(f"usdc                  {BASE_SEPOLIA_USDC}  placed (mock)")
    code_hash = to_hex(keccak(chain.provider.get_code(BASE_SEPOLIA_USDC)))
    contract = "MockUSDC" if is_local() else "FiatToken"
    record.put(Deployed("usdc", contract, BASE_SEPOLIA_USDC, chain.blocks.head.number or 0, None, [], code_hash))


def ensure(step: Step, record: Record, offices: Offices, signer: AccountAPI) -> None:
    """Deploy one contract unless the record's is the same one and has code."""
    container = project.get_contract(step.contract)
    args = step.args({one.name: one.address for one in record.contracts}, offices)
    creation = container.constructor.serialize_transaction(*args).data
    creation_hash = to_hex(keccak(creation))
    known = record.by_name().get(step.name)
    if known is not None and known.creation_hash == creation_hash and has_code(known.address):
        click.echo(f"{step.name:<21} {known.address}  kept")
        return
    if step.before is not None:
        step.before({one.name: one.address for one in record.contracts}, signer)
    instance = signer.deploy(container, *args)
    receipt = instance.creation_metadata.receipt
    record.put(Deployed(step.name, step.contract, instance.address, receipt.block_number, receipt.txn_hash, args, creation_hash))
    click.echo(f"{step.name:<21} {instance.address}  deployed in block {receipt.block_number}")


def account_of(address: str, signer: AccountAPI) -> AccountAPI | None:
    """The account behind an office, when this run can sign for it: the signer itself, or one of anvil's public ones."""
    known = [signer, *(accounts.test_accounts if is_local() else ())]
    return next((one for one in known if one.address == address), None)


def name_venue_adapter(record: Record, signer: AccountAPI) -> None:
    """The test venue serves one adapter, which its operator names once."""
    at = record.by_name()
    venue, adapter = project.TestVenue.at(at["test_venue"].address), at["test_venue_adapter"].address
    if venue.adapter() == adapter:
        return
    operator = account_of(venue.operator(), signer)
    if operator is None:
        click.echo(f"the test venue has no adapter yet: its operator {venue.operator()} must call setAdapter({adapter})")
        return
    venue.setAdapter(adapter, sender=operator)
    click.echo("test_venue            serves the adapter")


def list_adapters(record: Record, signer: AccountAPI) -> None:
    at = record.by_name()
    factory = project.MandateVaultFactory.at(at["factory"].address)
    for name in ADAPTERS:
        if factory.isAdapter(at[name].address):
            continue
        if factory.defaultAdmin() != signer.address:
            click.echo(f"{name} is not listed yet: the admin {factory.defaultAdmin()} must call listAdapter({at[name].address})")
            continue
        factory.listAdapter(at[name].address, sender=signer)
        click.echo(f"{name:<21} listed")


def record_implementation(record: Record) -> None:
    factory = record.by_name()["factory"]
    address = project.MandateVaultFactory.at(factory.address).implementation()
    record.put(
        Deployed(
            "vault_implementation", "MandateVault", address, factory.block, factory.tx, [], to_hex(keccak(chain.provider.get_code(address)))
        )
    )


@click.command(cls=ConnectedProviderCommand)
@click.option("--account", "alias", help="alias of the Ape account that signs (not on devnet)")
@click.option("--record", "record_file", type=click.Path(path_type=Path), help="where the record goes instead of scripts/deployments/")
def cli(alias: str | None, record_file: Path | None) -> None:
    """Deploy what is missing and record all of it."""
    network = chain.provider.network.name
    path = record_file or record_path(network)
    record = load(path, chain.chain_id)
    signer = signer_for(network, alias)
    offices = Offices.from_environment(signer.address)
    ensure_usdc(record)
    for step in STEPS:
        ensure(step, record, offices, signer)
        record.save(path)
    record_implementation(record)
    name_venue_adapter(record, signer)
    list_adapters(record, signer)
    record.save(path)
    click.echo(f"recorded in {path}")
