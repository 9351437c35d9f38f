"""Writes what the browser's modules know of the contracts: `python -m scripts.export_web [--check]`
writes api/web/app/contracts.js.

Selectors of the functions that a page calls or reads, the topic of VaultCreated, the hash of a vault's
creation code (it gives a vault's address), the exits that venues declare, and every error with its
arguments; app/refusals.js has a sentence for each. Source: core/chain/abis and core/mandate/venues.
"""

import json
import sys
from pathlib import Path
from typing import Any

from eth_utils.crypto import keccak

from core.chain.abi import creation_code, errors_by_selector, function, topic_of
from core.hexes import bytes_of, hex_of
from core.mandate.venues.registry import Exit, venues

ROOT = Path(__file__).resolve().parent.parent
MODULE = ROOT / "api" / "web" / "app" / "contracts.js"
FUNCTIONS = {
    "MandateVaultFactory": ("isVault", "usdc"),
    "MandateVault": (
        "owner",
        "agent",
        "status",
        "endsAt",
        "lock",
        "feeOwed",
        "rules",
        "stop",
        "unwind",
        "withdraw",
    ),
    "IAdapter": ("positionOf", "valueOf"),
    "MockUSDC": ("balanceOf", "approve"),
    "ReserveToken": ("buy", "redeem", "convert", "quoteRedeem"),
}
HEAD = """// Generated from the contracts' ABIs by `make abis`; do not edit.

"""
PROBES = (1, 2**200 + 7)


def words_after_units(exit_: Exit) -> str | None:
    """What follows the units in the exit's data, hex; None: its data is not its selector, the units,
    and the same words for all.
    """
    after = {exit_.data(units).removeprefix(exit_.selector + f"{units:064x}") for units in PROBES}
    (words,) = after if len(after) == 1 else (None,)
    return words


def selectors() -> dict[str, str]:
    return {
        name: function(contract, name).selector
        for contract, names in FUNCTIONS.items()
        for name in names
    }


def errors() -> dict[str, dict[str, Any]]:
    """By selector."""
    return {
        selector: {
            "name": error.name,
            "inputs": [[one.name, one.type] for one in error.inputs],
        }
        for selector, error in sorted(errors_by_selector().items())
    }


def exits() -> dict[str, dict[str, str]]:
    """Signature, and the words after the units, by selector."""
    known = [venue.exit for venue in venues().declared if venue.exit is not None]
    return {
        one.selector: {"signature": one.signature, "after": words}
        for one in known
        if (words := words_after_units(one)) is not None
    }


def _constant(name: str, value: Any, type_: str | None = None) -> str:
    comment = "" if type_ is None else f"/** @type {{{type_}}} */\n"
    return f"{comment}export const {name} = {json.dumps(value, indent=2)};\n"


def module_text() -> str:
    """The module, the same for the same ABIs."""
    constants = (
        ("SELECTORS", selectors()),
        ("VAULT_CREATED", topic_of("VaultCreated")),
        ("VAULT_SHELL_HASH", hex_of(keccak(bytes_of(creation_code("VaultShell"))))),
        ("EXITS", exits(), "Readonly<Record<string, {signature: string, after: string}>>"),
    )
    lines = ",\n".join(
        f"  {json.dumps(selector)}: {json.dumps(error)}" for selector, error in errors().items()
    )
    return (
        HEAD
        + "\n".join(_constant(*one) for one in constants)
        + "\n/**\n * @typedef {{name: string, inputs: [string, string][]}} ErrorAbi\n"
        + " * @type {Readonly<Record<string, ErrorAbi>>}\n */\n"
        + f"export const ERRORS = {{\n{lines}\n}};\n"
    )


def main() -> None:
    text = module_text()
    is_stale = not MODULE.exists() or MODULE.read_text() != text
    if "--check" in sys.argv and is_stale:
        sys.exit(
            f"{MODULE.relative_to(ROOT)} differs from the ABIs. Run `make abis` and commit the "
            "result."
        )
    if is_stale:
        MODULE.write_text(text)
    print(f"{MODULE.relative_to(ROOT)}: {'written' if is_stale else 'up to date'}")


if __name__ == "__main__":
    main()
