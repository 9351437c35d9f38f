"""What the downloads of the service's ledgers take (docs/verify.md#ledgers-of-the-service)."""

from typing import Annotated, Final

from pydantic import Field

from api.kernel.fields import WHOLE
from api.kernel.operation import Command

LEDGER_ROWS: Final = 5_000  # of an answer, about 3 MB


class LedgerDownload(Command):
    after: Annotated[
        int, Field(ge=0, le=2**53 - 1, description="the next_after of the previous page"), WHOLE
    ] = 0
