"""Notes over the market of tests/market_rows.py."""

from typing import Any

import pytest
import yaml

from tests.integration.api.conftest import KEY, TestClient, connect


@pytest.fixture
def agent(client: TestClient) -> dict[str, str]:
    return {KEY: str(connect(client)["api_key"])}


def front_of(text: str) -> dict[str, Any]:
    """A note's frontmatter, in its order."""
    _, front, _ = text.split("---\n", 2)
    return dict(yaml.safe_load(front))


def sections_of(text: str) -> list[str]:
    return [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
