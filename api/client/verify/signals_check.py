"""What the rows of the ledger of signals say (docs/verify.md#ledgers-of-the-service)."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from api.client.verify.ledger_check import (
    Figures,
    KeptHead,
    LedgerChecked,
    check_ledger,
    made_form,
)

FORM: Final = made_form(
    "fund_signals",
    "signals",
    {
        "seq": int,
        "vault_id": int,
        "rules_version": int,
        "market": str,
        "target_weight": str,
        "target_leverage": str,
        "mid": str | None,
        "at": str,
    },
)
WEIGHT: Final = re.compile(r"-?(0\.[0-9]{4}|1\.0000)", re.ASCII)
LEVERAGE: Final = re.compile(r"[0-9]{1,2}\.[0-9]{2}", re.ASCII)
MID: Final = re.compile(r"[0-9]{1,15}(\.[0-9]{1,18})?", re.ASCII)


def check_signals(
    lines: Iterable[bytes], kept: Sequence[KeptHead]
) -> tuple[LedgerChecked, Figures]:
    """As `check_ledger`; figures: vaults that have signals. Errors: LedgerDiffersError."""
    said = _Signals()
    return check_ledger(FORM, lines, kept, said.follow), {"vaults": len(said.rules)}


@dataclass(slots=True)
class _Signals:
    """`rules`: the version of each vault's newest signal."""

    rules: dict[int, int] = field(default_factory=dict)
    last_at: datetime | None = None

    def follow(self, body: Mapping[str, Any], before: int) -> None:
        """Its figures are such, and its time and its vault's rules are not older than those before."""
        seq, mid = body["seq"], body["mid"]
        if not (
            WEIGHT.fullmatch(body["target_weight"])
            and LEVERAGE.fullmatch(body["target_leverage"])
            and (mid is None or MID.fullmatch(mid))
        ):
            raise FORM.differs("form", seq, "a figure of it is none")
        self.last_at = FORM.time_of(body, self.last_at)
        vault, version = body["vault_id"], body["rules_version"]
        if version < self.rules.get(vault, 1):
            raise FORM.differs("state", seq, "it follows rules that its vault had left")
        self.rules[vault] = version
