"""Slither over contracts/, with every finding explained in tests/contracts/slither.json.

Fails on a finding without an explanation, on an explanation without a finding, and when Slither
could not read a function: a detector that skips a function reports nothing there. `--write` brings
the file's entries in line with the findings and leaves new reasons empty, for a person to fill in;
an empty reason fails. Runs in .venv-audit (make check).
"""

import hashlib
import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from slither import Slither  # type: ignore[import-not-found]  # lives in .venv-audit only
from slither.__main__ import get_detectors_and_printers  # type: ignore[import-not-found]
from slither.core.solidity_types import ElementaryType  # type: ignore[import-not-found]
from slither.slithir import convert  # type: ignore[import-not-found]
from slither.slithir.operations import Binary, BinaryType  # type: ignore[import-not-found]
from slither.slithir.variables import Constant  # type: ignore[import-not-found]

ROOT = Path(__file__).resolve().parents[2]
EXPLANATIONS = Path(__file__).with_name("slither.json")
WORK = ROOT / ".build" / "audit"
STAMP = WORK / "slither.stamp"

COMMON_TYPE_OPERATIONS = {
    BinaryType.ADDITION,
    BinaryType.SUBTRACTION,
    BinaryType.MULTIPLICATION,
    BinaryType.DIVISION,
    BinaryType.MODULO,
    BinaryType.AND,
    BinaryType.OR,
    BinaryType.CARET,
}

Finding = tuple[str, str]  # detector, what it says without line numbers


def stamp_of_inputs() -> str:
    """Changes when the answer could: contracts, compiler settings, pinned tools, explanations, and
    this script.
    """
    inputs = [
        ROOT / name for name in ("foundry.toml", "package-lock.json", "requirements-audit.lock")
    ]
    inputs += [Path(__file__), EXPLANATIONS, *sorted((ROOT / "contracts").rglob("*.sol"))]
    digest = hashlib.sha256()
    for path in inputs:
        digest.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def give_sums_their_solidity_type() -> None:
    """Corrects the one thing that Slither 0.11.6 reads wrong here.

    It gives `uint80 + uint256` the type of its left side. Solidity's is uint256, so Slither finds
    no `using SafeCast for uint256` for `(a + b).toUint80()` and drops the whole function: _execute,
    unwind, settle and three more.
    """
    plain = convert.propagate_types

    def propagate_types(ir: Any, node: Any) -> Any:
        untyped_sum = (
            isinstance(ir, Binary)
            and ir.type in COMMON_TYPE_OPERATIONS
            and ir.lvalue
            and not ir.lvalue.type
        )
        result = plain(ir, node)
        if untyped_sum and is_wider(ir.variable_right, ir.variable_left):
            ir.lvalue.set_type(ir.variable_right.type)
        return result

    convert.propagate_types = propagate_types


def is_wider(right: Any, left: Any) -> bool:
    """True when Solidity's common type of the two numbers is the right one's; a literal takes the
    type of the other side.
    """
    if isinstance(right, Constant) or not (
        isinstance(left.type, ElementaryType) and isinstance(right.type, ElementaryType)
    ):
        return False
    return isinstance(left, Constant) or (right.type.size or 0) > (left.type.size or 0)


class UnreadFunctions(logging.Handler):
    """Collects what Slither only logs: functions that it could not translate."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def compile_contracts() -> None:
    """Contracts alone, without tests: about 8 s with solc-js. forge skips it when nothing
    changed.
    """
    out, info = WORK / "out", WORK / "build-info"
    command: list[str | Path] = [
        "forge",
        "build",
        "--quiet",
        "--build-info",
        "--build-info-path",
        info,
        "--out",
        out,
        "--cache-path",
        WORK / "cache",
    ]
    # Slither reads every file there, and an old one would be analysed beside the new.
    if info.is_dir():
        for old in info.glob("*.json"):
            old.unlink()
    subprocess.run([*command, "--force", "--skip", "tests/**"], cwd=ROOT, check=True)


def findings() -> set[Finding]:
    """All that the detectors say about the product's contracts; those that lie wholly in
    dependencies or doubles are not ours.
    """
    unread = UnreadFunctions()
    logging.getLogger().addHandler(unread)
    give_sums_their_solidity_type()
    slither = Slither(
        str(ROOT),
        compile_force_framework="foundry",
        ignore_compile=True,
        foundry_out_directory=str((WORK / "out").relative_to(ROOT)),
        foundry_build_info_directory=str((WORK / "build-info").relative_to(ROOT)),
    )
    detectors, _ = get_detectors_and_printers()
    for detector in detectors:
        slither.register_detector(detector)
    results = [result for by_detector in slither.run_detectors() for result in by_detector]
    if unread.messages:
        sys.exit("slither could not read:\n" + "\n".join(unread.messages))
    return {
        (result["check"], plain_text(result["description"]))
        for result in results
        if is_ours(result)
    }


def is_ours(result: dict[str, Any]) -> bool:
    files = {element["source_mapping"]["filename_relative"] for element in result["elements"]}
    return not files or any(
        name.startswith("contracts/") and not name.startswith("contracts/mocks/") for name in files
    )


def plain_text(description: str) -> str:
    """Without line numbers, which move, and without repeats, whose number moves with the number of
    files.
    """
    text = " ".join(re.sub(r" ?\([\w./@-]+\.sol#[\d-]+\)", "", description).split())
    return re.sub(r"(-\S+)(?: \1)+", r"\1", text)


def main() -> int:
    os.chdir(ROOT)
    os.environ["PATH"] = f"{native_forge()}{os.pathsep}{os.environ['PATH']}"
    marked = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "contracts").rglob("*.sol")
        if "slither-disable" in path.read_text()
    ]
    if marked:
        sys.exit(
            f"suppressions stand in {EXPLANATIONS.relative_to(ROOT)} with their reasons, not "
            f"in {', '.join(marked)}"
        )
    if STAMP.exists() and STAMP.read_text() == stamp_of_inputs() and "--write" not in sys.argv:
        print("slither: nothing changed since it last passed")
        return 0

    compile_contracts()
    found = findings()
    reasons = {
        (entry["check"], entry["finding"]): entry["reason"]
        for entry in json.loads(EXPLANATIONS.read_text())["findings"]
    }
    if "--write" in sys.argv:
        entries = [
            {"check": check, "finding": text, "reason": reasons.get((check, text), "")}
            for check, text in sorted(found)
        ]
        written = json.loads(EXPLANATIONS.read_text()) | {"findings": entries}
        EXPLANATIONS.write_text(json.dumps(written, indent=2, ensure_ascii=False) + "\n")
        reasons = {(entry["check"], entry["finding"]): entry["reason"] for entry in entries}

    explained = {finding for finding, reason in reasons.items() if reason.strip()}
    for check, text in sorted(found - explained):
        print(f"unexplained: {check}: {text}")
    for check, text in sorted(explained - found):
        print(f"explains nothing: {check}: {text}")
    if found != set(reasons) or found != explained:
        return 1
    STAMP.write_text(stamp_of_inputs())
    print(f"slither: {len(found)} findings, all explained in {EXPLANATIONS.relative_to(ROOT)}")
    return 0


def native_forge() -> Path:
    """A folder with forge under its own name, which Slither calls to learn the project's
    settings.
    """
    folder = WORK / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / "forge"
    link.unlink(missing_ok=True)
    link.symlink_to((ROOT / "node_modules" / ".bin" / "forge-native").resolve())
    return folder


if __name__ == "__main__":
    sys.exit(main())
