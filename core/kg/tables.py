"""Tables of the knowledge notes."""

from core.kg.notes.tables import KgExport as KgExport
from core.kg.notes.tables import KgLink as KgLink
