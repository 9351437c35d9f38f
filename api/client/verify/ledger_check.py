"""A ledger of the service, checked from its lines alone (docs/verify.md#ledgers-of-the-service).

    line --form, canonical bytes--> row --number, hash--> chain --what it says, after what--> head

Laws
- Nothing is asked of the service. What no file can show, that a row was there at its time, only a
  head that somebody kept shows.
- The first difference of the chain ends the check: what follows a broken link proves nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any, Final, Generic, TypeAlias, TypeVar

import msgspec

from core.canonical import canonical_json, chain_hash
from core.errors import InvalidParameterError

VERSION: Final = 1
MOST_LINE_BYTES: Final = 1_000_000

KeptHead: TypeAlias = tuple[int, bytes]
"""A row's number and its hash, written down earlier."""
Figures: TypeAlias = dict[str, int]
"""What the rows come to, by name."""


class LedgerBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What every row's body has; each ledger adds its own fields."""

    seq: int
    at: Annotated[datetime, msgspec.Meta(tz=True)]


BodyT = TypeVar("BodyT", bound=LedgerBody)


class LedgerDiffersError(Exception):
    """`name`: of what differs, as in docs/verify.md. `seq`: of its row; None: of none."""

    def __init__(self, name: str, seq: int | None, text: str) -> None:
        super().__init__(text)
        self.name, self.seq = name, seq


@dataclass(frozen=True, slots=True)
class LedgerForm(Generic[BodyT]):
    """`ledger`: the name that its first row is chained to. `name` begins the names of differences."""

    ledger: str
    name: str
    body: type[BodyT]

    @property
    def genesis(self) -> bytes:
        return sha256(f"{self.ledger}:v1:1".encode()).digest()

    def differs(self, what: str, seq: int | None, text: str) -> LedgerDiffersError:
        return LedgerDiffersError(f"{self.name}.{what}", seq, text)


@dataclass(slots=True)
class LedgerChecked:
    """`rows`: proven so far. `is_whole`: up to the newest head that the file has."""

    row_hash: bytes
    rows: int = 0
    is_whole: bool = False
    head_seq: int = 0


def check_ledger(
    form: LedgerForm[BodyT],
    lines: Iterable[bytes],
    kept: Sequence[KeptHead],
    follow: Callable[[BodyT, int], None],
) -> LedgerChecked:
    """`lines`: of one answer, or of several, each behind the one before. `follow` is given each body
    that is on the chain, and how many rows were before it.

    Errors: LedgerDiffersError.
    """
    check = _LedgerCheck(form, LedgerChecked(form.genesis), follow)
    wanted = dict[int, set[bytes]]()
    for seq, row_hash in kept:
        wanted.setdefault(seq, set()).add(row_hash)
    check.require_kept(wanted)
    for line in lines:
        check.take(line)
        check.require_kept(wanted)
    done = check.done
    missing = [seq for seq in wanted if seq > done.rows]
    if done.is_whole and missing:
        text = f"a head of row {min(missing)} was kept, and the ledger ends at {done.rows}"
        raise form.differs("shorter", None, text)
    done.is_whole &= not missing
    return done


@dataclass(slots=True)
class _LedgerCheck(Generic[BodyT]):
    form: LedgerForm[BodyT]
    done: LedgerChecked
    follow: Callable[[BodyT, int], None]
    has_begun: bool = False
    last_at: datetime | None = None

    def take(self, line: bytes) -> None:
        found = self._read(line)
        if "format" in found:
            self._begin(found)
        elif not self.has_begun:
            raise self.form.differs("form", None, "the file does not say what it is")
        elif "head" in found:
            self._end(found["head"])
        else:
            self._row(found)

    def require_kept(self, wanted: Mapping[int, set[bytes]]) -> None:
        if wanted.get(self.done.rows, {self.done.row_hash}) != {self.done.row_hash}:
            text = "a head of this row that was kept has another hash: the past was rewritten"
            raise self.form.differs("rewritten", self.done.rows, text)

    def _read(self, line: bytes) -> Mapping[str, Any]:
        content, seq = line.rstrip(b"\n"), self.done.rows + 1
        if len(content) > MOST_LINE_BYTES:
            raise self.form.differs("form", seq, "a line is too long")
        try:
            found = msgspec.json.decode(content)
            is_same = isinstance(found, dict) and canonical_json(found) == content
        except (msgspec.DecodeError, InvalidParameterError, RecursionError):
            is_same = False
        if not is_same:
            raise self.form.differs("form", seq, "a line is not canonical JSON")
        return found  # type: ignore[no-any-return]  # an object, as was seen

    def _begin(self, found: Mapping[str, Any]) -> None:
        form = self.form
        expected = {
            "format": form.name,
            "version": VERSION,
            "genesis_hash": form.genesis.hex(),
        }
        if {name: found.get(name) for name in expected} != expected:
            text = f"this is no ledger of {form.name}, version {VERSION}"
            raise form.differs("form", None, text)
        if found.get("after") != self.done.rows:
            text = (
                f"an answer begins behind row {found.get('after')}, the file has {self.done.rows}"
            )
            raise form.differs("gap", None, text)
        self.has_begun = True

    def _end(self, head: object) -> None:
        done = self.done
        seq = head.get("seq") if isinstance(head, dict) else None
        if not isinstance(seq, int) or seq < done.rows or seq < done.head_seq:
            raise self.form.differs("head", None, "the head is before the last row")
        assert isinstance(head, dict), "it has a number"
        done.head_seq, done.is_whole = seq, seq == done.rows
        if done.is_whole and head.get("row_hash") != done.row_hash.hex():
            raise self.form.differs("head", seq, "the head has another hash than the row")

    def _row(self, found: Mapping[str, Any]) -> None:
        form, done = self.form, self.done
        seq = done.rows + 1
        try:
            body = msgspec.convert(found.get("body"), form.body)
        except msgspec.ValidationError as error:
            raise form.differs("form", seq, f"a row has another form: {error}") from error
        if found.keys() != {"body", "prev_hash", "row_hash"}:
            raise form.differs("form", seq, "a row has another form")
        if body.seq != seq:
            raise form.differs("gap", seq, f"row {body.seq} is where {seq} belongs")
        row_hash = chain_hash(done.row_hash, canonical_json(found["body"]))
        if found["prev_hash"] != done.row_hash.hex() or found["row_hash"] != row_hash.hex():
            raise form.differs("chain", seq, "the hash is not that of the row")
        if self.last_at is not None and body.at < self.last_at:
            raise form.differs("time", seq, "it is older than the row before it")
        self.last_at = body.at
        self.follow(body, done.rows)
        done.rows, done.row_hash, done.is_whole = seq, row_hash, False
