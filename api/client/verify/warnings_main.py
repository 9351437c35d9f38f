"""verify-warnings FILE: the command. Exit code 0 sound, 1 a difference, 2 the file is not whole."""

import json
import re
from pathlib import Path
from typing import Annotated, Final

import typer

from api.client.verify.printable import printable
from api.client.verify.warnings_check import WarningsDifferError, check_warnings

HEAD: Final = re.compile(r"(\d{1,15}):(?:0x)?([0-9a-f]{64})")

app = typer.Typer(add_completion=False)


@app.command()
def main(
    file: Annotated[
        Path,
        typer.Argument(
            exists=True,
            dir_okay=False,
            help="the ledger of warnings: its answers, one after another",
        ),
    ],
    head: Annotated[
        list[str] | None,
        typer.Option(help="SEQ:HASH of a head that you wrote down earlier; several times"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Check the service's ledger of warnings: its hashes, its order, and the heads that you kept."""
    kept = [_kept(text) for text in head or []]
    said: dict[str, object]
    try:
        with file.open("rb") as lines:
            found = check_warnings(lines, kept)
    except WarningsDifferError as error:
        said = {"verdict": "differences", "name": error.name, "seq": error.seq}
        said["detail"] = printable(str(error))
        code = 1
    else:
        said = {"verdict": "sound" if found.is_whole else "unchecked", "rows": found.rows}
        said |= {"imported": found.imported, "open": found.open}
        said["head"] = f"{found.rows}:{found.row_hash.hex()}"
        code = 0 if found.is_whole else 2
        if code:
            said["detail"] = f"read on with ?after={found.rows}, and append the answer"
    if as_json:
        typer.echo(json.dumps(said))
    else:
        typer.echo("\n".join(f"{name}: {value}" for name, value in said.items()))
    raise typer.Exit(code)


def _kept(text: str) -> tuple[int, bytes]:
    found = HEAD.fullmatch(text)
    if found is None:
        raise typer.BadParameter("write SEQ:HASH, the hash in 64 hex digits", param_hint="--head")
    return int(found[1]), bytes.fromhex(found[2])
