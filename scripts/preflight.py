"""Ask all that a deployment stands on, before its processes start: `make preflight NETWORK=sepolia`.

Reads the same environment as the processes; DEPLOYMENT_FILE is scripts/deployments/<network>.json
unless it is set. One line a finding, `ok` or `WRONG` with what to do; ends with 1 when any is wrong.
The parts are asked side by side, each for at most PART_S.
"""

import os
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from time import monotonic
from typing import Annotated

import typer
from sqlalchemy.exc import ProgrammingError

from core.errors import InvalidParameterError
from core.settings import Settings
from core.startup import refusals
from scripts._deployments import record_path
from scripts._preflight import CHECKS, Check, Preflight, asked_of
from scripts._preflight_database import PreflightLine, wrong

PART_S = 8.0
MOST_LETTERS = 600

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


def findings_of(check: Check, asked: Preflight) -> list[PreflightLine]:
    """What it yields; what it raises is its last finding."""
    found: list[PreflightLine] = []
    try:
        found.extend(check(asked))
    except InvalidParameterError as error:
        found.append(wrong(error.field, error.rule))
    except ProgrammingError as error:  # without the statement, which says nothing to who reads it
        found.append(wrong(_part_of(check), f"{error.orig} ({type(error.orig).__name__})"))
    except Exception as error:  # a part that nobody expected to fail keeps no other from its lines
        found.append(wrong(_part_of(check), f"{error} ({type(error).__name__})"))
    return found


def _part_of(check: Check) -> str:
    return check.__name__.removeprefix("check_")


def said(what: str, running: Future[list[PreflightLine]], until: float) -> list[PreflightLine]:
    try:
        return running.result(max(0.0, until - monotonic()))
    except FutureTimeoutError:
        return [wrong(what, f"no answer within {PART_S:.0f} s: what it asks hangs")]


def told(finding: PreflightLine) -> str:
    """One line, whatever others wrote into it: a node's words and a record's names may hold what moves
    a terminal's cursor.
    """
    mark = "ok   " if finding.is_right else "WRONG"
    says = " ".join(f"{finding.what}: {finding.says}".split())[:MOST_LETTERS]
    return f"{mark}  {''.join(one if one.isprintable() else '?' for one in says)}"


@app.command()
def cli(
    network: Annotated[str, typer.Option(help="of ape-config.yaml: devnet, sepolia")],
) -> None:
    """One line for each thing that the processes need; 1 when any is wrong."""
    os.environ.setdefault("DEPLOYMENT_FILE", str(record_path(network)))
    with refusals():
        asked = asked_of(Settings())
    until = monotonic() + PART_S
    pool = ThreadPoolExecutor(len(CHECKS))
    running = {what: pool.submit(findings_of, check, asked) for what, check in CHECKS.items()}
    faults = 0
    for what, future in running.items():
        for finding in said(what, future, until):
            faults += not finding.is_right
            typer.echo(told(finding))
    typer.echo(
        f"{faults} wrong: mend them, then ask again" if faults else "all that was asked is right"
    )
    sys.stdout.flush()
    os._exit(bool(faults))  # a part that hangs holds up nobody


if __name__ == "__main__":
    app()
