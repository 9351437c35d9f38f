"""python -m scripts.witness: watch mandates from outside, and cosign the heads that were anchored.

Each round and mandate: take its record from the service, hash all rows, ask your own nodes for the
roots that RecordAnchor holds, check the proofs, check that each head extends the one before, sign.

Laws
- What was signed is the state: DIR/<mandate>.jsonl, append only. Before anything is signed, it stands
  in DIR/<mandate>.pending, on disk; after a kill the same is signed again, or nothing.
- Of one mandate and epoch one head alone is ever signed, and never a smaller sequence later.
- One bad mandate does not stop the others. Exit code 1: a contradiction, kept in
  DIR/<mandate>.evidence.jsonl; 2: something could not be checked; 0: all was.
"""

import asyncio
import fcntl
import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click
import httpx
from eth_account import Account
from eth_utils.exceptions import ValidationError

from api.client.verify.anchors_check import check_anchors
from api.client.verify.findings import Finding, Report, UncheckedError
from api.client.verify.main import named_address
from api.client.verify.node import Node
from api.client.verify.reading import RecordFile, lines_of, read_record
from core.anchors.witness import WitnessedHead
from core.chain.nodes import Nodes
from core.chain.provider import ACCEPTED, ENCODINGS
from core.mandate.rules.receipts import MANDATE_FORM

MOST_BYTES = 256_000_000  # of a record
ANSWER_S, FETCH_S = 30.0, 600.0
MOST_CALLS = 100_000
# differences that say when a root was posted, not what it holds
OF_TIME = {"anchor.missing_epoch"}


class ContradictionError(Exception):
    """`kept` was signed here, `shown` is what the service shows now.

    `is_older`: the record shows other rows nowhere, and ends before the one that was signed.
    """

    def __init__(self, kept: WitnessedHead, shown: dict[str, Any], *, is_older: bool) -> None:
        super().__init__(f"epoch {kept.epoch}: signed row {kept.seq} {kept.row_hash}")
        self.kept = kept
        self.shown = shown
        self.is_older = is_older


@dataclass
class Journal:
    """What was signed of a mandate, and what was about to be. `signed` by epoch, in order."""

    folder: Path
    mandate: str
    signed: dict[int, WitnessedHead] = field(default_factory=dict)
    known: dict[int, WitnessedHead] = field(default_factory=dict)  # also what was only pending

    @property
    def file(self) -> Path:
        return self.folder / f"{self.mandate}.jsonl"

    @property
    def pending(self) -> Path:
        return self.folder / f"{self.mandate}.pending"

    def load(self) -> "Journal":
        """A line that a kill cut off is dropped; its head is still pending."""
        if self.file.exists():
            content = self.file.read_bytes()
            whole = content[: content.rfind(b"\n") + 1]
            if whole != content:
                os.truncate(self.file, len(whole))
            for line in whole.splitlines():
                head, _ = WitnessedHead.of_json(json.loads(line))
                self.signed[head.epoch] = head
        self.known = dict(self.signed)
        if self.pending.exists():
            for one in json.loads(self.pending.read_bytes()):
                head, _ = WitnessedHead.of_json(one | {"signature": ""})
                self.known[head.epoch] = head
        return self

    def sign(self, heads: Sequence[WitnessedHead], key: str) -> None:
        """Rising epochs, all after what was signed."""
        fresh = self.pending.with_suffix(".fresh")
        write_durably(fresh, json.dumps([asdict(head) for head in heads]).encode(), "wb")
        fresh.replace(self.pending)
        sync_folder(self.folder)
        lines = [head.line(signature_of(head, key)) for head in heads]
        write_durably(self.file, b"".join(lines), "ab")
        sync_folder(self.folder)
        self.signed |= {head.epoch: head for head in heads}
        self.known |= self.signed

    def keep(self, found: ContradictionError) -> Path:
        """Once, however many rounds show the same; the record's own end changes with each."""
        file = self.folder / f"{self.mandate}.evidence.jsonl"
        shown = {name: one for name, one in found.shown.items() if name != "head"}
        both = json.dumps({"signed": asdict(found.kept), "shown": shown}).encode()[:-1]
        if not (file.exists() and both in file.read_bytes()):
            head = json.dumps(found.shown.get("head")).encode()
            write_durably(file, both + b', "head": ' + head + b"}\n", "ab")
        return file


def write_durably(file: Path, content: bytes, mode: str) -> None:
    with file.open(mode) as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())


def sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def signature_of(head: WitnessedHead, key: str) -> str:
    signed = Account.unsafe_sign_hash(head.digest(), key)
    return "0x" + str(signed.signature.hex()).removeprefix("0x")


def new_heads(record: RecordFile, anchor: str, journal: Journal) -> list[WitnessedHead]:
    """What may be signed now. Errors: ContradictionError; UncheckedError for a state that is of
    another contract, which is not the service's doing.
    """
    first = record.first or {}
    if any(head.anchor != anchor.lower() for head in journal.known.values()):
        raise UncheckedError(
            journal.mandate, "what was signed is of another anchors' contract; name another --state"
        )
    hashes = {row.seq: row.row_hash for row in record.rows} | {0: str(first["genesis_hash"])}
    newest = max(journal.known.values(), key=lambda head: head.seq, default=None)
    if newest is not None and hashes.get(newest.seq) != newest.row_hash:
        there = hashes.get(newest.seq)
        shown = {"seq": newest.seq, "row_hash": there, "head": record.head}
        raise ContradictionError(newest, shown, is_older=there is None)
    found, last = [], max(journal.signed, default=-1)
    for line in record.anchors:
        head = WitnessedHead(
            anchor=anchor.lower(),
            chain_id=int(first["chain_id"]),
            mandate=journal.mandate,
            epoch=line.post.epoch,
            root=line.post.root,
            seq=line.seq,
            row_hash=line.row_hash,
        )
        known = journal.known.get(head.epoch)
        is_less = newest is not None and head.epoch > newest.epoch and head.seq < newest.seq
        if (known is not None and known != head) or is_less:
            raise ContradictionError(known or newest or head, line.to_json(), is_older=False)
        found += [head] if head.epoch > last else []
    return found


def checked_heads(
    file: Path, journal: Journal, anchor: str, rpcs: Sequence[Nodes]
) -> list[WitnessedHead]:
    """What may be signed now. A record that contradicts what was signed is that first of all.

    Errors: ContradictionError, UncheckedError.
    """
    report, mandate = Report(), journal.mandate
    with file.open("rb") as lines:
        record = read_record(lines_of(lines), report)
    first = record.first
    if first is None or first["mandate_id"] != mandate:
        raise UncheckedError(mandate, "the record is not of this mandate")
    _require_none(report.findings, report, mandate)  # cut off on its way: nobody's contradiction
    heads = new_heads(record, anchor, journal)
    for rpc in rpcs:
        if int(rpc.call("eth_chainId"), 16) != first["chain_id"]:
            raise UncheckedError(mandate, "the record is of another chain than the node's")
    node = Node(rpcs, str(first["factory"]), lambda part, done, of: None, report, MOST_CALLS)
    check_anchors(record, node, anchor, report)
    bad = [one for one in report.findings if one.name not in OF_TIME]
    _require_none(bad, report, mandate)
    return heads


def _require_none(bad: Sequence[Finding], report: Report, mandate: str) -> None:
    """Errors: UncheckedError that names the first few."""
    if bad or report.unchecked:
        said = [f"{one.name} {one.text}" for one in bad[:3]] + report.unchecked[:3]
        raise UncheckedError(mandate, "; ".join(said))


def fetch(service: str, mandate: str, token: str, to: Path) -> Path:
    """Bounded in bytes and in time, headers too; redirects are not followed.

    Errors: UncheckedError.
    """
    url = f"{service.rstrip('/')}/mandate-wallet/mandates/{mandate}/record"
    headers = ACCEPTED | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        asyncio.run(_fetch(url, headers, mandate, to))
    except (TimeoutError, httpx.TimeoutException) as error:
        raise UncheckedError(
            mandate, f"the service answers too slowly: {type(error).__name__}"
        ) from error
    except httpx.HTTPError as error:
        raise UncheckedError(mandate, f"the service: {type(error).__name__}") from error
    return to


async def _fetch(url: str, headers: Mapping[str, str], mandate: str, to: Path) -> None:
    size = 0
    async with (
        asyncio.timeout(FETCH_S),
        httpx.AsyncClient(timeout=ANSWER_S, trust_env=False) as client,
        client.stream("GET", url, headers=headers) as answer,
    ):
        _require_plain(answer, mandate)
        with to.open("wb") as out:
            async for chunk in answer.aiter_bytes():
                size += len(chunk)
                if size > MOST_BYTES:
                    raise UncheckedError(mandate, "the record is too large")
                out.write(chunk)


def _require_plain(answer: httpx.Response, mandate: str) -> None:
    """Errors: UncheckedError."""
    if answer.status_code != httpx.codes.OK:
        raise UncheckedError(mandate, f"the service answers {answer.status_code}")
    if answer.headers.get("Content-Encoding", "identity").strip().lower() not in ENCODINGS:
        raise UncheckedError(mandate, "the service answers in an encoding that was not asked for")


@dataclass(frozen=True)
class Witness:
    """`source`: the service's URL, or a folder with <mandate>.ndjson."""

    rpcs: Sequence[Nodes]
    anchor: str
    source: str
    token: str
    key: str
    folder: Path

    def round(self, mandates: Sequence[str]) -> int:
        """The exit code."""
        return min((self._one(mandate) for mandate in mandates), key=(1, 2, 0).index)

    def _one(self, mandate: str) -> int:
        journal = Journal(self.folder, mandate)
        try:
            journal.load()
            heads = checked_heads(self._record(mandate), journal, self.anchor, self.rpcs)
            if heads:
                journal.sign(heads, self.key)
        except ContradictionError as found:
            if found.is_older and not self._is_service:
                say("unchecked", mandate, f"{found}; the file is older than what was signed")
                return 2
            say("contradiction", mandate, str(found), evidence=_kept(journal, found))
            return 1
        # one mandate's trouble, whatever it is, ends no other's round
        except Exception as error:
            say("unchecked", mandate, f"{type(error).__name__}: {error}"[:2_000])
            return 2
        say("cosigned", mandate, f"{len(heads)} new", newest=max(journal.signed, default=None))
        return 0

    @property
    def _is_service(self) -> bool:
        return self.source.startswith(("http://", "https://"))

    def _record(self, mandate: str) -> Path:
        if not self._is_service:
            return Path(self.source) / f"{mandate}.ndjson"
        return fetch(self.source, mandate, self.token, self.folder / f"{mandate}.fetched")


def _kept(journal: Journal, found: ContradictionError) -> str:
    """Where the evidence is; where it cannot be written, the log has it."""
    try:
        return str(journal.keep(found))
    except OSError as error:
        both = {"signed": asdict(found.kept), "shown": found.shown}
        return f"not written, {type(error).__name__}: {json.dumps(both)}"


def say(event: str, mandate: str, text: str, **more: object) -> None:
    click.echo(json.dumps({"event": event, "mandate": mandate, "text": text, **more}))


def lock(folder: Path) -> int:
    """Two witnesses with one state could sign twice."""
    folder.mkdir(parents=True, exist_ok=True)
    opened = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise NotStartedError(f"another witness works in {folder}") from None
    return opened


class NotStartedError(click.ClickException):
    """Exit code 1 is a contradiction's alone."""

    exit_code = 2


def text_of(file: Path, option: str) -> str:
    """Errors: NotStartedError."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise NotStartedError(f"{option}: {file} cannot be read ({type(error).__name__})") from None


def key_of(file: Path) -> str:
    """Errors: NotStartedError, which shows nothing of the key."""
    key = text_of(file, "--key-file")
    try:
        Account.from_key(key)
    except (ValueError, ValidationError):
        raise NotStartedError("--key-file: write the key as 0x and 64 hex digits") from None
    return key


@click.command()
@click.option("--rpc", multiple=True, required=True, help="your node of the chain; again for more")
@click.option("--anchor", required=True, help="RecordAnchor's address, as it was published")
@click.option(
    "--service", required=True, help="the service's URL, or a folder with <mandate>.ndjson"
)
@click.option("--mandate", multiple=True, required=True, help="a mandate's id; again for more")
@click.option(
    "--key-file",
    type=click.Path(path_type=Path, exists=True),
    required=True,
    help="a file with the private key that cosigns, 0x and 64 hex digits",
)
@click.option("--token-file", type=click.Path(path_type=Path, exists=True), help="a reader's token")
@click.option("--state", type=click.Path(path_type=Path), required=True, help="what was signed")
@click.option("--every", type=click.FloatRange(min=1), help="seconds between rounds")
@click.option("--once", is_flag=True, help="one round (the default without --every)")
def watch(
    rpc: tuple[str, ...],
    anchor: str,
    service: str,
    mandate: tuple[str, ...],
    key_file: Path,
    token_file: Path | None,
    state: Path,
    every: float | None,
    once: bool,
) -> None:
    """Watch mandates, and cosign their anchored heads (docs/witness.md).

    With --every it goes on until it is ended, also after a contradiction.

    Exit code 0: all was checked; 1: the service contradicts what was signed before, and the state
    has both as evidence; 2: something could not be checked, and was not signed.
    """
    address = named_address(anchor, "--anchor")
    if odd := [one for one in mandate if MANDATE_FORM.fullmatch(one) is None]:
        raise click.BadParameter(f"no mandate's id: {odd[0]!r}", param_hint="--mandate")
    if every is not None and not math.isfinite(every):
        raise click.BadParameter("write a number of seconds", param_hint="--every")
    token = "" if token_file is None else text_of(token_file, "--token-file")
    key = key_of(key_file)
    click.echo(f"cosigning as {Account.from_key(key).address}", err=True)
    try:
        held = lock(state)
    except OSError as error:
        why = f"--state: {state} cannot be written ({type(error).__name__})"
        raise NotStartedError(why) from None
    rpcs = [Nodes([url]) for url in rpc]
    witness = Witness(rpcs, address, service, token, key, state)
    try:
        while True:
            code = witness.round(mandate)
            if every is None or once:
                raise SystemExit(code)
            time.sleep(every)
    finally:
        for one in rpcs:
            one.close()
        os.close(held)


if __name__ == "__main__":
    watch()
