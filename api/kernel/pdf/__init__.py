"""Pages as PDF: an HTML template with its style, printed on A4 by WeasyPrint (engine.py) in our own
fonts (letters.py).

Laws
- Nothing is fetched: fonts come from this folder, every other URL is refused.
- What no font of ours can draw is written as its code point, [U+1F600]: never an empty box, never a
  font that happens to be installed.
- One page is printed at a time in a process, and few calls wait for it: printing is work of the
  processor, and Pango is not for threads.
- Equal values give equal bytes.
- The printing library needs Pango of the system. Without it every other call works, and this one
  says what is missing.
"""

from collections.abc import Mapping
from pathlib import Path
from threading import BoundedSemaphore, Lock
from typing import Any

import structlog

from api.kernel.operation import Refusal

# of a process, the one that is printed among them; more would hold up its other calls
WAITING_CALLS = 4
PACKAGES = "libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"

log = structlog.get_logger("api")

_room = BoundedSemaphore(WAITING_CALLS)
_printing = Lock()


def pdf_of(folder: Path, name: str, values: Mapping[str, Any]) -> bytes:
    """The template `<name>.html` of a folder, in the style `paper.css` of that folder, filled with
    values, which it escapes.

    Errors: Refusal temporarily_unavailable when too many calls wait, or when the system lacks the
    library.
    """
    if not _room.acquire(blocking=False):
        raise Refusal(
            "temporarily_unavailable",
            "Too many PDFs are being made; send the call again in a few seconds.",
        )
    try:
        with _printing:
            return _printed(folder, name, values)
    finally:
        _room.release()


def _printed(folder: Path, name: str, values: Mapping[str, Any]) -> bytes:
    try:
        from api.kernel.pdf import engine  # not on top: its import fails where Pango is missing
    except (ImportError, OSError) as error:
        log.warning("pdf", missing=PACKAGES, error=str(error).partition("\n")[0])
        sentence = (
            "This server cannot make PDFs: it lacks a library. Ask for format=csv or json; its "
            f"operator installs {PACKAGES}."
        )
        raise Refusal("temporarily_unavailable", sentence) from error
    return engine.press(folder).pdf(name, values)
