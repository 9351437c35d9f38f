"""No secret of a call reaches a log, whatever the call is and whatever becomes of it."""

import logging
from typing import Any

import pytest
from structlog.testing import capture_logs

from api.catalogue import catalogue
from api.kernel.operation import Operation
from tests.each import each
from tests.integration.api.conftest import KEY, bearer
from tests.integration.api.mandates.stage import Stage

MARK = "hunter2"
BODY: dict[str, Any] = {
    "api_secret": MARK, "password": MARK, "message": MARK, "signature": "0x" + MARK,
    "purpose": MARK, "agent_name": MARK,
    "payload": {"private_key": MARK}, "wallet_address": MARK, "id": MARK,
}  # fmt: skip


@pytest.fixture
def draft(stage: Stage) -> str:
    return stage.draft()


@each("row", catalogue().operations, ids=lambda row: row.key)
@pytest.mark.slow
def test_a_marked_secret__is_in_no_log_line(
    stage: Stage, draft: str, row: Operation, caplog: pytest.LogCaptureFixture
) -> None:
    path = row.path.replace("{id}", stage.agent_id if "/agents/" in row.path else draft)
    credentials = [{}, stage.agent, stage.owner, {KEY: MARK}, bearer(MARK)]
    with capture_logs() as lines, caplog.at_level(logging.DEBUG):
        for sent in credentials:
            _send(stage, row, path, sent | {"Idempotency-Key": MARK, "Cookie": MARK})
    written = str(lines) + "".join(
        record.getMessage() for record in caplog.records if not record.name.startswith("httpx")
    )
    secrets = [MARK, stage.agent[KEY], stage.owner["Authorization"].removeprefix("Bearer ")]
    assert [line["event"] for line in lines].count("call") >= len(credentials)
    assert [secret for secret in secrets if secret in written] == []


def _send(stage: Stage, row: Operation, path: str, headers: dict[str, str]) -> None:
    query = {"api_key": MARK, "cursor": MARK}
    if row.method == "GET":
        stage.client.get(path, params=query, headers=headers)
    else:
        stage.client.request(row.method, path, params=query, json=BODY, headers=headers)
        stage.client.request(
            row.method, path, content=b'{"password": "' + MARK.encode(), headers=headers
        )
