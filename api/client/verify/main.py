"""verify-record FILE --rpc URL: the command.

Exit code 0 sound, also beside claims of authors; 1 differences; 2 could not be (fully) checked;
3 claims, under --strict.
"""

import gc
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from api.client.verify.findings import (
    MOST_CHARACTERS,
    MOST_FINDINGS,
    NAMES,
    Report,
    Verdict,
    listed,
)
from api.client.verify.node import Advance
from api.client.verify.printable import printable
from api.client.verify.reading import lines_of
from api.client.verify.reverts_check import Scan
from api.client.verify.verification import Options, verify
from core.chain.nodes import Nodes
from core.hexes import read_account

ANSWER_S = 60.0
DEADLINE_S = 90.0
CALLS_PER_S = 1_000_000.0  # as fast as the node lets: its own limit slows it down
SHOWN = 50
WORDS = {
    Verdict.SOUND: "[bold green]sound[/]: every row is proven",
    Verdict.CHAIN_SOUND: "[bold green]chain rows sound[/], {claims}",
    Verdict.CLAIMS_ONLY: "[bold yellow]claims only[/]: no chain is behind a paper mandate; {claims}",
    Verdict.DIFFERENT: "[bold red]differences[/]: this record is not what the chain says",
    Verdict.UNCHECKED: "[bold yellow]could not be fully checked[/]: nothing contradicts it so far",
}

app = typer.Typer(add_completion=False)


def _print_names(asked: bool) -> None:
    if asked:
        for name, meaning in NAMES.items():
            typer.echo(f"{name:24} {meaning}")
        raise typer.Exit


@app.command()
def main(
    file: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, help="the record, as the service exported it"),
    ],
    rpc: Annotated[
        list[str],
        typer.Option(help="a node of the record's chain; more of them must agree with the first"),
    ],
    factory: Annotated[
        str | None, typer.Option(help="the factory that you trust, from the published deployment")
    ] = None,
    x402_adapter: Annotated[
        str | None,
        typer.Option(
            help="the x402 adapter that you trust, from the published deployment: only its "
            "payments count"
        ),
    ] = None,
    mandate: Annotated[
        str | None, typer.Option(help="the mandate's id that the record must be of")
    ] = None,
    owner: Annotated[
        str | None, typer.Option(help="the owner's address that the record must be of")
    ] = None,
    as_of: Annotated[
        int | None,
        typer.Option(
            min=0, help="the block that you know this record ends at: later logs are then no doubt"
        ),
    ] = None,
    anchor: Annotated[
        str | None,
        typer.Option(help="the anchors' contract that you trust, from the published deployment"),
    ] = None,
    scan: Annotated[
        Scan, typer.Option(help="look through every block for reverted calls that were left out")
    ] = Scan.AUTO,
    strict: Annotated[
        bool, typer.Option("--strict", help="exit 3 when any row is only its author's claim")
    ] = False,
    max_calls: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="calls of all nodes together; by default 20,000 and 6 for each row",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
    _names: Annotated[
        bool,
        typer.Option(
            "--names",
            callback=_print_names,
            is_eager=True,
            help="print the name of every difference with its meaning, and exit",
        ),
    ] = False,
) -> None:
    """Check a mandate's record against the chain, row by row.

    Nothing of the service that wrote it is asked or trusted.
    """
    begun = time.monotonic()
    if len(set(rpc)) < len(rpc):  # would check less than the reader thinks
        raise typer.BadParameter(
            "name each node once: a node agrees with itself", param_hint="--rpc"
        )
    rpcs = [
        Nodes([url], answer_s=ANSWER_S, deadline_s=DEADLINE_S, calls_per_s=CALLS_PER_S)
        for url in rpc
    ]
    options = Options(
        now=int(time.time()),
        mandate=mandate,
        owner=_address(owner, "--owner"),
        as_of=as_of,
        most_calls=max_calls,
        factory=_address(factory, "--factory"),
        x402_adapter=_address(x402_adapter, "--x402-adapter"),
        anchor=_address(anchor, "--anchor"),
        scan=scan,
    )
    report = Report()
    with file.open("rb") as lines, _progress(quiet=as_json) as advance:
        gc.disable()  # rows and logs stay to the end: to look at all of them again took a sixth of the time
        _verify(lines, rpcs, options, advance, report)
        gc.enable()
    stats = [one for rpc in rpcs for one in rpc.stats()]
    report.figures |= {
        "seconds": round(time.monotonic() - begun, 2),
        "http_requests": sum(one.requests for one in stats),
        "rpc_calls": sum(one.calls for one in stats),
    }
    raise typer.Exit(_said(report, report.verdict.exit_code(strict=strict), as_json=as_json))


def _said(report: Report, code: int, *, as_json: bool) -> int:
    """The exit code. Where the output cannot be written (a full disk, a pipe that closed, an old
    terminal's letters) nothing was shown to be sound, and no difference was found by that.
    """
    try:
        if as_json:
            sys.stdout.write(json.dumps(report.as_json()) + "\n")
        else:
            _show(report, Console())
        sys.stdout.flush()
    except (OSError, ValueError, SystemExit) as error:  # SystemExit: rich, of a closed pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is buffered is written at the end
        typer.echo(f"the result could not be written: {type(error).__name__}", err=True)
        return 1 if report.verdict is Verdict.DIFFERENT else 2
    return code


def _verify(
    file: BinaryIO, rpcs: Sequence[Nodes], options: Options, advance: Advance, report: Report
) -> None:
    try:
        verify(lines_of(file), rpcs, options, advance, report)
    # the process's edge: a file that no check foresaw is not checked, and never sound
    except Exception as error:
        report.unchecked.append(f"the checks ended with {type(error).__name__}: {error}")


def _address(text: str | None, option: str) -> str | None:
    """Errors: BadParameter, which ends the command with exit code 2."""
    try:
        return None if text is None else read_account(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Advance]:
    """A bar a part, on stderr, gone when all is done."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=quiet or not console.is_terminal
    ) as progress:
        bars: dict[str, TaskID] = {}

        def advance(part: str, done: int, of: int) -> None:
            if part not in bars:
                bars[part] = progress.add_task(part, total=of)
            progress.update(bars[part], completed=done, total=of)

        yield advance


def _show(report: Report, console: Console) -> None:
    for name, value in report.subject.items():
        _print(console, name, "none" if value is None else value)
    if report.findings:
        count = len(report.findings) + report.more
        table = Table(
            "row", "what", "difference", title=_counted(count, "difference"), title_justify="left"
        )
        for one in report.findings[:SHOWN]:
            table.add_row("" if one.seq is None else str(one.seq), one.name, _plain(one.text))
        console.print(table)
        if count > SHOWN:
            console.print(f"... and {count - SHOWN} more (--json lists up to {MOST_FINDINGS})")
    for text in report.unchecked:
        console.print(f"[yellow]not checked:[/] {_plain(text)}")
    for text in report.remarks:
        console.print(f"remark: {_plain(text)}")
    for false in report.false_claims[:SHOWN]:
        console.print(f"  row {false.seq}: {_plain(false.text)}", highlight=False)
    for whose, seqs in _claims_by(report).items():
        console.print(f"claims, {whose}: rows {listed(seqs, SHOWN)}")
    for name, value in _lines(report.figures):
        _print(console, name, value)
    console.print(WORDS[report.verdict].format(claims=_claims(report)))


def _print(console: Console, name: str, value: object) -> None:
    """A line that no width breaks: a hash is to be copied whole."""
    console.print(f"  {name:22} {_plain(value)}", highlight=False, soft_wrap=True)


def _claims_by(report: Report) -> dict[str, list[int]]:
    """Whose word they are."""
    found = {
        "signed by their authors": report.signed_claims,
        "the service's word": [seq for seq in report.claims if seq not in report.vouched],
    }
    return {whose: seqs for whose, seqs in found.items() if seqs}


def _claims(report: Report) -> str:
    by, count = _claims_by(report), _counted(len(report.claims), "claim")
    if len(by) == 1:
        return f"{count}, {'all ' if len(report.claims) > 1 else ''}{next(iter(by))}"
    each = ", ".join(f"{len(seqs)} {whose}" for whose, seqs in by.items())
    return f"{count}: {each}" if each else count


def _lines(figures: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """A figure of several parts is a line each; what the vault measured is one."""
    for name, value in figures.items():
        if not isinstance(value, Mapping):
            yield name, value
        elif "at_cost_usdc" in value:
            yield name, _measured(value)
        else:
            yield from ((f"{name}.{part}", one) for part, one in value.items())


def _measured(value: Mapping[str, Any]) -> str:
    where = f"at block {value['block']}" + (f", row {value['row']}" if "row" in value else "")
    if value["usdc"] is None:
        return f"unknown {where}: a venue that the vault asks fails"
    return f"{value['usdc']} {where} ({value['at_cost_usdc']} of it at cost)"


def _plain(value: object) -> str:
    return escape(printable(str(value)[: MOST_CHARACTERS + 3]))


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")


if __name__ == "__main__":
    app()
