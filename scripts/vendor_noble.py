"""Write api/web/vendor/noble.js: what the check in the browser needs of @noble/hashes and
@noble/curves, as one ES module without imports.

`python -m scripts.vendor_noble [--check]`. The versions are those of package-lock.json; the header
of the file names them, their licences and the hash of the code below it.
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
VENDORED: Final = ROOT / "api" / "web" / "vendor" / "noble.js"
PACKAGES: Final = ("@noble/curves", "@noble/hashes")
ENTRY: Final = """
export { sha256 } from "@noble/hashes/sha2.js";
export { keccak_256 } from "@noble/hashes/sha3.js";
export { secp256k1 } from "@noble/curves/secp256k1.js";
"""


def vendored() -> str:
    """The text of the file."""
    command = [
        str(ROOT / "node_modules" / ".bin" / "esbuild"),
        "--bundle",
        "--format=esm",
        "--target=es2022",
        "--legal-comments=none",
        "--tree-shaking=true",
        "--minify",
    ]
    code = subprocess.run(
        command, input=ENTRY, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return _header(code) + code


def _header(code: str) -> str:
    lines = ["/*!", " * Bundled by scripts/vendor_noble.py from npm packages: do not edit."]
    for package in PACKAGES:
        folder = ROOT / "node_modules" / package
        version = json.loads((folder / "package.json").read_text())["version"]
        lines.append(f" *\n * {package} {version}")
        licence = (folder / "LICENSE").read_text().strip().splitlines()
        lines += [f" * {line}".rstrip() for line in licence]
    digest = hashlib.sha256(code.encode()).hexdigest()
    return "\n".join([*lines, f" *\n * sha256 of the code below: {digest}", " */", ""])


def main() -> None:
    text = vendored()
    if "--check" in sys.argv:
        if not VENDORED.exists() or VENDORED.read_text() != text:
            sys.exit(f"{VENDORED.relative_to(ROOT)} differs: run python -m scripts.vendor_noble")
        return
    VENDORED.parent.mkdir(parents=True, exist_ok=True)
    VENDORED.write_text(text)


if __name__ == "__main__":
    main()
