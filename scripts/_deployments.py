"""The deployment record: scripts/deployments/<network>.json, read by deploy.py, verify.py and the processes.

{chain_id, block, commit, contracts: [{name, contract, address, block, tx, args, creation_hash}]}; `block` is the height of
the first contract, from which the indexer reads; creation_hash is keccak256 of the creation code with its arguments.
"""

import json
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# Circle's USDC on Base Sepolia. The local chain gets the mock's code at this address, so that clients which know only
# this asset accept it.
BASE_SEPOLIA_USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"


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

    def by_name(self) -> dict[str, Deployed]:
        return {one.name: one for one in self.contracts}

    def put(self, deployed: Deployed) -> None:
        """Add or replace a contract in its place; the same code at the same address stays as it was recorded."""
        known = self.by_name().get(deployed.name)
        if known is None:
            self.contracts.append(deployed)
        elif (known.address, known.creation_hash) != (deployed.address, deployed.creation_hash):
            self.contracts[self.contracts.index(known)] = deployed

    def save(self, path: Path) -> None:
        made = [one.block for one in self.contracts if one.tx is not None]
        content = {
            "chain_id": self.chain_id,
            "block": min(made, default=0),
            "commit": self.commit,
            "contracts": [asdict(one) for one in self.contracts],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2) + "\n")


def record_path(network: str) -> Path:
    return ROOT / "scripts" / "deployments" / f"{network}.json"


def load(path: Path, chain_id: int) -> Record:
    """The record at `path`, or an empty one. A record of another chain is an error, not a start."""
    if not path.exists():
        return Record(chain_id, current_commit())
    raw = json.loads(path.read_text())
    if raw["chain_id"] != chain_id:
        raise SystemExit(f"{path} records chain {raw['chain_id']}, but the node answers for chain {chain_id}; check RPC_URL and --network")
    return Record(chain_id, raw["commit"], [Deployed(**one) for one in raw["contracts"]])


def current_commit() -> str:
    """The commit of the sources, with `+changes` when the tree differs from it; `unknown` outside git."""
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    if head.returncode != 0:
        return "unknown"
    changes = subprocess.run(["git", "status", "--porcelain", "contracts"], cwd=ROOT, capture_output=True, text=True, check=False)
    return head.stdout.strip() + ("+changes" if changes.stdout.strip() else "")
