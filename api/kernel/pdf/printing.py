"""Pages as PDF: an HTML template with its style, printed on A4 by WeasyPrint (engine.py) in our own
fonts (letters.py).

Laws
- Nothing is fetched: fonts come from this folder, every other URL is refused.
- What no font of ours can draw is written as its code point, [U+1F600]: never an empty box, never a
  font that happens to be installed.
- One page is printed at a time in a process: printing is work of the processor, and Pango is not for
  threads.
- Equal values give equal bytes.
- The printing library needs Pango of the system; without it PdfLibraryError says what is missing.
"""

from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from core.errors import OutsideError

PACKAGES = "libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"

_printing = Lock()


class PdfLibraryError(OutsideError):
    """The system lacks the library that prints. `cause`: its first line."""

    def __init__(self, cause: str) -> None:
        super().__init__(f"this server cannot make PDFs; install {PACKAGES}")
        self.cause = cause


def pdf_of(folder: Path, name: str, values: Mapping[str, Any]) -> bytes:
    """The template `<name>.html` of a folder, in the style `paper.css` of that folder, filled with
    values, which it escapes.

    Errors: PdfLibraryError.
    """
    with _printing:
        try:
            from api.kernel.pdf import engine  # not on top: its import fails where Pango is missing
        except (ImportError, OSError) as error:
            raise PdfLibraryError(str(error).partition("\n")[0]) from error
        return engine.press(folder).pdf(name, values)
