"""`mandate-wallet`, the command of the package; in a checkout also `python -m scripts.cli`.

Each command imports what it runs only when it runs, so that `--help` answers at once. `demo`, `up`,
`deploy` and `verify` need the contracts and Ape, which a wheel does not have: from an installed
package they hand over to `make` in the checkout that they are called in.
"""

import os
import runpy
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

ROOT = Path(__file__).resolve().parent.parent
HAS_COMPILED = "MANDATE_WALLET_COMPILED"  # the Makefile says so to the command that it calls
# arguments, `--help` too, are read by the command that is called
PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
# the same for what follows the name of a command: `keeper status --help`
COMMANDS_PASSED_ON = {"allow_extra_args": True, "allow_interspersed_args": False}

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)

Network = Annotated[
    str, typer.Option(envvar="NETWORK", help="a network of ape-config.yaml: devnet, sepolia")
]
RpcUrl = Annotated[str, typer.Option(envvar="RPC_URL", help="a node of that network")]


def _say_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"mandate-wallet {metadata.version('mandate-wallet')}")
        raise typer.Exit


@app.callback()
def command(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="say it and exit"),
    ] = False,
) -> None:
    """Mandate Wallet: try it, run its processes, operate them."""


# Try it


@app.command()
def demo() -> None:
    """Run one mandate from signature to withdrawal on a local chain, checked at every step.

    STACK=.local/stack.json uses a stack that is already running.
    """
    _require_checkout("demo")
    from scripts.demo import main

    main()


@app.command()
def up() -> None:
    """Run the whole stack until Ctrl-C: chain, database, contracts and all processes.

    PORT (8000) and RPC_PORT (8545) choose the ports, STACK_DIR (.local) where stack.json is written;
    DATABASE_URL names an empty Postgres to use instead of the embedded one.
    """
    _require_checkout("up")
    from scripts.devstack import main

    main()


# The processes: settings come from the environment


@app.command()
def api() -> None:
    """Serve HTTP, MCP and the console until SIGTERM."""
    _run("api.main")


@app.command(context_settings=COMMANDS_PASSED_ON)
def indexer(context: typer.Context) -> None:
    """Read the chain into Postgres until SIGTERM; or: indexer status, acknowledge."""
    if not context.args:
        _run("indexer.main", "run")
    from indexer.main import app

    app(context.args, prog_name=context.command_path)


@app.command(context_settings=COMMANDS_PASSED_ON)
def keeper(context: typer.Context) -> None:
    """Mark, stop and settle vaults until SIGTERM; or: keeper status, once, reseal."""
    if not context.args:
        _run("keeper.main", "run")
    from keeper.main import app

    app(context.args, prog_name=context.command_path)


@app.command()
def worker() -> None:
    """Run the slow jobs, without keys, until SIGTERM."""
    _run("api.worker")


@app.command()
def scanner() -> None:
    """Collect market data from the exchanges until SIGTERM."""
    _run("indexer.main", "scan")


# Operate them


@app.command(context_settings=PASSED_ON)
def migrate(context: typer.Context) -> None:
    """Bring the database to the newest revision, or compare it with the code."""
    from api.tables import import_tables
    from core.db.migrate import main

    sys.exit(main(context.args, import_tables))


@app.command(context_settings=PASSED_ON)
def preflight(context: typer.Context) -> None:
    """Check everything that the processes need, before they start."""
    from scripts.preflight import app

    app(context.args, prog_name=context.command_path)


@app.command(context_settings=PASSED_ON)
def check_record(context: typer.Context) -> None:
    """Check every ledger of the database, and compare it with the chain."""
    from indexer.check_record import app

    app(context.args, prog_name=context.command_path)


@app.command(context_settings=PASSED_ON)
def rebuild(context: typer.Context) -> None:
    """Hold every vault's logs against its own hash of them again."""
    from indexer.rebuild import app

    app(context.args, prog_name=context.command_path)


@app.command(context_settings=PASSED_ON)
def verify_record(context: typer.Context) -> None:
    """Check an exported record against the chain, without trusting the service."""
    from api.client.verify.main import app

    app(context.args, prog_name=context.command_path)


# The contracts


@app.command()
def deploy(
    network: Network,
    rpc_url: RpcUrl,
    account: Annotated[
        str | None, typer.Option(envvar="ACCOUNT", help="the Ape account that pays, off the devnet")
    ] = None,
) -> None:
    """Deploy the contracts that are missing and record their addresses; safe to repeat.

    The offices' addresses come from the environment (docs/operations.md#deploying).
    """
    _run_ape("deploy", network, rpc_url, account)


@app.command()
def verify(network: Network, rpc_url: RpcUrl) -> None:
    """Compare a deployment with its record and with the code of this checkout, byte for byte."""
    _run_ape("verify", network, rpc_url)


def _run(module: str, *arguments: str) -> None:
    """As `python -m module` does; it does not return."""
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    sys.exit(0)


def _run_ape(script: str, network: str, rpc_url: str, account: str | None = None) -> None:
    os.environ |= {"NETWORK": network, "RPC_URL": rpc_url, "ACCOUNT": account or ""}
    _require_checkout(script)
    from scripts._deployments import network_fault

    if (fault := network_fault(network)) is not None:
        typer.echo(fault, err=True)
        raise typer.Exit(2)
    os.chdir(ROOT)
    os.environ |= {
        "PYTHONPATH": str(ROOT),
        "SOLCX_BINARY_PATH": str(ROOT / "scripts" / "solc"),
    }
    ape = str(Path(sys.executable).with_name("ape"))
    signer = ["--account", account] if account else []
    os.execv(ape, [ape, "run", script, "--network", f"base:{network}:node", *signer])


def _require_checkout(command: str) -> None:
    """Returns where contracts and Ape are; elsewhere `make` takes over in the checkout, if there is
    one.
    """
    checkouts = [place for place in (ROOT, Path.cwd()) if (place / "ape-config.yaml").exists()]
    if checkouts[:1] == [ROOT] and find_spec("ape") is not None:
        if HAS_COMPILED not in os.environ:  # Ape alone would keep old code
            compiled = subprocess.run(
                ["make", "-s", "-C", str(ROOT), ".build/ape/.ready"], check=False
            )
            if compiled.returncode != 0:
                sys.exit(f"mandate-wallet {command}: the contracts could not be compiled")
        return
    if not checkouts:
        sys.exit(
            f"mandate-wallet {command} needs the contracts and their compiler, which are not part "
            f"of the package: clone the repository and run `make {command}` there."
        )
    try:
        os.execvp("make", ["make", "--directory", str(checkouts[0]), command])
    except FileNotFoundError:
        sys.exit("make is missing. On Debian or Ubuntu: apt-get install make")


if __name__ == "__main__":
    app(prog_name="mandate-wallet")
