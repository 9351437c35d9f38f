"""A witness on a real chain: it cosigns, is killed, and finds two records of one mandate."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from click.testing import CliRunner

from api.client.verify.findings import Report, UncheckedError
from api.client.verify.reading import read_record
from api.client.verify.verification import Options, verify
from api.client.verify.witness_check import TrustedWitnesses, check_witnesses
from core.anchors.witness import WitnessedHead
from core.chain.nodes import Nodes
from core.db.embedded import EmbeddedPostgres
from scripts import witness
from tests.integration.client.anchoring import AnchoredRecord, anchored_record
from tests.integration.client.forging import Forgery
from tests.personas import KEEPER, STRANGER

ROOT = Path(__file__).resolve().parents[3]
WITHIN_S = 60


@pytest.fixture(scope="module")
def anchored(postgres: EmbeddedPostgres, template: str) -> Iterator[AnchoredRecord]:
    with anchored_record(postgres, template) as record:
        yield record


def name(record: AnchoredRecord) -> str:
    return str(json.loads(record.lines[0])["mandate_id"])


def run(
    record: AnchoredRecord, folder: Path, lines: Sequence[bytes], *more: str, code: str = ""
) -> subprocess.CompletedProcess[str]:
    """A round over a saved record; with `code` in a process of its own, after that."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name(record)}.ndjson").write_bytes(b"".join(lines))
    key = folder / "key"
    key.write_text(STRANGER.private_key)
    options = ["--rpc", record.chain.anvil.url, "--mandate", name(record), *more]
    options += [] if "--anchor" in more else ["--anchor", record.contract]
    options += [] if "--key-file" in more else ["--key-file", str(key)]
    options += [] if "--service" in more else ["--service", str(folder)]
    options += ["--state", str(folder / "state")]
    if not code:
        done = CliRunner(mix_stderr=False).invoke(witness.watch, options)
        return subprocess.CompletedProcess(options, done.exit_code, done.stdout, done.stderr)
    command = [sys.executable, "-c", f"from scripts import witness\n{code}\nwitness.watch()"]
    return subprocess.run(
        [*command, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )


def signed(record: AnchoredRecord, folder: Path) -> list[bytes]:
    file = folder / "state" / f"{name(record)}.jsonl"
    return file.read_bytes().splitlines() if file.exists() else []


def check(record: AnchoredRecord, lines: Sequence[bytes], file: Path, signer: str) -> Report:
    options = Options(
        factory=record.chain.contracts["factory"],
        x402_adapter=record.chain.contracts["x402_adapter"],
        anchor=record.contract,
        witnesses=TrustedWitnesses([file], frozenset({signer})),
    )
    rpc = Nodes([record.chain.anvil.url])
    try:
        return verify(iter(lines), [rpc], options, lambda part, done, of: None)
    finally:
        rpc.close()


def cosigned(record: AnchoredRecord, folder: Path) -> Path:
    assert run(record, folder, record.lines).returncode == 0
    return folder / "state" / f"{name(record)}.jsonl"


def rewritten(record: AnchoredRecord) -> tuple[bytes, ...]:
    forgery = Forgery.of(record.lines)
    forgery.body("report")["amount_usdc"] = "4.000000"
    forgery.seal()
    return tuple(forgery.lines())


@pytest.mark.slow
def test_every_anchored_head__is_cosigned_once(anchored: AnchoredRecord, tmp_path: Path) -> None:
    assert run(anchored, tmp_path, anchored.lines).returncode == 0
    first = signed(anchored, tmp_path)
    assert run(anchored, tmp_path, anchored.lines).returncode == 0
    assert len(first) == 4
    assert signed(anchored, tmp_path) == first


def test_record_that_the_witness_saw__is_confirmed(
    anchored: AnchoredRecord, tmp_path: Path
) -> None:
    file = cosigned(anchored, tmp_path)
    report = check(anchored, anchored.lines, file, STRANGER.address)
    assert (report.findings, report.unchecked) == ([], [])
    assert report.figures["witnessed_heads"] == {STRANGER.address: 4}


@pytest.mark.parametrize("key", ["", "no key", "0x" + "22" * 31, "0x" + "00" * 32])
def test_key_that_is_none__ends_at_once_and_is_not_shown(
    anchored: AnchoredRecord, tmp_path: Path, key: str
) -> None:
    """Before, a round without new anchors was 0, and the key failed an hour later."""
    bad = tmp_path / "bad"
    bad.write_text(key)
    done = run(anchored, tmp_path, anchored.lines, "--key-file", str(bad))
    assert (done.returncode, "64 hex digits" in done.stderr) == (2, True)
    assert not key or key not in done.stdout + done.stderr


def test_state_that_cannot_be_written__is_no_contradiction(
    anchored: AnchoredRecord, tmp_path: Path
) -> None:
    """Before, exit code 1 and a stack trace."""
    (tmp_path / "state").write_text("a file")
    done = run(anchored, tmp_path, anchored.lines)
    assert (done.returncode, "--state" in done.stderr) == (2, True)


def test_second_witness_of_a_state__is_no_contradiction(
    anchored: AnchoredRecord, tmp_path: Path
) -> None:
    held = witness.lock(tmp_path / "state")
    done = run(anchored, tmp_path, anchored.lines)
    os.close(held)
    assert (done.returncode, "another witness" in done.stderr) == (2, True)


def test_evidence_that_cannot_be_written__is_in_the_log(
    anchored: AnchoredRecord, tmp_path: Path
) -> None:
    """Before, it ended the process, and the other mandates' rounds with it."""
    cosigned(anchored, tmp_path)
    (tmp_path / "state" / f"{name(anchored)}.evidence.jsonl").mkdir()
    done = run(anchored, tmp_path, rewritten(anchored), "--mandate", "m_aaaaaaaaaa")
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert [one["event"] for one in said] == ["contradiction", "unchecked"]
    assert '"signed"' in said[0]["evidence"]


def test_another_record__shown_to_the_witness_before__differs(
    anchored: AnchoredRecord, tmp_path: Path
) -> None:
    file = cosigned(anchored, tmp_path)
    report = check(anchored, rewritten(anchored), file, STRANGER.address)
    assert "witness.differs" in {one.name for one in report.findings}


def test_record_cut_short__misses_what_the_witness_saw(
    anchored: AnchoredRecord, tmp_path: Path
) -> None:
    file, forgery = cosigned(anchored, tmp_path), Forgery.of(anchored.lines)
    forgery.rows.pop()
    forgery.seal()
    report = check(anchored, forgery.lines(), file, STRANGER.address)
    assert "witness.missing" in {one.name for one in report.findings}


def test_record_exported_before__is_no_contradiction(
    anchored: AnchoredRecord, tmp_path: Path
) -> None:
    """Before, an older record was called false when it was shown with newer cosignatures."""
    file, report = cosigned(anchored, tmp_path), Report()
    record = read_record(anchored.lines, report)
    first = WitnessedHead.of_json(json.loads(signed(anchored, tmp_path)[0]))[0]
    del record.rows[first.seq - 1 :]
    witnesses = TrustedWitnesses([file], frozenset({STRANGER.address}))
    check_witnesses(record, witnesses, anchored.contract, None, report)
    assert (report.findings, len(report.unchecked)) == ([], 1)
    assert "are later than this record" in report.unchecked[0]


def test_signer_who_is_not_trusted__confirms_nothing(
    anchored: AnchoredRecord, tmp_path: Path
) -> None:
    file = cosigned(anchored, tmp_path)
    report = check(anchored, anchored.lines, file, KEEPER.address)
    assert report.figures["witnessed_heads"] == {KEEPER.address: 0}
    assert any("confirms no head" in one for one in report.unchecked)


@pytest.mark.parametrize(
    "junk", [b"\xff\n", b"[" * 2_000 + b"\n", b"{}\n", b"x" * 10_000_000], ids=len
)
def test_hostile_file__is_no_confirmation(
    anchored: AnchoredRecord, tmp_path: Path, junk: bytes
) -> None:
    file = tmp_path / "hostile"
    file.write_bytes(junk)
    report = check(anchored, anchored.lines, file, STRANGER.address)
    assert report.findings == []
    assert any(one.startswith("witnesses") for one in report.unchecked)


@pytest.mark.slow
@pytest.mark.parametrize("at", [1, 2])
def test_killed_between_writes__signs_the_same_heads(
    anchored: AnchoredRecord, tmp_path: Path, at: int
) -> None:
    """After the pending heads, and in the middle of the cosignatures."""
    kill = (
        f"import os, signal\ncount, whole = [0], witness.write_durably\n"
        f"def write(file, content, mode):\n"
        f"    count[0] += 1\n"
        f"    whole(file, content[:700] if count[0] == 2 else content, mode)\n"
        f"    if count[0] == {at}: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"witness.write_durably = write"
    )
    assert run(anchored, tmp_path, anchored.lines, code=kill).returncode == -signal.SIGKILL
    assert run(anchored, tmp_path, anchored.lines).returncode == 0
    heads = [json.loads(line) for line in signed(anchored, tmp_path)]
    assert len({one["epoch"] for one in heads}) == len(heads) == 4


def test_record_rewritten_after_it_was_signed__is_not_signed(
    anchored: AnchoredRecord, tmp_path: Path
) -> None:
    cosigned(anchored, tmp_path)
    first = signed(anchored, tmp_path)
    assert run(anchored, tmp_path, rewritten(anchored)).returncode == 1
    assert signed(anchored, tmp_path) == first
    evidence = tmp_path / "state" / f"{name(anchored)}.evidence.jsonl"
    assert len(evidence.read_bytes().splitlines()) == 1


def test_one_bad_mandate__does_not_stop_the_others(
    anchored: AnchoredRecord, tmp_path: Path
) -> None:
    done = run(anchored, tmp_path, anchored.lines, "--mandate", "m_nosuchfile")
    assert done.returncode == 2
    assert len(signed(anchored, tmp_path)) == 4


def test_head_that_takes_the_signed_one_back__is_a_contradiction(
    anchored: AnchoredRecord, tmp_path: Path
) -> None:
    cosigned(anchored, tmp_path)
    journal = witness.Journal(tmp_path / "state", name(anchored)).load()
    forgery = Forgery.of(rewritten(anchored))
    record = witness.read_record(iter(forgery.lines()), Report())
    with pytest.raises(witness.ContradictionError) as found:
        witness.new_heads(record, anchored.contract, journal)
    assert os.path.getsize(journal.keep(found.value)) > 0


CUT = {
    "without its end": lambda lines: lines[:-1],
    "without a row in its middle": lambda lines: (*lines[:2], *lines[3:]),
    "empty": lambda lines: (),
    "in the midst of a line": lambda lines: (*lines[:-1], lines[-1][:40]),
}


@pytest.mark.parametrize("how", CUT)
def test_record_that_arrives_damaged__is_no_contradiction(
    anchored: AnchoredRecord, tmp_path: Path, how: str
) -> None:
    cosigned(anchored, tmp_path)
    first = signed(anchored, tmp_path)
    done = run(anchored, tmp_path, CUT[how](anchored.lines))
    assert (done.returncode, signed(anchored, tmp_path)) == (2, first)
    assert not (tmp_path / "state" / f"{name(anchored)}.evidence.jsonl").exists()


def test_epoch_left_out__is_not_signed_over(anchored: AnchoredRecord, tmp_path: Path) -> None:
    forgery = Forgery.of(anchored.lines)
    del forgery.anchors[2]
    done = run(anchored, tmp_path, forgery.lines())
    assert (done.returncode, signed(anchored, tmp_path)) == (2, [])
    assert "anchor.left_out" in done.stdout


def test_contradiction__is_kept_once(anchored: AnchoredRecord, tmp_path: Path) -> None:
    """Also when the record's end is another block each time, as it is of a service that goes on."""
    cosigned(anchored, tmp_path)
    for height in (1, 2):
        forgery = Forgery.of(rewritten(anchored))
        forgery.head["as_of"] |= {"block_number": height}
        assert run(anchored, tmp_path, forgery.lines()).returncode == 1
    evidence = tmp_path / "state" / f"{name(anchored)}.evidence.jsonl"
    (kept,) = map(json.loads, evidence.read_bytes().splitlines())
    assert (kept["head"]["as_of"]["block_number"], set(kept)) == (1, {"signed", "shown", "head"})


# Over HTTP


class Service(BaseHTTPRequestHandler):
    """Gives the record to a reader's token, and is otherwise as its path says."""

    record: ClassVar[bytes] = b""

    def do_GET(self) -> None:
        if self.headers["Authorization"] != "Bearer reader":
            self.answer(401, b"{}")
        elif "m_moved" in self.path:
            self.answer(302, b"", Location="/mandate-wallet/mandates/m_here/record")
        elif "m_cut" in self.path:
            self.send_response(200)
            self.send_header("Content-Length", str(len(self.record)))
            self.end_headers()
            self.wfile.write(self.record[:-40])
        else:
            self.answer(200, self.record)

    def answer(self, status: int, content: bytes, **headers: str) -> None:
        self.send_response(status)
        for header, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(header, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def service(anchored: AnchoredRecord) -> Iterator[str]:
    Service.record = b"".join(anchored.lines)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join(5)


def test_record__comes_over_http_with_the_readers_token(
    anchored: AnchoredRecord, tmp_path: Path, service: str
) -> None:
    token = tmp_path / "token"
    token.write_text("reader\n")
    more = ("--service", service, "--token-file", str(token))
    assert run(anchored, tmp_path, (), *more).returncode == 0
    assert len(signed(anchored, tmp_path)) == 4


@pytest.mark.parametrize(
    ("mandate", "token", "why"),
    [
        ("m_here", "stranger", "the service answers 401"),
        ("m_moved", "reader", "the service answers 302"),
        ("m_cut", "reader", "RemoteProtocolError"),
        ("m_here", "reader", "too large"),
    ],
)
def test_answer_that_is_no_record__is_refused(
    service: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mandate: str,
    token: str,
    why: str,
) -> None:
    monkeypatch.setattr(witness, "MOST_BYTES", len(Service.record) - (why == "too large"))
    with pytest.raises(UncheckedError, match=why):
        witness.fetch(service, mandate, token, tmp_path / "record")


def test_file_that_is_older_than_what_was_signed__is_no_contradiction(
    anchored: AnchoredRecord, tmp_path: Path
) -> None:
    """A folder may hold an old export; before, the service was accused of it."""
    file, forgery = cosigned(anchored, tmp_path), Forgery.of(anchored.lines)
    newest = WitnessedHead.of_json(json.loads(file.read_bytes().splitlines()[-1]))[0]
    del forgery.rows[newest.seq - 1 :]
    forgery.seal()
    done = run(anchored, tmp_path, tuple(forgery.lines()))
    assert (done.returncode, "older than what was signed" in done.stdout) == (2, True)


def test_another_root_of_a_signed_hour__in_a_folder__ends_no_other_mandates_round(
    anchored: AnchoredRecord, tmp_path: Path
) -> None:
    """Its rows are the same. It ended the process, without evidence."""
    cosigned(anchored, tmp_path)
    forgery = Forgery.of(anchored.lines)
    forgery.anchors[2]["anchor"]["root"] = "0x" + "77" * 32
    done = run(anchored, tmp_path, forgery.lines(), "--mandate", "m_aaaaaaaaaa")
    said = [json.loads(line)["event"] for line in done.stdout.splitlines()]
    assert (done.returncode, said) == (1, ["contradiction", "unchecked"])
    assert (tmp_path / "state" / f"{name(anchored)}.evidence.jsonl").exists()


def test_a_state_of_another_contract__is_not_the_services_contradiction(
    anchored: AnchoredRecord, tmp_path: Path
) -> None:
    """After a contract of anchors was replaced, whoever named the new one accused the service."""
    cosigned(anchored, tmp_path)
    done = run(anchored, tmp_path, anchored.lines, "--anchor", anchored.late)
    assert (done.returncode, "of another anchors' contract" in done.stdout) == (2, True)
    assert not (tmp_path / "state" / f"{name(anchored)}.evidence.jsonl").exists()
