"""Commands of the playbook routes. Their answers are text/markdown."""

from typing import Annotated

from pydantic import Field

from api.kernel.operation import Command

Name = Annotated[str, Field(max_length=200)]


class AtomPath(Command):
    atom_id: Name


class PagePath(Command):
    pb: Name
    path: Name
