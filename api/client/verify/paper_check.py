"""A paper mandate: no chain is behind it, so its rows are checked against one another alone."""

from api.client.verify.expected import Expected
from api.client.verify.findings import Report
from api.client.verify.flags_check import FlagsCheck
from api.client.verify.reading import RecordFile
from api.client.verify.replay import compare_head, fold_rows
from api.client.verify.rows_check import RowsCheck
from api.client.verify.shown import shown
from api.client.verify.terms_check import RecordSubject
from core.mandate.rules.record import totals_of
from core.mandate.rules.violations import spend_window


def check_paper(record: RecordFile, subject: RecordSubject, report: Report) -> None:
    """Its figures are those of claims, since there is nothing else.

    Errors: UncheckedError when not every report could be judged.
    """
    rows = record.rows
    if record.as_of is not None:  # an old one would leave out every anchor since
        text = f"a paper mandate is read from no block, the record names {record.as_of['block_number']}"
        report.say("head.block", None, text)
    RowsCheck(subject, rows, Expected(), {}, {}, report).run()
    flags = FlagsCheck(subject, rows, {}, 0, report)
    state = fold_rows(rows, {}, subject.facts, report, flags.before)
    if record.head is not None:
        compare_head(record.head, state, report)
    report.figures |= totals_of(state)
    if rows:
        last = int(rows[-1].created_at.timestamp())
        window = spend_window(rows, subject.facts)
        report.shown = shown(subject, rows, state, window, last, None, None)
    report.remarks.append("a paper mandate: no chain is behind its rows")
    flags.end()
