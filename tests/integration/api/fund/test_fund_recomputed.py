"""What docs/fund.md says how to recompute is recomputed, by its own programs, from the answers alone."""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

from tests.integration.api.conftest import Clock
from tests.integration.api.fund.conftest import BTC, ETH, Follower, Office

PAGE = Path(__file__).parents[4] / "docs" / "fund.md"
PROGRAM = re.compile(r"^curl [^\n]* python3 -c '\n(.*?)'\n```", re.MULTILINE | re.DOTALL)
RULES, ROWS = PROGRAM.findall(PAGE.read_text())
GENESIS = "0x" + hashlib.sha256(b"fund_signals:v1:1").hexdigest()


def told(program: str, answer: str) -> str:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, input=answer, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_rules_hash__is_what_the_page_computes__whatever_the_mandate_says(
    follower: Follower, office: Office, vault: int
) -> None:
    mandate = 'Größe "zuerst", \\ dann € \U0001f600 </script>.\nWöchentlich.'
    rules = {
        "mandate": mandate,
        "max_leverage": 1,
        "universe": [{"market": BTC, "min_order_usd": 10}],
    }
    frozen = office.post(f"/admin/fund/vaults/{vault}/rules", {"rules": rules})
    answer = follower.client.get(f"/fund/vaults/{vault}")
    assert answer.json()["mandate"] == mandate
    assert told(RULES, answer.text) == frozen.json()["rules_hash"] == answer.json()["rules_hash"]


def test_rows_of_signals__hash_as_the_page_says__to_the_microsecond(
    follower: Follower, office: Office, clock: Clock, vault: int
) -> None:
    clock.pass_(microseconds=120_034)
    office.publish(vault)
    clock.pass_(seconds=1)
    office.publish(vault, market=ETH)
    clock.pass_(hours=24)
    answer = follower.client.get(f"/fund/vaults/{vault}/signals")
    later, first = answer.json()["signals"]
    assert (first["prev_hash"], later["prev_hash"]) == (GENESIS, first["row_hash"])
    assert first["hashed_at"] == "2026-11-21T12:00:00.120034Z"
    assert told(ROWS, answer.text) == ""
    forged = answer.text.replace(first["hashed_at"], "2026-11-21T12:00:00.120033Z")
    assert told(ROWS, forged) == str(first["signal_id"])


def test_the_exact_time_of_a_live_signal__is_not_shown(
    follower: Follower, office: Office, vault: int
) -> None:
    signal = follower.get(f"/fund/signals/{office.publish(vault)}").json()
    assert (signal["hashed_at"], signal["row_hash"]) == (None, None)
