"""The service's OpenAPI document, made once a worker: it takes a second."""

from functools import cache
from typing import Any

from api.catalogue import catalogue
from api.main import api_document


@cache
def document() -> dict[str, Any]:
    return api_document(catalogue(), "https://api.example")
