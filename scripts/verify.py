"""Read the recorded deployment back from the chain: `make verify NETWORK=sepolia RPC_URL=...`.

Checks, contract by contract, that the code is what this tree compiles to (immutable words left out), that every address
points to the others, who holds the offices, and that the adapters are listed. Ends with 1 when anything differs.
"""

from pathlib import Path

import click
from ape import chain, project
from ape.cli import ConnectedProviderCommand

from scripts._deployments import ROOT, load, record_path


class Findings:
    """What was checked and what differs."""

    def __init__(self) -> None:
        self.faults = 0

    def check(self, what: str, is_right: bool, found: object) -> None:
        self.faults += not is_right
        click.echo(f"{'ok   ' if is_right else 'WRONG'}  {what}: {found}")


def code_differs_at(compiled: bytes, found: bytes) -> int | None:
    """The first byte that differs, or None. Immutables stand as zeros in the compiled code, so zeros are passed over."""
    if len(compiled) != len(found):
        return min(len(compiled), len(found))
    return next((n for n, (mine, theirs) in enumerate(zip(compiled, found, strict=True)) if mine not in (0, theirs)), None)


def check_code(findings: Findings, name: str, contract: str, address: str) -> None:
    found = bytes(chain.provider.get_code(address))
    if contract == "FiatToken":
        findings.check(f"{name} code", len(found) > 0, f"{len(found)} bytes (not ours)")
        return
    compiled = project.get_contract(contract).contract_type.runtime_bytecode.bytecode
    at = code_differs_at(bytes.fromhex(compiled.removeprefix("0x")), found)
    findings.check(f"{name} code", at is None, f"{len(found)} bytes" + ("" if at is None else f", differs from the source at byte {at}"))


@click.command(cls=ConnectedProviderCommand)
@click.option("--record", "record_file", type=click.Path(path_type=Path), help="the record instead of scripts/deployments/<network>.json")
def cli(record_file: Path | None) -> None:
    """Compare the record with the chain."""
    path = record_file or record_path(chain.provider.network.name)
    if not path.exists():
        raise click.ClickException(f"{path} does not exist; run `make deploy NETWORK={chain.provider.network.name}` first")
    record = load(path, chain.chain_id)
    at = {one.name: one.address for one in record.contracts}
    findings = Findings()
    for one in record.contracts:
        check_code(findings, one.name, one.contract, one.address)

    factory = project.MandateVaultFactory.at(at["factory"])
    recorded = next(one for one in record.contracts if one.name == "factory").args[2]
    admin, pauser, keeper_admin, keeper, guard = recorded
    findings.check("factory.usdc", factory.usdc() == at["usdc"], factory.usdc())
    findings.check("factory.implementation", factory.implementation() == at["vault_implementation"], factory.implementation())
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
    venue = project.TestVenue.at(at["test_venue"])
    findings.check("test_venue.adapter", venue.adapter() == at["test_venue_adapter"], venue.adapter())
    for name in ("test_venue_adapter", "x402_adapter", "relay_adapter"):
        findings.check(f"{name} listed", factory.isAdapter(at[name]), at[name])
    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    if findings.faults:
        raise click.ClickException(f"{findings.faults} differences between {shown} and the chain")
    click.echo(f"{shown} and the chain agree (block {chain.blocks.head.number}, sources of commit {record.commit})")
