"""Binds the rows playbooks.* of the catalogue to their commands and services."""

from api.areas.playbooks import schemas, service
from api.kernel.operation import NoInput, Operation

OPERATIONS = (
    Operation("playbooks.index", NoInput, service.index),
    Operation("playbooks.atom", schemas.AtomPath, service.atom),
    Operation("playbooks.read", schemas.PagePath, service.read),
)
