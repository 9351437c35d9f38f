"""All tests, in two halves side by side: most of them wait for a chain, a database or a process. `make test`

The first half is shown as it goes, the second one when it has ended. Exit 1 when either fails.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SECOND = ("tests/acceptance", "tests/integration/indexer", "tests/integration/keeper", "tests/integration/core")


def main() -> None:
    pytest = [sys.executable, "-m", "pytest"]
    log = ROOT / ".build" / "tests-second-half.log"
    log.parent.mkdir(exist_ok=True)
    with log.open("w") as told:
        second = subprocess.Popen([*pytest, *SECOND], cwd=ROOT, stdout=told, stderr=subprocess.STDOUT)
        first = subprocess.run([*pytest, "tests", *(f"--ignore={folder}" for folder in SECOND)], cwd=ROOT, check=False)
        print(f"first half ended with {first.returncode}; waiting for {', '.join(SECOND)}", flush=True)
        second.wait()
    print(log.read_text(), flush=True)
    sys.exit(1 if first.returncode or second.returncode else 0)


if __name__ == "__main__":
    main()
