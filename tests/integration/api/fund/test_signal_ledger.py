"""The ledger of signals as it is served, what it keeps back, and what its rows may say; the chain of
every ledger is tampered with in tests/integration/api/market/test_warning_ledger.py.
"""

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from api.client.verify.ledger_check import KeptHead, LedgerDiffersError
from api.client.verify.ledger_main import signals as app
from api.client.verify.signals_check import check_signals
from tests.each import each
from tests.integration.api.conftest import Clock
from tests.integration.api.fund.conftest import BTC, ETH, Office
from tests.ledger_lines import Change, changed, rehashed

PATH = "/fund/ledger"
DAY_S = 86_400


@pytest.fixture
def served(client: TestClient, office: Office, vault: int, clock: Clock) -> bytes:
    """Three that are historical, with one behind them that is live."""
    for weight, market in (("0.2500", BTC), ("0.5000", ETH), ("0.0000", BTC)):
        office.publish(vault, weight, market)
        clock.pass_(seconds=60)
    clock.pass_(seconds=DAY_S)
    office.publish(vault, "0.1000", ETH)
    answer = client.get(PATH)
    assert answer.headers["Content-Type"].startswith("application/x-ndjson")
    return answer.content


def differs(content: bytes, kept: list[KeptHead] | None = None) -> str:
    with pytest.raises(LedgerDiffersError) as error:
        check_signals(content.splitlines(keepends=True), kept or [])
    return error.value.name


def test_what_is_served__is_sound_and_ends_before_what_is_live(
    client: TestClient, served: bytes, clock: Clock
) -> None:
    found, figures = check_signals(served.splitlines(keepends=True), [])
    assert (found.rows, found.is_whole, figures) == (3, True, {"vaults": 1})
    last = json.loads(served.splitlines()[-1])
    assert (last["head"]["seq"], last["next_after"]) == (3, None)

    clock.pass_(seconds=DAY_S - 1)
    assert client.get(PATH).content == served, "not a byte tells the live one"
    clock.pass_(seconds=1)
    answer = client.get(PATH, params={"after": 3}).content
    kept = [(3, found.row_hash)]
    later, _ = check_signals((served + answer).splitlines(keepends=True), kept)
    assert (later.rows, later.is_whole) == (4, True)


def test_a_ledger_without_historical_rows__is_whole_and_empty(
    client: TestClient, office: Office, vault: int
) -> None:
    office.publish(vault)
    found, _ = check_signals(client.get(PATH).content.splitlines(keepends=True), [])
    assert (found.rows, found.is_whole) == (0, True)


@each(
    ("row", "change", "name"),
    [
        (1, lambda line: line["body"].pop("mid"), "signals.form"),
        (0, lambda line: line.update(format="warnings"), "signals.form"),
    ],
)
def test_a_line_that_was_changed__is_named(
    served: bytes, row: int, change: Change, name: str
) -> None:
    assert differs(changed(served, row, change)) == name


@each(
    ("row", "change", "name"),
    [
        (2, lambda line: line["body"].update(at="2020-01-01T00:00:00.000000Z"), "signals.time"),
        (2, lambda line: line["body"].update(at="yesterday"), "signals.form"),
        (1, lambda line: line["body"].update(rules_version=2), "signals.state"),
        (2, lambda line: line["body"].update(target_weight="2.0000"), "signals.form"),
        (2, lambda line: line["body"].update(target_leverage="-1.00"), "signals.form"),
        (2, lambda line: line["body"].update(mid="1e5"), "signals.form"),
    ],
)
def test_a_past_with_new_hashes__must_still_make_sense(
    served: bytes, row: int, change: Change, name: str
) -> None:
    assert differs(rehashed(changed(served, row, change))) == name


def test_the_command__says_it_with_its_exit_code(served: bytes, tmp_path: Path) -> None:
    file = tmp_path / "signals.ndjson"
    file.write_bytes(served)
    sound = CliRunner().invoke(app, [str(file), "--json"])
    said = json.loads(sound.stdout)
    assert (sound.exit_code, said["verdict"], said["vaults"]) == (0, "sound", 1)
