"""What these tests share with the faster ones."""

from tests.acceptance.conftest import stack_directory
from tests.integration.conftest import postgres, template

__all__ = ["postgres", "stack_directory", "template"]
