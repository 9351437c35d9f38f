"""Binds the rows playbooks.* of the catalogue to their commands and services."""

from api.areas.playbooks import schemas, service
from api.kernel.operation import NoInput, Operation

OPERATIONS = (
    Operation("playbooks.index", NoInput, service.index, schemas.Markdown),
    Operation("playbooks.atom", schemas.AtomPath, service.atom, schemas.Markdown),
    Operation("playbooks.read", schemas.PagePath, service.read, schemas.Markdown),
)
