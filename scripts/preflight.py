"""Check all that a deployment needs before it starts: `make preflight NETWORK=sepolia`.

Reads the same environment as the processes; in a checkout DEPLOYMENT_FILE is by default
scripts/deployments/<network>.json. One line a finding, `ok` or `WRONG` with what to do; ends with 1 when any is wrong.
The parts are asked side by side, each for at most PART_S.
"""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from time import monotonic
from typing import Annotated

import typer
from sqlalchemy.exc import ProgrammingError, SQLAlchemyError

from api.tables import import_tables
from core.chain.errors import RpcError
from core.errors import InvalidParameterError
from core.findings import PartFinding, wrong
from core.settings import Settings
from core.startup import refusals
from scripts._deployments import IS_CHECKOUT, network_fault, record_path
from scripts._preflight import CHECKS, Check, Preflight, asked_of

PART_S = 8.0

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def findings_of(check: Check, asked: Preflight) -> Iterator[PartFinding]:
    """What it yields; what it raises is its last finding."""
    what = check.__name__.removeprefix("check_")
    try:
        yield from check(asked)
    except InvalidParameterError as error:
        yield wrong(error.field, error.rule)
    except RpcError as error:
        yield wrong(what, f"not checked, no node answers ({error}): fix the nodes above")
    except ProgrammingError as error:  # without the statement, which says nothing to who reads it
        yield wrong(what, f"{error.orig} ({type(error.orig).__name__})")
    except SQLAlchemyError as error:
        yield wrong(what, f"not checked ({type(error).__name__}): fix the database line above")
    except Exception as error:  # a part that nobody expected to fail keeps no other from its lines
        yield wrong(what, f"{error} ({type(error).__name__})")


def said(
    what: str, running: Future[None], found: list[PartFinding], until: float
) -> list[PartFinding]:
    """What a part has `found` when it ends; when it hangs, what it has until then, and that it does."""
    try:
        running.result(max(0.0, until - monotonic()))
    except FutureTimeoutError:
        return [
            *found,
            wrong(
                what,
                f"no answer within {PART_S:.0f} s: the check hangs, or this machine is busy: "
                "run it again",
            ),
        ]
    return found


@app.command()
def preflight(
    network: Annotated[
        str, typer.Option(envvar="NETWORK", help="a network of ape-config.yaml: devnet, sepolia")
    ],
) -> None:
    """One line for each thing that the processes need; 1 when any is wrong."""
    if (fault := network_fault(network)) is not None:
        typer.echo(fault, err=True)
        raise typer.Exit(2)
    if IS_CHECKOUT:
        os.environ.setdefault("DEPLOYMENT_FILE", str(record_path(network)))
    with refusals():
        asked = asked_of(Settings())
    import_tables()  # which takes a second of a core: no part waits for it within its time
    until = monotonic() + PART_S
    pool = ThreadPoolExecutor(len(CHECKS))
    found: dict[str, list[PartFinding]] = {what: [] for what in CHECKS}
    running = {
        what: pool.submit(found[what].extend, findings_of(check, asked))
        for what, check in CHECKS.items()
    }
    faults = 0
    for what, future in running.items():
        for finding in said(what, future, found[what], until):
            faults += not finding.is_right
            typer.echo(finding)
    typer.echo(f"{faults} failed: fix them, then run it again" if faults else "all checks passed")
    sys.stdout.flush()
    os._exit(bool(faults))  # a part that hangs holds up nobody


if __name__ == "__main__":
    app()
