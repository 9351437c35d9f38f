"""Ape, which deploys the contracts and reads deployments back, run as a command."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from scripts._accounts import personas
from scripts._processes import ROOT, run_shown

APE = Path(sys.executable).parent / "ape"


def run_ape(
    script: str,
    rpc_url: str,
    record: Path,
    *arguments: str,
    network: str = "devnet",
    show: Callable[[str], None] = lambda line: None,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run scripts/<script>.py through Ape against a local chain; the personas hold the offices of
    their names.

    `arguments` go to the script; `show` gets each line as it is printed; `environment` comes on
    top.
    """
    offices = {f"{role.upper()}_ADDRESS": wallet["address"] for role, wallet in personas().items()}
    build = {
        "SOLCX_BINARY_PATH": str(ROOT / "scripts" / "solc"),
        "APE_DATA_FOLDER": str(ROOT / ".build" / "ape"),
    }
    command = [
        str(APE),
        "run",
        script,
        "--network",
        f"base:{network}:node",
        "--record",
        str(record),
        *arguments,
    ]
    return run_shown(
        command, {**os.environ, **offices, **build, "RPC_URL": rpc_url, **environment}, show
    )
