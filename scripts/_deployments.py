"""The deployment record, scripts/deployments/<network>.json, read by deploy.py, verify.py and the
processes; what is left to do after a deployment; and the facts that deploy.py and verify.py share.

{chain_id, block, commit, contracts: [{name, contract, address, block, tx, args, creation_hash}],
offices: {...}, venues: {...}}; `block` is the height of the first contract, from which the indexer reads;
creation_hash is keccak256 of the creation code with its arguments; a person writes `offices`, which
became another's since (scripts/_recorded.py has their names), and `venues`, the adapters to deploy
for venues of one's own: name, then the constructor's arguments by name (Creation.chosen). `sending`, there only while a
contract's transaction may be under way, is how the next run finds it: {name, creation_hash, sender,
nonce, block}, the last the height before it was sent.
"""

import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rlp
from eth_utils.address import to_canonical_address, to_checksum_address
from eth_utils.crypto import keccak

from core.mandate.venues.registry import venues

if TYPE_CHECKING:
    from ape.api import ProviderAPI

ROOT = Path(__file__).resolve().parent.parent
APE_CONFIG = ROOT / "ape-config.yaml"
IS_CHECKOUT = APE_CONFIG.exists()  # and no installed package
ARTIFACTS = ROOT / ".build" / "forge"
# Circle's USDC on Base Sepolia. The local chain gets the mock's code at this address, so that
# clients which know only this asset accept it.
BASE_SEPOLIA_USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
CIRCLES, UNISWAPS = NOT_OURS = ("FiatToken", "UniswapV3Factory")  # of a record's contracts
ADAPTERS = tuple(venue.adapter for venue in venues().declared)


@dataclass(frozen=True, slots=True)
class Deployed:
    name: str
    contract: str
    address: str
    block: int
    tx: str | None  # None: the code was there, or was placed on a local chain
    args: list[Any]
    creation_hash: str


@dataclass(slots=True)
class Record:
    chain_id: int
    commit: str
    contracts: list[Deployed] = field(default_factory=list)
    offices: dict[str, Any] = field(default_factory=dict)
    sending: dict[str, Any] | None = None
    venues: dict[str, dict[str, Any]] = field(default_factory=dict)

    def adapters(self) -> tuple[str, ...]:
        """The names of all adapters that are recorded."""
        return tuple(one.name for one in self.contracts if venues().named(one.name) is not None)

    def by_name(self) -> dict[str, Deployed]:
        return {one.name: one for one in self.contracts}

    def put(self, deployed: Deployed) -> None:
        """Add or replace a contract in its place; the same code at the same address stays as it was
        recorded.

        What the offices of a replaced contract became says nothing about the new one's.
        """
        known = self.by_name().get(deployed.name)
        if known is None:
            self.contracts.append(deployed)
        elif (known.address, known.creation_hash) != (deployed.address, deployed.creation_hash):
            self.contracts[self.contracts.index(known)] = deployed
            self.offices = {
                office: who
                for office, who in self.offices.items()
                if not office.startswith(f"{deployed.name}.")
            }

    def save(self, path: Path) -> None:
        made = [one.block for one in self.contracts if one.tx is not None]
        content = {
            "chain_id": self.chain_id,
            "block": min(made, default=0),
            "commit": self.commit,
            "contracts": [asdict(one) for one in self.contracts],
            **({"offices": self.offices} if self.offices else {}),
            **({"venues": self.venues} if self.venues else {}),
            **({"sending": self.sending} if self.sending else {}),
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.new")
        beside.write_text(json.dumps(content, indent=2) + "\n")
        beside.replace(path)  # whole, or as it was


def record_path(network: str) -> Path:
    return ROOT / "scripts" / "deployments" / f"{network}.json"


def network_fault(network: str) -> str | None:
    """What is wrong with a network's name; None: it is one of ape-config.yaml, or there is none
    here to ask.
    """
    if not IS_CHECKOUT:
        return None
    known = re.findall(r"^ +- name: (\S+)\n +chain_id:", APE_CONFIG.read_text(), re.MULTILINE)
    if network in known:
        return None
    return f"NETWORK: {network!r} is not in ape-config.yaml; use one of {', '.join(known)}"


def load(path: Path, chain_id: int) -> Record:
    """The record at `path`, or an empty one. A record of another chain is an error, not a start."""
    if not path.exists():
        return Record(chain_id, current_commit())
    try:
        found = _record(json.loads(path.read_text()))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise SystemExit(
            f"{path} is not a deployment record ({type(error).__name__}: {str(error)!r:.200}); restore it, "
            "or run `make deploy NETWORK=...`"
        ) from None
    if found.chain_id != chain_id:
        raise SystemExit(
            f"{path} records chain {found.chain_id}, but the node answers for chain "
            f"{chain_id}; check RPC_URL and --network"
        )
    return found


def _record(raw: Any) -> Record:
    """Errors: KeyError, TypeError and ValueError for what is no record."""
    found = Record(
        raw["chain_id"],
        raw["commit"],
        [Deployed(**one) for one in raw["contracts"]],
        raw.get("offices", {}),
        raw.get("sending"),
        raw.get("venues", {}),
    )
    if type(found.venues) is not dict or any(
        type(one) is not dict for one in found.venues.values()
    ):
        raise ValueError("venues are names with the arguments of their adapters by name")
    if type(found.chain_id) is not int or type(found.offices) is not dict:
        raise ValueError("chain_id is a whole number, offices are names with accounts")
    for one in found.contracts:
        texts = [one.name, one.contract, one.address, one.creation_hash]
        texts += [] if one.tx is None else [one.tx]
        if not all(type(text) is str and text.isprintable() for text in texts):
            raise ValueError("name, contract, address, tx and creation_hash are plain text")
        if type(one.block) is not int or type(one.args) is not list:
            raise ValueError("block is a whole number, args are a list")
    return found


def current_commit() -> str:
    """The commit of the sources, with `+changes` when the tree differs from it; `unknown` outside
    git.
    """
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if head.returncode != 0:
        return "unknown"
    changes = subprocess.run(
        ["git", "status", "--porcelain", "contracts"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return head.stdout.strip() + ("+changes" if changes.stdout.strip() else "")


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that the deployment still needs and this run cannot sign. `why` may be empty."""

    office: str
    account: str
    contract: str
    to: str
    call: str
    data: str
    why: str = ""


def closing_text(left: Sequence[OpenCall]) -> str:
    """What is left to do, by whom, in order: one entry a transaction."""
    if not left:
        return "nothing is left to do; check it with `make verify`"
    lines = ["left to do, in this order, before the deployment can be used:"]
    for number, one in enumerate(left, start=1):
        lines.append(
            f"{number:>3}. {one.office} {one.account} calls {one.call}"
            + (f" ({one.why})" if one.why else "")
        )
        lines += [f"     to   {one.to} ({one.contract}), value 0", f"     data {one.data}"]
    return "\n".join([*lines, "then check it with `make verify`, which finds what is missing"])


def create_address(creator: str, nonce: int) -> str:
    """Where CREATE puts the contract that `creator` makes with `nonce`."""
    return str(to_checksum_address(keccak(rlp.encode([to_canonical_address(creator), nonce]))[12:]))


def node_chain_id(provider: "ProviderAPI") -> int:
    """Asked of the node itself, since Ape may answer with the network's."""
    return int(provider.make_request("eth_chainId", []), 16)
