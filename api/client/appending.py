"""A file that lines are appended to, and that a kill may have left with half a line."""

import os
from pathlib import Path
from typing import BinaryIO


class Appending:
    """Errors: OSError at once when the file cannot be written."""

    def __init__(self, file: Path) -> None:
        self.file = file
        file.open("ab").close()

    def __call__(self, line: str) -> None:
        """`line` ends with a newline. Errors: OSError."""
        with self.file.open("ab+") as out:
            if out.tell() and not _ends_a_line(out):
                line = "\n" + line
            out.write(line.encode())


def _ends_a_line(file: BinaryIO) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"
