"""Heads that a client was shown: two of one number are two pasts."""

import json
from pathlib import Path

import pytest

from api.client.heads import MOST_LINE_BYTES, MOST_LINES, HeadsDiffer, SeenHead, SeenHeads
from tests.each import each

ONE, OTHER = "0x" + "11" * 32, "0x" + "22" * 32
HEAD = SeenHead("m_abcdefghij", 3, ONE)


def answer(seq: int, row_hash: str) -> dict[str, object]:
    return {"record_line": {"body": {"seq": seq}, "row_hash": row_hash, "prev_hash": OTHER}}


def record(*rows: tuple[int, str], end: bytes = b'{"head":{}}\n') -> bytes:
    lines = [{"body": {"seq": seq}, "row_hash": row_hash} for seq, row_hash in rows]
    return b"".join(json.dumps(line).encode() + b"\n" for line in [{"format": ""}, *lines]) + end


def test_a_row_that_an_answer_shows__is_kept_once() -> None:
    heads = SeenHeads()
    for _ in range(2):
        heads.take({"id": HEAD.mandate_id}, answer(3, ONE))
    heads.take({"id": HEAD.mandate_id}, {"record_line": None})
    heads.take({"id": HEAD.mandate_id}, {})
    assert heads.of(HEAD.mandate_id) == (HEAD,)


def test_two_hashes_of_one_row__are_two_pasts() -> None:
    heads = SeenHeads()
    heads.saw(HEAD)
    with pytest.raises(HeadsDiffer, match="row 3 of m_abcdefghij was seen as 0x11") as found:
        heads.take({"id": HEAD.mandate_id}, answer(3, OTHER))
    assert (found.value.ours, found.value.theirs) == (HEAD, HEAD._replace(row_hash=OTHER))
    assert heads.of(HEAD.mandate_id) == (HEAD,)


def test_the_same_number_of_another_mandate__is_no_contradiction() -> None:
    heads = SeenHeads()
    heads.saw(HEAD)
    heads.saw(SeenHead("m_another", 3, OTHER))


def test_two_clients__tell_one_another_what_they_saw() -> None:
    one, other = SeenHeads(), SeenHeads()
    one.saw(HEAD)
    other.saw(SeenHead(HEAD.mandate_id, 4, OTHER))
    one.add_lines(other.lines())
    assert [head.seq for head in one.of(HEAD.mandate_id)] == [3, 4]


def test_two_clients_with_two_pasts__find_out_and_nothing_is_kept() -> None:
    one, other = SeenHeads(), SeenHeads()
    one.saw(HEAD)
    other.saw(SeenHead(HEAD.mandate_id, 2, ONE))
    other.saw(HEAD._replace(row_hash=OTHER))
    with pytest.raises(HeadsDiffer):
        one.add_lines(other.lines())
    assert one.of(HEAD.mandate_id) == (HEAD,)


def test_lines_that_contradict_one_another__are_not_taken() -> None:
    heads = SeenHeads()
    with pytest.raises(HeadsDiffer):
        heads.add_lines(HEAD.line() + HEAD._replace(row_hash=OTHER).line())
    assert heads.lines() == ""


def test_a_file__is_read_again_and_appended_to(tmp_path: Path) -> None:
    file = tmp_path / "heads.ndjson"
    SeenHeads(file).saw(HEAD)
    again = SeenHeads(file)
    again.saw(HEAD)
    assert (again.lines(), file.read_text()) == (HEAD.line(), HEAD.line())
    with pytest.raises(HeadsDiffer):
        again.saw(HEAD._replace(row_hash=OTHER))


WRONG = {
    "no JSON": "not json\n",
    "deep": "[" * (MOST_LINE_BYTES - 1) + "\n",
    "long": HEAD.line()[:-1] + " " * MOST_LINE_BYTES + "\n",
    "a key too many": json.dumps({**HEAD._asdict(), "more": 1}),
    "true for a number": HEAD._replace(seq=True).line(),
    "row 0": HEAD._replace(seq=0).line(),
    "a hash in capitals": HEAD._replace(row_hash="0x" + "AA" * 32).line(),
    "an id with a bidi character": HEAD._replace(mandate_id="m_\u202eabc").line(),
    "a number for an id": json.dumps({**HEAD._asdict(), "mandate_id": 1}),
}


@each("line", WRONG.values(), ids=WRONG)
def test_a_line_that_is_no_head__is_refused_with_its_number(line: str) -> None:
    with pytest.raises(ValueError, match="line 2: "):
        SeenHeads().add_lines(HEAD._replace(seq=1).line() + line)


def test_a_saved_record__has_what_was_seen_and_its_last_row_is_kept(tmp_path: Path) -> None:
    heads, file = SeenHeads(), tmp_path / "record"
    heads.saw(HEAD)
    file.write_bytes(record((2, OTHER), (3, ONE), (4, OTHER)))
    heads.compare_record(HEAD.mandate_id, file)
    assert [head.seq for head in heads.of(HEAD.mandate_id)] == [3, 4]


@pytest.mark.parametrize(
    ("rows", "theirs"),
    [(((3, OTHER), (4, ONE)), HEAD._replace(row_hash=OTHER)), (((2, ONE),), None)],
    ids=["rewritten", "cut short"],
)
def test_a_saved_record_of_another_past__is_found(
    tmp_path: Path, rows: tuple[tuple[int, str], ...], theirs: SeenHead | None
) -> None:
    heads, file = SeenHeads(), tmp_path / "record"
    heads.saw(HEAD)
    file.write_bytes(record(*rows))
    with pytest.raises(HeadsDiffer) as found:
        heads.compare_record(HEAD.mandate_id, file)
    assert found.value.theirs == theirs


@pytest.mark.parametrize("end", [b"", b'{"head":{"se'])
def test_a_record_that_broke_off__contradicts_nothing(tmp_path: Path, end: bytes) -> None:
    heads, file = SeenHeads(), tmp_path / "record"
    heads.saw(HEAD)
    file.write_bytes(record((1, OTHER), end=end))
    heads.compare_record(HEAD.mandate_id, file)
    assert heads.of(HEAD.mandate_id) == (HEAD,)


def test_a_file_that_a_kill_cut_off__is_read_and_appended_to(tmp_path: Path) -> None:
    file = tmp_path / "heads"
    for cut in (1, 8, 30, 60):
        file.write_text(HEAD.line() + HEAD.line()[:cut])
        heads = SeenHeads(file)
        heads.saw(SeenHead("m_other", 1, HEAD.row_hash))
        assert SeenHeads(file).lines() == heads.lines()


def test_a_file_that_holds_something_else__is_named(tmp_path: Path) -> None:
    (tmp_path / "heads").write_text("{}\n")
    with pytest.raises(ValueError, match="heads, line 1: no object"):
        SeenHeads(tmp_path / "heads")


@pytest.mark.slow
def test_own_file__is_read_however_long_it_grew(tmp_path: Path) -> None:
    """A client that had written 100,001 rows did not start again."""
    file = tmp_path / "heads.ndjson"
    file.write_text("".join(HEAD._replace(seq=seq).line() for seq in range(1, MOST_LINES + 2)))
    assert len(SeenHeads(file).of(HEAD.mandate_id)) == MOST_LINES + 1


def test_a_row_written_while_the_record_came__may_be_missing_in_it(tmp_path: Path) -> None:
    heads, file = SeenHeads(), tmp_path / "record"
    heads.saw(HEAD)
    before = heads.of(HEAD.mandate_id)
    heads.saw(HEAD._replace(seq=4))
    file.write_bytes(record((3, ONE)))
    heads.compare_record(HEAD.mandate_id, file, before)


def test_a_row_written_while_the_record_came__with_another_hash_there__is_found(
    tmp_path: Path,
) -> None:
    heads, file = SeenHeads(), tmp_path / "record"
    heads.saw(HEAD._replace(seq=4))
    file.write_bytes(record((3, ONE), (4, OTHER)))
    with pytest.raises(HeadsDiffer):
        heads.compare_record(HEAD.mandate_id, file, ())
