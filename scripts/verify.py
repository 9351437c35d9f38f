"""Read the recorded deployment back from the chain: `make verify NETWORK=sepolia RPC_URL=...`.

Checks, contract by contract, that every byte of the code is what this tree compiles to and that each immutable is what the
record gives (scripts/_deployed_code.py), that every address points to the others, who holds the offices, and that the adapters
are listed. Ends with 1 when anything differs.

Not checked: the code of a USDC that is not ours, storage that no view below reads, and what the node hides; ask a second node.
"""

import json
from collections.abc import Callable
from pathlib import Path

import click
from ape import chain, project
from ape.cli import ConnectedProviderCommand

from scripts._deployed_code import (
    Domain,
    Immutable,
    address_word,
    code_faults,
    domain_immutables,
    immutable_places,
    is_same_program,
)
from scripts._deployments import ADAPTERS, ROOT, Deployed, Record, create_address, load, node_chain_id, record_path
from scripts._offices import belongs_on

ARTIFACTS = ROOT / ".build" / "forge"
CONTRACTS = (
    "usdc",
    "factory",
    "test_venue",
    "test_venue_adapter",
    "x402_adapter",
    "relay_adapter",
    "reserve_token",
    "vault_implementation",
    "factory_validator",
)


class Findings:
    """What was checked and what differs."""

    def __init__(self) -> None:
        self.faults = 0

    def check(self, what: str, is_right: bool, found: object) -> None:
        self.faults += not is_right
        click.echo(f"{'ok   ' if is_right else 'WRONG'}  {what}: {found}")


def addresses(*named: tuple[str, str]) -> tuple[Immutable, ...]:
    return tuple(Immutable(name, address_word(address)) for name, address in named)


Expected = Callable[[Deployed, dict[str, str], int], tuple[Immutable, ...]]

# The immutables of each contract in the order of declaration, from the record: (its entry, addresses by name, chain id).
EXPECTED: dict[str, Expected] = {
    "MandateVaultFactory": lambda one, at, chain_id: (
        *addresses(
            ("implementation", create_address(one.address, 1)),
            ("usdc", at["usdc"]),
            ("validator", create_address(one.address, 2)),
        ),
        *domain_immutables(Domain("Mandate Wallet", "2", chain_id, one.address)),
    ),
    "MandateVault": lambda one, at, chain_id: addresses(("USDC", at["usdc"]), ("FACTORY", at["factory"])),
    "Erc6492Validator": lambda one, at, chain_id: (),
    "TestVenue": lambda one, at, chain_id: addresses(("USDC", at["usdc"]), ("operator", one.args[1])),
    "TestVenueAdapter": lambda one, at, chain_id: addresses(("USDC", at["usdc"]), ("venue", at["test_venue"])),
    "X402Adapter": lambda one, at, chain_id: (
        *addresses(("USDC", at["usdc"]), ("factory", at["factory"])),
        *domain_immutables(Domain("Mandate Wallet x402", "1", chain_id, one.address)),
    ),
    "RelayAdapter": lambda one, at, chain_id: addresses(("USDC", at["usdc"]), ("relay", one.args[1])),
    "ReserveToken": lambda one, at, chain_id: addresses(("USDC", at["usdc"])),
    "MockUSDC": lambda one, at, chain_id: copied(domain_immutables(Domain("USDC", "2", chain_id, one.address))),
}


def copied(domain: tuple[Immutable, ...]) -> tuple[Immutable, ...]:
    """Of code that was built at one address and copied to another: the address that it cached, and what hangs on it, are nobody's."""
    return tuple(Immutable(one.name, None) if one.name in ("_cachedDomainSeparator", "_cachedThis") else one for one in domain)


def check_code(findings: Findings, one: Deployed, record: Record) -> None:
    found = bytes(chain.provider.get_code(one.address))
    if one.contract == "FiatToken":
        findings.check(f"{one.name} code", len(found) > 0, f"{len(found)} bytes (not ours)")
        return
    artifact = json.loads((ARTIFACTS / f"{one.contract}.sol" / f"{one.contract}.json").read_text())
    compiled = bytes.fromhex(project.get_contract(one.contract).contract_type.runtime_bytecode.bytecode.removeprefix("0x"))
    # Ape deploys, forge knows the immutables' places; the two differ in how they name sources, so in the metadata alone.
    if not is_same_program(compiled, bytes.fromhex(artifact["deployedBytecode"]["object"].removeprefix("0x"))):
        raise click.ClickException(f"forge's build of {one.contract} is not of these sources; run `make build`")
    expected = EXPECTED[one.contract](one, {known.name: known.address for known in record.contracts}, record.chain_id)
    faults = code_faults(compiled, found, immutable_places(artifact), expected)
    findings.check(f"{one.name} code", not faults, "; ".join(faults) or f"{len(found)} bytes, {len(expected)} immutables")


def check_recorded(findings: Findings, record: Record) -> None:
    """Nothing is missing, and no test contract stands where none belongs. What cannot be read without them is not tried."""
    names = record.by_name()
    for name in CONTRACTS:
        belongs = belongs_on(name, record.chain_id)
        if belongs != (name in names):
            findings.check(f"{name} recorded", False, "missing" if belongs else f"a test contract on chain {record.chain_id}")
    if findings.faults:
        raise click.ClickException(f"the record is not of a whole deployment to chain {record.chain_id}; run `make deploy` again")


@click.command(cls=ConnectedProviderCommand)
@click.option("--record", "record_file", type=click.Path(path_type=Path), help="the record instead of scripts/deployments/<network>.json")
def cli(record_file: Path | None) -> None:
    """Compare the record with the chain."""
    path = record_file or record_path(chain.provider.network.name)
    if not path.exists():
        raise click.ClickException(f"{path} does not exist; run `make deploy NETWORK={chain.provider.network.name}` first")
    record = load(path, node_chain_id(chain.provider))
    at = {one.name: one.address for one in record.contracts}
    findings = Findings()
    check_recorded(findings, record)
    factory = project.MandateVaultFactory.at(at["factory"])
    for one in record.contracts:
        check_code(findings, one, record)

    recorded = next(one for one in record.contracts if one.name == "factory").args[2]
    admin, pauser, keeper_admin, keeper, guard = recorded
    findings.check("factory.usdc", factory.usdc() == at["usdc"], factory.usdc())
    findings.check("factory.implementation", factory.implementation() == at["vault_implementation"], factory.implementation())
    findings.check("factory.validator", factory.validator() == at["factory_validator"], factory.validator())
    findings.check("factory.defaultAdmin", factory.defaultAdmin() == admin, factory.defaultAdmin())
    findings.check("factory.keeper", factory.keeper() == keeper, factory.keeper())
    findings.check("factory.guard", factory.guard() == guard, factory.guard())
    findings.check("pauser", factory.hasRole(factory.PAUSER_ROLE(), pauser), pauser)
    findings.check("keeper admin", factory.hasRole(factory.KEEPER_ADMIN_ROLE(), keeper_admin), keeper_admin)
    findings.check("factory.paused", not factory.paused(), factory.paused())
    token, seed = project.ReserveToken.at(at["reserve_token"]), next(one for one in record.contracts if one.name == "reserve_token").args
    findings.check("reserve_token.usdc", token.usdc() == at["usdc"], token.usdc())
    findings.check("reserve_token.defaultAdmin", token.defaultAdmin() == seed[2], token.defaultAdmin())
    findings.check("reserve_token.treasury", token.treasury() == seed[4], token.treasury())
    findings.check("reserve_token price", token.redeemPrice() >= 10_000, f"{token.redeemPrice()} base units a token")
    if "test_venue" in at:
        venue = project.TestVenue.at(at["test_venue"])
        findings.check("test_venue.adapter", venue.adapter() == at["test_venue_adapter"], venue.adapter())
    for name in (adapter for adapter in ADAPTERS if adapter in at):
        findings.check(f"{name} listed", factory.isAdapter(at[name]), at[name])
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    if findings.faults:
        raise click.ClickException(f"{findings.faults} differences between {shown} and the chain")
    click.echo(f"{shown} and the chain agree (block {chain.blocks.head.number}, sources of commit {record.commit})")
