"""GET /docs: FastAPI's page of every call. Which hosts it loads from: test_over_http.py."""

import base64
import hashlib
import re

import pytest

from tests.integration.api.conftest import TestClient


def test_docs__runs_the_files_of_this_service_and_its_own_one_script(client: TestClient) -> None:
    answer = client.get("/docs")
    (script,) = re.findall("<script>(.*?)</script>", answer.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = answer.headers["Content-Security-Policy"]
    assert f"; script-src 'self' 'sha256-{digest}'; " in policy
    assert policy.endswith("frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
    assert "url: '/openapi.json'" in script
    for name, media_type in (("js", "text/javascript"), ("css", "text/css")):
        (address,) = re.findall(rf'"(/web/[0-9a-f]{{16}}/vendor/swagger-ui\.{name})"', answer.text)
        file = client.get(address)
        assert (file.status_code, file.headers["Content-Type"]) == (
            200,
            f"{media_type}; charset=utf-8",
        )


@pytest.mark.slow
def test_a_page_for_people__is_as_wide_as_the_phone_that_shows_it(client: TestClient) -> None:
    """Without it a phone draws 980 pixels and shrinks them: text of 6 pixels."""
    for path in ("/docs", "/mcp"):
        page = client.get(path, headers={"Accept": "text/html"}).text
        assert re.search('<meta name="viewport" content="width=device-width, ?initial-', page), path


def test_docs__of_another_method__is_405(client: TestClient) -> None:
    assert client.post("/docs").status_code == 405


def test_openapi_json__is_written_once(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asked for it again and again kept the event loop busy with writing it: 280 KB for
    each, while all others waited.
    """
    first = client.get("/openapi.json")
    monkeypatch.setattr("api.kernel.docs_page.json", None)
    assert (first.status_code, first.headers["Content-Type"]) == (200, "application/json")
    assert client.get("/openapi.json").json() == first.json()
