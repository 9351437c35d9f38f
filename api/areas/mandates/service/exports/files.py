"""A statement in the form that was asked for, under a name that sorts."""

from codecs import BOM_UTF8
from collections.abc import Mapping
from typing import Any

from api.areas.mandates.service.exports.csv_file import all_statements_csv, statement_csv
from api.areas.mandates.service.exports.pdf_file import all_statements_pdf, statement_pdf
from api.kernel.outcome import File

MEDIA_TYPES: Mapping[str, str] = {"csv": "text/csv", "pdf": "application/pdf"}


def exported(
    form: str, statement: Mapping[str, Any], head: str, caution: str, *, bom: bool = False
) -> File:
    """One mandate's statement.

    `form`: csv or pdf; `head`: SEQ:HASH of the record; `bom`: the file begins with a byte-order
    mark. Errors: Refusal, of a PDF.
    """
    make = statement_csv if form == "csv" else statement_pdf
    name = f"statement-{statement['mandate_id']}-{statement['period']['week']}.{form}"
    return File(MEDIA_TYPES[form], name, BOM_UTF8 * bom + make(statement, head, caution))


def exported_all(
    form: str, whole: Mapping[str, Any], cautions: Mapping[str, str], *, bom: bool = False
) -> File:
    """The statement of all mandates. Errors: Refusal, of a PDF."""
    make = all_statements_csv if form == "csv" else all_statements_pdf
    name = f"statement-all-{whole['period']['week']}.{form}"
    return File(MEDIA_TYPES[form], name, BOM_UTF8 * bom + make(whole, cautions))
