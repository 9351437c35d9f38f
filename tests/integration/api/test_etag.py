"""What may be kept, by whom, and for how long (docs/rules.md#cached-answers)."""

from tests.each import each
from tests.integration.api.conftest import KEY, TestClient, connect

KEPT = [("/agent/catalog", 300), ("/.well-known/service.json", 300), ("/mandate-wallet/board", 10)]


@each(("path", "max_age_s"), KEPT)
def test_an_answer_to_nobody__may_be_kept_by_anyone(
    client: TestClient, path: str, max_age_s: int
) -> None:
    first = client.get(path)
    assert first.headers["Cache-Control"] == f"public, max-age={max_age_s}"
    assert first.headers["Vary"] == "X-SVC-User-Key, Authorization"
    again = client.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    for name in ("ETag", "Cache-Control", "Vary", "X-Content-Type-Options"):
        assert again.headers[name] == first.headers[name]


@each("named", ['"x", {tag}', '"x"|{tag}', "W/{tag}", "*"])
def test_if_none_match__is_a_list_compared_weakly(client: TestClient, named: str) -> None:
    tag = client.get("/mandate-wallet/board").headers["ETag"]
    sent = [("If-None-Match", line) for line in named.format(tag=tag).split("|")]
    assert client.get("/mandate-wallet/board", headers=sent).status_code == 304


@each("named", ['"x"', "garbage", ""])
def test_another_tag__gets_the_whole_answer(client: TestClient, named: str) -> None:
    assert client.get("/mandate-wallet/board", headers={"If-None-Match": named}).status_code == 200


def test_an_answer_to_a_key__is_private_and_asked_for_again(client: TestClient) -> None:
    agent = {KEY: str(connect(client)["api_key"])}
    first = client.get("/agent/catalog", headers=agent)
    assert first.headers["Cache-Control"] == "private, no-cache"
    assert first.headers["ETag"] != client.get("/agent/catalog").headers["ETag"]
    again = client.get("/agent/catalog", headers={**agent, "If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.headers["X-RateLimit-Remaining"]) == (304, "1998")


def test_a_refusal_and_a_route_without_the_column__are_not_kept(client: TestClient) -> None:
    for answer in (
        client.get("/agent/catalog?x=1"),
        client.get("/mandate-wallet/door"),
        client.get("/health/live"),
    ):
        assert answer.headers["Cache-Control"] == "no-store"
        assert "ETag" not in answer.headers
