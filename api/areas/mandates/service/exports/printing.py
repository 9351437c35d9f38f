"""PDFs of calls (api/kernel/pdf): few calls wait for the one that is printed, and one that cannot be made is
refused. Every other call works meanwhile.
"""

from collections.abc import Mapping
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

import structlog

from api.kernel.operation import Refusal
from api.kernel.pdf import printing as pdf
from api.kernel.pdf.printing import PACKAGES, PdfLibraryError

# of a process, the one that is printed among them; more would hold up its other calls
WAITING_CALLS = 4

log = structlog.get_logger("api")

_room = BoundedSemaphore(WAITING_CALLS)


def pdf_of(folder: Path, name: str, values: Mapping[str, Any]) -> bytes:
    """As api.kernel.pdf.printing.pdf_of.

    Errors: Refusal temporarily_unavailable when too many calls wait, or when the system lacks the
    library.
    """
    if not _room.acquire(blocking=False):
        raise Refusal(
            "temporarily_unavailable",
            "Too many PDFs are being made; send the call again in a few seconds.",
        )
    try:
        return pdf.pdf_of(folder, name, values)
    except PdfLibraryError as error:
        log.warning("pdf", missing=PACKAGES, error=error.cause)
        sentence = (
            "This server cannot make PDFs: it lacks a library. Ask for format=csv or json; "
            f"its operator must install {PACKAGES}."
        )
        raise Refusal("temporarily_unavailable", sentence) from error
    finally:
        _room.release()
