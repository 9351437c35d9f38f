"""Writes what the browser's modules know of the contracts: `python -m scripts.export_web [--check]`
writes api/web/app/contracts.js.

Selectors of the functions that a page calls or reads, the topic of VaultCreated, the hash of a vault's
creation code (it gives a vault's address), the venues and their exits, what a sale may bring less
than the worth, and every error with its arguments; app/refusals.js has a sentence for each. Source:
core/chain/abis and core/mandate/venues.
"""

import json
import sys
from pathlib import Path
from typing import Any

from eth_utils.crypto import keccak

from core.chain.abi import creation_code, errors_by_selector, function, topic_of
from core.hexes import bytes_of, hex_of
from core.mandate.rules.close_plan import DEFAULT_ALLOWANCE_BPS
from core.mandate.venues.registry import RELEASE, Exit, venues

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


def is_encodable(exit_: Exit) -> bool:
    """Whether its data is its selector, the units, and the minimum if it takes one."""
    least = PROBES[0]
    after = f"{least:064x}" if exit_.takes_minimum else ""
    return all(
        exit_.data(units, least) == exit_.selector + f"{units:064x}" + after for units in PROBES
    )


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


def exits() -> dict[str, dict[str, str | bool]]:
    """Signature, and whether the least USDC follows the units, by selector."""
    known = [venue.exit for venue in venues().declared if venue.exit is not None]
    return {
        one.selector: {"signature": one.signature, "takesMinimum": one.takes_minimum}
        for one in known
        if is_encodable(one)
    }


def offered() -> dict[str, dict[str, str]]:
    """What the form of a mandate offers, by the adapter's name in the deployment."""
    return {
        one.adapter: {"title": one.title, "does": one.does}
        for one in venues().declared
        if one.title is not None
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
        ("RELEASE", RELEASE.selector),
        ("ALLOWANCE_BPS", DEFAULT_ALLOWANCE_BPS),
        ("VENUES", offered(), "Readonly<Record<string, {title: string, does: string}>>"),
        ("EXITS", exits(), "Readonly<Record<string, {signature: string, takesMinimum: boolean}>>"),
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
