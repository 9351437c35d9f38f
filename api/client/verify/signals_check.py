"""What the rows of the ledger of signals say (docs/verify.md#ledgers-of-the-service)."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Final

from msgspec import Meta

from api.client.verify.ledger_check import (
    Figures,
    KeptHead,
    LedgerBody,
    LedgerChecked,
    LedgerForm,
    check_ledger,
)


class SignalBody(LedgerBody, frozen=True):
    vault_id: int
    rules_version: int
    market: str
    target_weight: Annotated[str, Meta(pattern=r"\A-?(0\.[0-9]{4}|1\.0000)\Z")]
    target_leverage: Annotated[str, Meta(pattern=r"\A[0-9]{1,2}\.[0-9]{2}\Z")]
    mid: Annotated[str, Meta(pattern=r"\A[0-9]{1,15}(\.[0-9]{1,18})?\Z")] | None


FORM: Final = LedgerForm("fund_signals", "signals", SignalBody)


def check_signals(
    lines: Iterable[bytes], kept: Sequence[KeptHead]
) -> tuple[LedgerChecked, Figures]:
    """As `check_ledger`; figures: vaults that have signals. Errors: LedgerDiffersError."""
    newest_rules = dict[int, int]()  # the version of each vault's newest signal

    def follow(row: SignalBody, before: int) -> None:
        """No row is of rules that its vault had left."""
        if row.rules_version < newest_rules.get(row.vault_id, 1):
            raise FORM.differs("state", row.seq, "it follows rules that its vault had left")
        newest_rules[row.vault_id] = row.rules_version

    return check_ledger(FORM, lines, kept, follow), {"vaults": len(newest_rules)}
