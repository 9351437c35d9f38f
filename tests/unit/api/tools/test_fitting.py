"""What a tool answers is short enough for a model, and says what was left out."""

import json

from api.tools.fitting import MOST_CHARACTERS, fitted

STEP = {"text": "a" * 1_000}


def test_a_short_answer__is_itself() -> None:
    body = {"steps": [STEP] * 50}
    assert fitted(body) is body


def test_a_long_answer__has_as_much_of_its_longest_list_as_fits() -> None:
    body = {"id": "m_aaaaaaaaaa", "marks": [1, 2], "progress": {"steps": [STEP] * 100}}
    cut = fitted(body)
    assert len(json.dumps(cut)) <= MOST_CHARACTERS
    assert (cut["id"], cut["marks"], len(cut["progress"]["steps"])) == ("m_aaaaaaaaaa", [1, 2], 50)
    assert "progress.steps has 50 of 100" in cut["note"]
    assert len(body["progress"]["steps"]) == 100  # type: ignore[index]  # what was answered stays whole


def test_an_answer_of_one_long_text__ends_too() -> None:
    assert "note" in fitted({"text": "a" * 70_000, "rows": [1]})
