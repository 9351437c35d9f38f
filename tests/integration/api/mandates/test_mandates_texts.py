"""The words of a mandate: what is refused, as what it is kept, and how rows of before are shown."""

import csv
import io
import json

from sqlalchemy import text

from core.mandate.rules.rows import NewRow, ReportedBy, RowKind
from tests.integration.api.mandates.stage import Stage

HIDDEN = "Pay \u202eeht\u200b now"
SHOWN = "Pay \\u{202e}eht\\u{200b} now"


def test_words__are_kept_as_their_nfc_and_stop_conditions_as_they_were_sent(
    stage: Stage, mandate_id: str
) -> None:
    told = {"kind": "note", "why": "cafe\u0301", "payload": {"text": "u\u0308ber\n\tall"}}
    stored = stage.post(f"/mandates/{mandate_id}/events", stage.agent, told)["event"]["payload"]
    assert stored == {"text": "\u00fcber\n\tall", "why": "caf\u00e9"}
    path = f"/agents/{stage.agent_id}/policy"
    whole = {"stop_conditions": {"a": "e\u0301"}, "accepts_mandates": True}
    policy = stage.call("PUT", path, stage.owner, whole).json()
    assert policy["stop_conditions"] == {"a": "e\u0301"}
    draft = stage.draft(purpose="cafe\u0301")
    assert stage.get(f"/mandates/{draft}", stage.owner)["mandate"]["purpose"] == "caf\u00e9"


def test_what_was_stored_before__is_shown_escaped_in_json_and_files(
    stage: Stage, mandate_id: str
) -> None:
    row = NewRow(
        kind=RowKind.NOTE,
        payload={"why": HIDDEN},
        reported_by=ReportedBy.AGENT,
        occurred_at=stage.clock.now,
        base_key="test:before",
    )
    stage.append(mandate_id, row)
    with stage.database.write() as session:
        session.execute(text("update account set name = :name"), {"name": HIDDEN})
    whole = stage.call("GET", f"/mandates/{mandate_id}", stage.owner)
    assert whole.json()["steps"][0]["why"] == SHOWN
    assert not {"\u202e", "\u200b"} & set(whole.text)
    events = stage.get(f"/mandates/{mandate_id}/ledger", stage.owner)["events"]
    assert [one["payload"]["why"] for one in events if "why" in one["payload"]] == [SHOWN]
    assert stage.get("/agents/me", stage.agent)["name"] == SHOWN
    file = stage.client.get(
        f"/mandate-wallet/mandates/{mandate_id}/statement",
        params={"format": "csv"},
        headers=stage.owner,
    )
    lines = list(csv.DictReader(io.StringIO(file.content.decode(), newline="")))
    assert SHOWN in {value for line in lines for value in line.values()}
    assert "\u202e" not in file.content.decode()


def test_verbatim_words_of_before__are_the_same_value_in_ascii(stage: Stage) -> None:
    path = f"/agents/{stage.agent_id}/policy"
    stage.call("PUT", path, stage.owner, {"stop_conditions": {"a": "before"}})
    with stage.database.write() as session:
        changed = text("update agent_policy set policy = policy || cast(:more as jsonb)")
        session.execute(changed, {"more": json.dumps({"stop_conditions": {"a": HIDDEN}})})
    read = stage.call("GET", path, stage.owner)
    assert read.json()["stop_conditions"] == {"a": HIDDEN}
    assert read.text.isascii()
