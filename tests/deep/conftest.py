"""What these tests share with the faster ones."""

from tests.acceptance.conftest import stack_directory
from tests.integration.conftest import (
    database,
    databases,
    kept_database,
    origin,
    postgres,
    template,
)

__all__ = [
    "database",
    "databases",
    "kept_database",
    "origin",
    "postgres",
    "stack_directory",
    "template",
]
