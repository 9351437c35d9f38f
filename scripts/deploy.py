"""Deploy the contracts to a network of ape-config.yaml and record them: `make deploy
NETWORK=sepolia RPC_URL=... ACCOUNT=...`.

Safe to repeat: a contract that is recorded, has code and would be created by the same bytes is
kept, and a transaction that an interrupted run sent is waited for and found again by its nonce. On
the devnet (network devnet, chain 84532, anvil: all three) the mock USDC is placed at Base Sepolia's
USDC address and anvil's public accounts sign; anywhere else an Ape account signs (its passphrase
may come from APE_ACCOUNTS_<alias>_PASSPHRASE). The test venue, pool and market and
their adapters go to chain 84532 only. Adapters of the record's `venues` are deployed too, with the
arguments that it names (docs/venues-onchain.md#list-a-venue-of-your-own).

Offices come from ADMIN_ADDRESS, PAUSER_ADDRESS, KEEPER_ADMIN_ADDRESS, OPERATOR_ADDRESS (of the test
venue), TREASURY_ADDRESS (of the reserve token), KEEPER_ADDRESS, GUARD_ADDRESS and RELAY_ADDRESS (of
the relay adapter; default: the keeper). On the devnet the first five default to the deployer;
anywhere else all but the relay are required, and none may be the deployer or a public account.
"""

import os
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
from ape import accounts, chain, project
from ape.api import AccountAPI
from ape.cli import ConnectedProviderCommand
from eth_utils.conversions import to_hex
from eth_utils.crypto import keccak

from core.chain.nodes import Nodes
from core.chain.reader import GAS_PRICE_ORACLE
from core.mandate.chain.reader import VaultReader
from core.mandate.venues import uniswap_v3
from core.mandate.venues.registry import Venue, venues
from scripts._deployments import (
    CIRCLES,
    UNISWAPS,
    Deployed,
    OpenCall,
    Record,
    closing_text,
    create_address,
    load,
    node_chain_id,
    record_path,
)
from scripts._offices import (
    DEVNET,
    USDC_BY_CHAIN,
    Offices,
    OfficesRefusedError,
    belongs_on,
    is_devnet,
    offices_of,
)
from scripts._preflight_venues import chosen_lines
from scripts._recorded import venue_faults
from scripts._test_market import open_market, uniswap

ADMIN_DELAY_S = 3 * 24 * 3600
USDC_E6_PER_USDC = 1_000_000
PENDING_S = 600.0  # how long a run waits for what an earlier one sent
RESERVE_SEED_USDC_E6 = USDC_E6_PER_USDC  # SEED_USDC of contracts/libraries/ConstantsLib.sol


@dataclass(frozen=True, slots=True)
class DeployStep:
    """One contract: its name in the record, its source, its constructor's arguments once earlier
    addresses are known.
    """

    name: str
    contract: str
    args: Callable[[dict[str, str], Offices], list[Any]]
    # what the constructor needs to find done
    before: Callable[[dict[str, str], AccountAPI], None] | None = None
    # what later contracts need to find done; each run completes it
    after: Callable[[dict[str, str], AccountAPI], None] | None = None


def require_reserve_seed(record: Record, signer: AccountAPI) -> None:
    """Before anything is deployed: off the devnet the deployer brings the USDC that the reserve
    token begins with.
    """
    at = {name: one.address for name, one in record.by_name().items()}
    if (
        on_devnet()
        or "reserve_token" in at
        or project.MockUSDC.at(at["usdc"]).balanceOf(signer.address) >= RESERVE_SEED_USDC_E6
    ):
        return
    raise click.ClickException(
        "nothing was sent.\n"
        f"{signer.address} needs 1 USDC at {at['usdc']} to seed the reserve token"
    )


def allow_reserve_seed(at: dict[str, str], signer: AccountAPI) -> None:
    """The reserve token takes its first USDC from its creator, so the address that it will have is
    allowed it before.
    """
    usdc = project.MockUSDC.at(at["usdc"])
    if on_devnet():
        usdc.mint(signer.address, RESERVE_SEED_USDC_E6, sender=signer)
    future = create_address(signer.address, signer.nonce + 1)
    usdc.approve(future, RESERVE_SEED_USDC_E6, sender=signer)


def adapter_step(venue: Venue) -> DeployStep:
    return DeployStep(
        venue.adapter,
        venue.contract,
        lambda at, who: [
            one if isinstance(one, int) else {**asdict(who), **at}[one]
            for one in venue.creation.arguments
        ],
    )


def chosen_step(name: str, chosen: Mapping[str, Any]) -> DeployStep:
    """An adapter of the record's `venues`, whose arguments it has by name."""
    venue = venues().named(name)
    assert venue is not None, "the record was checked before"
    fields = venue.creation.chosen
    return DeployStep(
        name, venue.contract, lambda at, who: [at["factory"], *(chosen[one] for one in fields)]
    )


STEPS = (
    DeployStep(
        "factory",
        "MandateVaultFactory",
        lambda at, who: [
            at["usdc"],
            ADMIN_DELAY_S,
            [who.admin, who.pauser, who.keeper_admin, who.keeper, who.guard],
        ],
    ),
    # before any vault, so that the lens can read every block that has one
    DeployStep("vault_lens", "VaultLens", lambda at, who: [at["factory"]]),
    # a unit costs 1 USDC
    DeployStep(
        "test_venue", "TestVenue", lambda at, who: [at["usdc"], who.operator, USDC_E6_PER_USDC]
    ),
    DeployStep("test_pool", "TestPool", lambda at, who: [at["usdc"]]),
    DeployStep("test_weth", "TestToken", lambda at, who: []),
    DeployStep("uniswap_v3_factory", UNISWAPS, lambda at, who: []),
    DeployStep(
        "test_market",
        "TestMarket",
        lambda at, who: [
            *(at["uniswap_v3_factory"], at["usdc"], at["test_weth"]),
            uniswap_v3.FEE,
        ],
        after=lambda at, signer: open_market(at, signer, on_devnet=on_devnet()),
    ),
    *map(adapter_step, venues().declared),
    DeployStep(
        "reserve_token",
        "ReserveToken",
        lambda at, who: [at["usdc"], ADMIN_DELAY_S, who.admin, who.pauser, who.treasury],
        allow_reserve_seed,
    ),
    DeployStep("record_anchor", "RecordAnchor", lambda at, who: [at["factory"]]),
    DeployStep("sponsored_buy", "SponsoredBuy", lambda at, who: [at["reserve_token"]]),
)


def on_devnet() -> bool:
    client_version = str(chain.provider.make_request("web3_clientVersion", []))
    return is_devnet(chain.provider.network.name, node_chain_id(chain.provider), client_version)


def signer_for(network: str, alias: str | None) -> AccountAPI:
    if network == DEVNET:
        if not on_devnet():
            raise click.ClickException(
                "network devnet signs with anvil's public keys, but this node is not anvil "
                "on chain 84532; use another network"
            )
        return accounts.test_accounts[0]
    if alias is None:
        raise click.ClickException(
            "say who signs: --account <alias of an Ape account> (`ape accounts import <alias>` "
            "makes one)"
        )
    account = accounts.load(alias)
    if f"APE_ACCOUNTS_{alias}_PASSPHRASE" in os.environ:
        account.set_autosign(True)
    return account


def has_code(address: str) -> bool:
    return len(chain.provider.get_code(address)) > 0


def ensure_usdc(record: Record) -> None:
    """Circle's USDC, where it is known; the devnet gets the mock's code at the same address."""
    usdc = USDC_BY_CHAIN.get(record.chain_id)
    if usdc is None:
        raise click.ClickException(
            f"no USDC is known for chain {record.chain_id}; add its address to USDC_BY_CHAIN "
            "in scripts/_offices.py"
        )
    if not has_code(usdc):
        if not on_devnet():
            raise click.ClickException(
                f"there is no USDC at {usdc} on this chain; is it Base Sepolia?"
            )
        template = accounts.test_accounts[0].deploy(project.MockUSDC)
        code = chain.provider.make_request("eth_getCode", [template.address, "latest"])
        chain.provider.make_request("anvil_setCode", [usdc, code])
        click.echo(f"usdc                  {usdc}  placed (mock)")
    code_hash = to_hex(keccak(chain.provider.get_code(usdc)))
    contract = "MockUSDC" if on_devnet() else CIRCLES
    record.put(Deployed("usdc", contract, usdc, chain.blocks.head.number or 0, None, [], code_hash))


def ensure_gas_oracle() -> None:
    """The devnet has no layer 1: the mock's code at the predeploy's address names its fee."""
    if not on_devnet() or has_code(GAS_PRICE_ORACLE):
        return
    template = accounts.test_accounts[0].deploy(project.MockGasPriceOracle)
    code = chain.provider.make_request("eth_getCode", [template.address, "latest"])
    chain.provider.make_request("anvil_setCode", [GAS_PRICE_ORACLE, code])
    click.echo(f"gas price oracle      {GAS_PRICE_ORACLE}  placed (mock)")


def transactions_of(address: str, tag: str) -> int:
    return int(chain.provider.make_request("eth_getTransactionCount", [address, tag]), 16)


def wait_for_pending(signer: AccountAPI) -> None:
    """Until the chain has what an interrupted run sent, or it is sent twice."""
    until, is_shown = time.monotonic() + PENDING_S, False
    while transactions_of(signer.address, "pending") > transactions_of(signer.address, "latest"):
        if time.monotonic() > until:
            raise click.ClickException(
                f"nothing was sent.\na transaction of {signer.address} has waited for {PENDING_S:.0f} s: "
                "speed it up or cancel it by its nonce in a wallet, and run this again"
            )
        if not is_shown:
            click.echo(f"{signer.address} has a transaction under way; waiting for it")
        is_shown = True
        time.sleep(1)


def sent_before(
    step: DeployStep, record: Record, creation_hash: str
) -> tuple[str, str, int] | None:
    """Address, transaction and block of the contract that an interrupted run sent; None: it sent
    none, or none that was mined, and its nonce may have gone to another transaction.
    """
    sent = record.sending
    if sent is None or (sent["name"], sent["creation_hash"]) != (step.name, creation_hash):
        return None
    sender, nonce = sent["sender"], sent["nonce"]
    address = create_address(sender, nonce)
    if not has_code(address):
        return None
    blocks = range(sent["block"], (chain.blocks.head.number or 0) + 1)
    # counts of an account's transactions rise with the blocks, of which there may be many by now
    number = blocks[bisect_right(blocks, nonce, key=lambda at: transactions_of(sender, hex(at)))]
    block = chain.provider.make_request("eth_getBlockByNumber", [hex(number), True])
    made = next(
        one
        for one in block["transactions"]
        if (one["from"].lower(), int(one["nonce"], 16)) == (sender.lower(), nonce)
    )
    is_ours = to_hex(keccak(hexstr=made["input"])) == creation_hash
    return (address, made["hash"], number) if is_ours else None


def ensure(
    step: DeployStep, record: Record, offices: Offices, signer: AccountAPI, path: Path
) -> None:
    """Deploy one contract unless the record's is the same one and has code, or an earlier run sent it."""
    container = (
        uniswap(UNISWAPS) if step.contract == UNISWAPS else project.get_contract(step.contract)
    )
    args = step.args({one.name: one.address for one in record.contracts}, offices)
    creation = container.constructor.serialize_transaction(*args).data
    creation_hash = to_hex(keccak(creation))
    known = record.by_name().get(step.name)
    if known is not None and known.creation_hash == creation_hash and has_code(known.address):
        click.echo(f"{step.name:<21} {known.address}  kept")
        return
    made = sent_before(step, record, creation_hash)
    if made is None:
        made = _sent(step, container, args, record, creation_hash, signer, path)
    address, tx_hash, number = made
    record.sending = None
    record.put(Deployed(step.name, step.contract, address, number, tx_hash, args, creation_hash))
    click.echo(f"{step.name:<21} {address}  deployed in block {number}")


def _sent(
    step: DeployStep,
    container: Any,
    args: list[Any],
    record: Record,
    creation_hash: str,
    signer: AccountAPI,
    path: Path,
) -> tuple[str, str, int]:
    """Address, transaction and block; what is about to be sent is recorded before."""
    if step.before is not None:
        step.before({one.name: one.address for one in record.contracts}, signer)
    nonce = transactions_of(signer.address, "latest")
    record.sending = {
        "name": step.name,
        "creation_hash": creation_hash,
        "sender": signer.address,
        "nonce": nonce,
        "block": chain.blocks.head.number or 0,
    }
    record.save(path)
    instance = signer.deploy(container, *args, nonce=nonce)
    receipt = instance.creation_metadata.receipt
    return instance.address, receipt.txn_hash, receipt.block_number


def require_venues(record: Record) -> None:
    """Before anything is deployed: what `make preflight` would find wrong behind an adapter that is
    asked for and not there yet. Its constructor refuses some of that without saying it in words.
    """
    at = {one.name: one.address for one in record.contracts}
    with closing(Nodes([os.environ["RPC_URL"]])) as rpc:
        reader = VaultReader(rpc, at)
        found = [
            str(line)
            for name in record.venues
            if name not in at
            for line in chosen_lines(reader, record, name)
            if not line.is_right
        ]
    if found:
        raise click.ClickException("no venue was deployed.\n" + "\n".join(found))


def account_of(address: str, signer: AccountAPI) -> AccountAPI | None:
    """The account behind an office, when this run can sign for it: the signer itself, or one of
    anvil's public ones.
    """
    known = [signer, *(accounts.test_accounts if on_devnet() else ())]
    return next((one for one in known if one.address == address), None)


def name_venue_adapter(record: Record, signer: AccountAPI) -> list[OpenCall]:
    """The test venue serves one adapter, which its operator names once.

    Answers the call if this run cannot sign it.
    """
    at = record.by_name()
    if "test_venue" not in at:
        return []
    venue, adapter = (
        project.TestVenue.at(at["test_venue"].address),
        at["test_venue_adapter"].address,
    )
    if venue.adapter() == adapter:
        return []
    operator = account_of(venue.operator(), signer)
    if operator is None:
        data = to_hex(venue.setAdapter.encode_input(adapter))
        return [
            OpenCall(
                "the test venue's operator",
                venue.operator(),
                "test_venue",
                venue.address,
                f"setAdapter({adapter})",
                data,
            )
        ]
    venue.setAdapter(adapter, sender=operator)
    click.echo("test_venue            serves the adapter")
    return []


def list_adapters(record: Record, signer: AccountAPI) -> list[OpenCall]:
    """Answers the calls that are left to the admin."""
    at = record.by_name()
    factory = project.MandateVaultFactory.at(at["factory"].address)
    admin, left = factory.defaultAdmin(), []
    for name in record.adapters():
        if factory.isAdapter(at[name].address):
            continue
        if admin == signer.address:
            factory.listAdapter(at[name].address, sender=signer)
            click.echo(f"{name:<21} listed")
            continue
        data = to_hex(factory.listAdapter.encode_input(at[name].address))
        left.append(
            OpenCall(
                "the admin",
                admin,
                "factory",
                factory.address,
                f"listAdapter({at[name].address})",
                data,
                f"lists {name}",
            )
        )
    return left


def record_created_by_factory(record: Record) -> None:
    """What the factory's constructor creates: the vaults' implementation and the validator of
    signatures.
    """
    created = record.by_name()["factory"]
    factory = project.MandateVaultFactory.at(created.address)
    made = (
        ("vault_implementation", "MandateVault", factory.implementation()),
        ("factory_validator", "Erc6492Validator", factory.validator()),
    )
    for name, contract, address in made:
        code_hash = to_hex(keccak(chain.provider.get_code(address)))
        record.put(Deployed(name, contract, address, created.block, created.tx, [], code_hash))


@click.command(cls=ConnectedProviderCommand)
@click.option("--account", "alias", help="alias of the Ape account that signs (not on devnet)")
@click.option(
    "--record",
    "record_file",
    type=click.Path(path_type=Path),
    help="where the record goes instead of scripts/deployments/",
)
def cli(alias: str | None, record_file: Path | None) -> None:
    """Deploy what is missing and record all of it."""
    network = chain.provider.network.name
    path = record_file or record_path(network)
    record = load(path, node_chain_id(chain.provider))
    signer = signer_for(network, alias)
    try:
        offices = offices_of(os.environ, signer.address, on_devnet=on_devnet())
    except OfficesRefusedError as refused:
        raise click.ClickException(f"nothing was sent.\n{refused}") from None
    if faults := [*venue_faults(record)]:
        raise click.ClickException("nothing was sent.\n" + "\n".join(faults))
    wait_for_pending(signer)
    ensure_usdc(record)
    require_reserve_seed(record, signer)
    require_venues(record)
    chosen = [chosen_step(name, given) for name, given in record.venues.items()]
    for step in (*STEPS, *chosen):
        if not belongs_on(step.name, record.chain_id):
            click.echo(
                f"{step.name:<21} skipped: a test contract, and chain {record.chain_id} is "
                "not a test chain of this project"
            )
            continue
        ensure(step, record, offices, signer, path)
        record.save(path)
        if step.after is not None:
            step.after({one.name: one.address for one in record.contracts}, signer)
    record_created_by_factory(record)
    ensure_gas_oracle()
    left = [*name_venue_adapter(record, signer), *list_adapters(record, signer)]
    record.save(path)
    click.echo(f"recorded in {path}")
    click.echo(closing_text(left))
