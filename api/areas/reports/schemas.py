"""Commands and answers of reports (docs/reports.md)."""

from typing import Literal

from pydantic import Field

from api.areas.reports.rules import ReportFailure, ReportState
from api.kernel.fields import Id, InstantText
from api.kernel.operation import AnswerBody, Command
from api.kernel.pagination import Paged
from api.shared.pairs import ExchangeId, SymbolInBody

Language = Literal["en", "ko"]
Version = Literal["v1", "v2"]


class OrderReport(Command):
    exchange: ExchangeId
    symbol: SymbolInBody
    lang: Language = "en"
    version: Version = "v1"


class ReportsQuery(Paged):
    """The newest first."""

    exchange: ExchangeId
    symbol: SymbolInBody


class ReportPath(Command):
    report_id: Id


class ReportEntry(AnswerBody):
    report_id: int
    exchange: str
    symbol: str
    version: Version
    lang: Language
    state: ReportState
    failure: ReportFailure | None = Field(description="why there is no PDF; null: no failure")
    bucket: InstantText = Field(description="start of the two hours that the report covers")
    requested_at: InstantText
    ready_at: InstantText | None
    grade: str | None
    score: int | None = Field(description="risk score, 0 to 100; null here and below: unknown")
    probability: float | None = Field(description="probability of a bad outcome within 90 days")
    coverage: float | None = Field(description="share of the risk factors that are known, 0 to 1")
    sha256: str | None = Field(description="SHA-256 of the PDF")
    simulated: Literal[True] = Field(
        default=True, description="true: based on simulated data; omitted otherwise"
    )


class ReportPage(AnswerBody):
    reports: list[ReportEntry]
    next_cursor: str | None
