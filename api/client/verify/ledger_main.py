"""verify-warnings FILE, verify-signals FILE: the commands. Exit code 0 sound, 1 a difference, 2 the
file is not whole.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from api.client.verify.ledger_check import Figures, KeptHead, LedgerChecked, LedgerDiffersError
from api.client.verify.printable import printable
from api.client.verify.signals_check import check_signals
from api.client.verify.warnings_check import check_warnings

HEAD: Final = re.compile(r"(\d{1,15}):(?:0x)?([0-9a-f]{64})", re.ASCII)

CheckLines: TypeAlias = Callable[
    [Iterable[bytes], Sequence[KeptHead]], tuple[LedgerChecked, Figures]
]
LedgerFile = Annotated[
    Path,
    typer.Argument(exists=True, dir_okay=False, help="the ledger: its answers, one after another"),
]
Heads = Annotated[
    list[str] | None,
    typer.Option(help="SEQ:HASH of a head that you wrote down earlier; several times"),
]
AsJson = Annotated[bool, typer.Option("--json", help="print one JSON object")]

warnings = typer.Typer(add_completion=False)
signals = typer.Typer(add_completion=False)


@warnings.command()
def verify_warnings(file: LedgerFile, head: Heads = None, as_json: AsJson = False) -> None:
    """Check the service's ledger of warnings: its hashes, its order, and the heads that you kept."""
    _check(check_warnings, file, head or [], as_json)


@signals.command()
def verify_signals(file: LedgerFile, head: Heads = None, as_json: AsJson = False) -> None:
    """Check the service's ledger of signals: its hashes, its order, and the heads that you kept."""
    _check(check_signals, file, head or [], as_json)


def _check(check: CheckLines, file: Path, heads: Sequence[str], as_json: bool) -> None:
    kept = [_kept(text) for text in heads]
    answer: dict[str, object]
    try:
        with file.open("rb") as lines:
            found, figures = check(lines, kept)
    except LedgerDiffersError as error:
        answer = {"verdict": "differences", "name": error.name, "seq": error.seq}
        answer["detail"] = printable(str(error))
        code = 1
    else:
        answer = {"verdict": "sound" if found.is_whole else "unchecked", "rows": found.rows}
        answer |= figures
        answer["head"] = f"{found.rows}:{found.row_hash.hex()}"
        code = 0 if found.is_whole else 2
        if code:
            answer["detail"] = f"read on with ?after={found.rows}, and append the answer"
    if as_json:
        typer.echo(json.dumps(answer))
    else:
        typer.echo("\n".join(f"{name}: {value}" for name, value in answer.items()))
    raise typer.Exit(code)


def _kept(text: str) -> KeptHead:
    found = HEAD.fullmatch(text)
    if found is None:
        raise typer.BadParameter("write SEQ:HASH, the hash in 64 hex digits", param_hint="--head")
    return int(found[1]), bytes.fromhex(found[2])
