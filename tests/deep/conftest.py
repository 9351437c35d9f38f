"""What these tests share with the faster ones."""

from tests.acceptance.conftest import stack_directory

__all__ = ["stack_directory"]
