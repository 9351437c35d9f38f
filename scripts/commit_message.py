#!/usr/bin/env python3
"""A commit-msg hook: `python3 scripts/commit_message.py FILE` checks the message in FILE.

    Refuse a keystore that is malformed          subject: at most 72 characters
                                                 an empty line
    It ended in a traceback, which hid the file. body: at least a sentence that says why
    Reviewed-by: ...                             trailers do not count as a body

Messages that git writes itself (merge, revert, fixup!, squash!, amend!) pass. The file needs nothing but
Python and git, so that it also works as a link: `ln -s ../../scripts/commit_message.py .git/hooks/commit-msg`.
"""

import re
import subprocess
import sys
from pathlib import Path

SUBJECT_CHARACTERS = 72
WORDED_BY_GIT = re.compile(r"^(Merge |Revert \"|Reapply \"|fixup! |squash! |amend! )")
TRAILER = re.compile(r"^([A-Z][a-z-]+-by|Change-Id|Closes|Fixes|Refs): \S")
SCISSORS = "------------------------ >8 ------------------------"


def faults(message: str, comment: str = "#") -> list[str]:
    """A sentence for each rule that the message breaks; lines that git drops are ignored."""
    kept = message.partition(f"{comment} {SCISSORS}")[0].splitlines()
    text = "\n".join(line.rstrip() for line in kept if not line.startswith(comment))
    lines = text.strip().split("\n")
    subject, rest = lines[0], lines[1:]
    if not subject:
        return ["The message is empty."]
    if WORDED_BY_GIT.match(subject):
        return []
    found = []
    if len(subject) > SUBJECT_CHARACTERS:
        found.append(
            f"The subject has {len(subject)} characters; at most {SUBJECT_CHARACTERS} are allowed."
        )
    if rest and rest[0]:
        found.append("The second line is not empty; git takes it as part of the subject.")
    if not any(line and not TRAILER.match(line) for line in rest):
        found.append("There is no body; say why the change is made.")
    return found


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit("usage: commit_message.py FILE")
    asked = ("git", "config", "core.commentChar")
    comment = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    message = Path(sys.argv[1]).read_text(encoding="utf-8", errors="replace")
    found = faults(message, comment if comment and comment != "auto" else "#")
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
