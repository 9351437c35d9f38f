"""What an audit says: a finding names one fault of the record, so that the same fault is always the
same finding.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

RESOLVE: Final = (
    "`python -m indexer.main status` names them. A missing log is asked for until a node has it. For "
    "the others stop the indexer and run `python -m indexer.rebuild`, which compares every vault's logs "
    "with the chain and repairs them with --accept; or close one that you have looked at: `python -m "
    "indexer.main acknowledge ID`."
)


class FindingKind(StrEnum):
    """A `block`, `log`, `revert` or `vault` is rebuildable: the chain says it again.

    A `key` is a transaction of an account of ours that no row planned. The others are ledgers'.
    """

    BLOCK = "block"
    LOG = "log"
    REVERT = "revert"
    VAULT = "vault"
    CASH = "cash"
    TOTALS = "totals"
    LEDGER = "book"
    RESERVE = "reserve"
    KEY = "key"


REBUILDABLE: Final = (FindingKind.BLOCK, FindingKind.LOG, FindingKind.REVERT, FindingKind.VAULT)


@dataclass(frozen=True, slots=True)
class Fault:
    """`key` names the fault for ever; `what` is a sentence for a person; `place` says where (JSON
    values).
    """

    kind: FindingKind
    key: str
    what: str
    place: Mapping[str, Any] = field(default_factory=dict)
