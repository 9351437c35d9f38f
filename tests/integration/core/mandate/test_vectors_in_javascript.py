"""The golden vectors of what a wallet signs, computed by a JavaScript wallet library
(docs/testing.md).
"""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
VECTORS = json.loads((ROOT / "tests" / "vectors" / "mandate_terms.json").read_text())


def test_a_javascript_wallet_library__agrees() -> None:
    done = subprocess.run(
        ["node", "tests/vectors/check.mjs"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() == f"{len(VECTORS['terms']) + 1} vectors agree"
