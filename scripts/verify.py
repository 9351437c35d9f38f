"""Read the recorded deployment back from the chain: `make verify NETWORK=sepolia RPC_URL=...`.

Checks that the record is of a whole deployment, each name with its own contract
(scripts/_recorded.py); contract by contract, that every byte of the code is what this tree compiles
to and that each immutable is what the record gives (scripts/_deployed_code.py); that every address
points to the others; that the offices are held by those of the record and by nobody else, and
exactly its adapters are listed (scripts/_office_log.py); that nothing is paused and no change is
under way. Ends with 1 when anything differs.

Not checked: the code of a USDC and of a Uniswap factory that are not ours, storage that no view below reads, and what the
node hides; ask a second node.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
import requests
from ape import chain, project
from ape.cli import ConnectedProviderCommand
from ape.contracts import ContractInstance
from ape.exceptions import ApeException

from core.findings import PartFinding
from core.mandate.venues.registry import venues
from scripts._deployed_code import expected_immutables, recorded_code_faults
from scripts._deployments import (
    NOT_OURS,
    ROOT,
    Deployed,
    Record,
    load,
    node_chain_id,
    record_path,
)
from scripts._office_log import (
    DEFAULT_ADMIN_ROLE,
    KEEPER_ADMIN_ROLE,
    PAUSER_ROLE,
    TOPICS,
    HeldRoles,
    Log,
    LogsMissingError,
    RangeRefusedError,
    held,
    read_ranges,
)
from scripts._offices import is_devnet
from scripts._recorded import (
    Office,
    differing_offices,
    record_faults,
    recorded_offices,
    spelled,
    to_record,
)

# A change under way by the view that shows it: the call that drops it, and who may.
PENDING_ADMIN = {
    "pendingDefaultAdmin": "cancelDefaultAdminTransfer(), by the admin",
    "pendingDefaultAdminDelay": "rollbackDefaultAdminDelay(), by the admin",
}
PENDING_FACTORY = {
    "pendingKeeper": "cancelKeeperProposal(), by admin or pauser",
    "pendingGuard": "cancelGuardProposal(), by admin or pauser",
}
PENDING_TOKEN = {"pendingTreasury": "cancelTreasuryProposal(), by admin or pauser"}


class Findings:
    """What was checked and what differs."""

    def __init__(self) -> None:
        self.faults = 0

    def check(self, what: str, is_right: bool, found: object) -> None:
        self.faults += not is_right
        click.echo(PartFinding(is_right, what, str(found)))

    def expect_none(self, what: str, faults: Sequence[str], fine: str) -> None:
        """`fine` is what to say without a fault."""
        self.check(what, not faults, "; ".join(faults) or fine)


def check_code(findings: Findings, one: Deployed, record: Record) -> None:
    found = bytes(chain.provider.get_code(one.address))
    if one.contract in NOT_OURS:
        findings.check(f"{one.name} code", len(found) > 0, f"{len(found)} bytes (not ours)")
        return
    faults = recorded_code_faults(one, record, found)
    immutables = len(expected_immutables(one, record))
    findings.expect_none(f"{one.name} code", faults, f"{len(found)} bytes, {immutables} immutables")


def logs_between(addresses: Sequence[str]) -> Callable[[int, int], list[Log]]:
    def ask(first: int, last: int) -> list[Log]:
        wanted = {
            "address": list(addresses),
            "topics": [list(TOPICS)],
            "fromBlock": hex(first),
            "toBlock": hex(last),
        }
        try:
            return list(chain.provider.make_request("eth_getLogs", [wanted]))
        except (ApeException, requests.RequestException) as error:
            raise RangeRefusedError(str(error)) from error

    return ask


def offices_by_logs(record: Record) -> tuple[HeldRoles, HeldRoles]:
    """Of the factory and of the reserve token."""
    factory, token = record.by_name()["factory"], record.by_name()["reserve_token"]
    ask = logs_between((factory.address, token.address))
    try:
        logs = list(read_ranges(ask, min(factory.block, token.block), chain.blocks.head.number))
        return held(factory.address, logs), held(token.address, logs)
    except LogsMissingError as missing:
        raise click.ClickException(f"the offices could not be read: {missing}") from None


def offices_found(
    factory: ContractInstance,
    factory_held: HeldRoles,
    token: ContractInstance,
    token_held: HeldRoles,
) -> dict[str, Office]:
    return {
        "factory.admin": factory.defaultAdmin(),
        "factory.admin_delay_s": factory.defaultAdminDelay(),
        "factory.pausers": factory_held.holders(PAUSER_ROLE),
        "factory.keeper_admins": factory_held.holders(KEEPER_ADMIN_ROLE),
        "factory.keeper": factory.keeper(),
        "factory.guard": factory.guard(),
        "reserve_token.admin": token.defaultAdmin(),
        "reserve_token.admin_delay_s": token.defaultAdminDelay(),
        "reserve_token.pausers": token_held.holders(PAUSER_ROLE),
        "reserve_token.treasury": token.treasury(),
    }


def check_roles(
    findings: Findings, name: str, contract: ContractInstance, found: HeldRoles, known: set[str]
) -> None:
    """The logs agree with the contract's own answers, and nobody holds a role that this project
    does not know.
    """
    denied = [
        f"{one} as {role}"
        for role, accounts in found.roles.items()
        for one in accounts
        if not contract.hasRole(role, one)
    ]
    denied += [f"{one} as adapter" for one in found.adapters if not contract.isAdapter(one)]
    findings.expect_none(
        f"{name} logs",
        [f"the node's logs name {one}, its state does not" for one in denied],
        "name holders as the contract does",
    )
    unknown = [
        f"{', '.join(found.holders(role))} as {role}: the admin revokes it"
        for role in sorted(set(found.roles) - known)
    ]
    findings.expect_none(f"{name} other roles", unknown, "none")


def check_adapters(findings: Findings, at: dict[str, str], listed: frozenset[str]) -> None:
    recorded = {at[name]: name for name in at if venues().named(name) is not None}
    for address, name in recorded.items():
        missing = (
            []
            if address in listed
            else [f"{address} is not: the admin calls listAdapter({address})"]
        )
        findings.expect_none(f"{name} listed", missing, address)
    extra = [
        f"{one} is not of this record: the admin calls delistAdapter({one})"
        for one in sorted(listed - set(recorded))
    ]
    findings.expect_none("other adapters listed", extra, "none")


def check_nothing_pending(
    findings: Findings, name: str, contract: ContractInstance, views: dict[str, str]
) -> None:
    for view, cancel in views.items():
        what, at_s = getattr(contract, view)()
        at = f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M} UTC"
        pending = (
            [f"{what} from {at} on; drop it: {cancel}; or let it happen and record it"]
            if at_s
            else []
        )
        findings.expect_none(f"{name}.{view}", pending, "none")


def check_offices(findings: Findings, record: Record, shown: str) -> None:
    """Who holds the offices, all of them and nobody else; what is listed, paused and under way."""
    at = {one.name: one.address for one in record.contracts}
    factory, token = (
        project.MandateVaultFactory.at(at["factory"]),
        project.ReserveToken.at(at["reserve_token"]),
    )
    factory_held, token_held = offices_by_logs(record)
    recorded, found = (
        recorded_offices(record),
        offices_found(factory, factory_held, token, token_held),
    )
    differing = differing_offices(recorded, found)
    for name, office in found.items():
        wanted = f"; recorded: {spelled(recorded[name])}" if name in differing else ""
        findings.check(name, name not in differing, spelled(office) + wanted)
    check_roles(
        findings,
        "factory",
        factory,
        factory_held,
        {DEFAULT_ADMIN_ROLE, PAUSER_ROLE, KEEPER_ADMIN_ROLE},
    )
    check_roles(findings, "reserve_token", token, token_held, {DEFAULT_ADMIN_ROLE, PAUSER_ROLE})
    check_adapters(findings, at, factory_held.adapters)
    for name, contract, views in (
        ("factory", factory, PENDING_FACTORY),
        ("reserve_token", token, PENDING_TOKEN),
    ):
        findings.expect_none(
            f"{name}.paused", ["yes: the admin calls unpause()"] if contract.paused() else [], "no"
        )
        check_nothing_pending(findings, name, contract, {**PENDING_ADMIN, **views})
    if differing:
        click.echo(to_record(shown, record, differing))


def check_links(findings: Findings, at: dict[str, str]) -> None:
    """Every address points to the others, and the token is worth what it began with."""
    factory, token = (
        project.MandateVaultFactory.at(at["factory"]),
        project.ReserveToken.at(at["reserve_token"]),
    )
    findings.check("factory.usdc", factory.usdc() == at["usdc"], factory.usdc())
    findings.check(
        "factory.implementation",
        factory.implementation() == at["vault_implementation"],
        factory.implementation(),
    )
    findings.check(
        "factory.validator", factory.validator() == at["factory_validator"], factory.validator()
    )
    findings.check("reserve_token.usdc", token.usdc() == at["usdc"], token.usdc())
    findings.check(
        "reserve_token price",
        token.redeemPrice() >= 10_000,
        f"{token.redeemPrice()} base units per token",
    )
    if "test_venue" in at:
        venue = project.TestVenue.at(at["test_venue"])
        findings.check(
            "test_venue.adapter", venue.adapter() == at["test_venue_adapter"], venue.adapter()
        )


def is_on_devnet(record: Record) -> bool:
    return is_devnet(
        chain.provider.network.name,
        record.chain_id,
        str(chain.provider.make_request("web3_clientVersion", [])),
    )


@click.command(cls=ConnectedProviderCommand)
@click.option(
    "--record",
    "record_file",
    type=click.Path(path_type=Path),
    help="the record instead of scripts/deployments/<network>.json",
)
def cli(record_file: Path | None) -> None:
    """Compare the record with the chain."""
    path = record_file or record_path(chain.provider.network.name)
    if not path.exists():
        raise click.ClickException(
            f"{path} does not exist; run `make deploy NETWORK={chain.provider.network.name}` first"
        )
    record = load(path, node_chain_id(chain.provider))
    shown = str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
    findings = Findings()
    if faults := record_faults(record, on_devnet=is_on_devnet(record)):
        for fault in faults:
            findings.check("the record", False, fault)
        raise click.ClickException(
            f"{shown} does not record a whole deployment to chain {record.chain_id}; nothing "
            "else was checked"
        )
    for one in record.contracts:
        check_code(findings, one, record)
    check_links(findings, {one.name: one.address for one in record.contracts})
    check_offices(findings, record, shown)
    if findings.faults:
        raise click.ClickException(f"{findings.faults} differences between {shown} and the chain")
    click.echo(
        f"{shown} and the chain agree (block {chain.blocks.head.number}, sources of commit "
        f"{record.commit})"
    )
