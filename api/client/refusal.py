"""What goes wrong in a call, as exceptions that say what to do."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import httpx

IDEMPOTENCY_HEADER = "Idempotency-Key"


class ClientError(Exception):
    """Base of everything that this client raises about a call."""


class Unreachable(ClientError):
    """No answer came.

    A write may have happened: send it again with `idempotency_key` and it happens once.

    `idempotency_key` None: the call takes none; read what it would have changed before you send it
    again.
    """

    def __init__(self, method: str, path: str, cause: str, idempotency_key: str | None) -> None:
        again = (
            ""
            if idempotency_key is None
            else f"; to send it again safely, pass idempotency_key={idempotency_key!r}"
        )
        super().__init__(f"{method} {path}: no answer ({cause}){again}")
        self.idempotency_key = idempotency_key


class Refused(ClientError):
    """The service refused a call.

    `reason` is the machine's word (None: the service gave none), `detail` one sentence,
    `retry_safe` whether the same call can succeed later unchanged, `who_fixes` agent, caller, owner
    or service, `next` calls that fix it, as they can be made, `retry_at` aware UTC, `remaining` and
    `missing` what the limit leaves and what is lacking, `body` everything that came.
    """

    def __init__(
        self, status: int, body: Mapping[str, Any], idempotency_key: str | None = None
    ) -> None:
        block = _mapping(body.get("service"))
        self.status = status
        self.body = dict(body)
        self.reason: str | None = _text(block.get("reason")) or _text(body.get("error"))
        self.detail = str(body.get("detail", ""))
        self.retry_safe = block.get("retry_safe") is True
        self.who_fixes = _text(block.get("who_fixes"))
        self.next: Sequence[Mapping[str, Any]] = [
            _mapping(one) for one in block.get("next", []) or []
        ]
        self.retry_at = _time(block.get("retry_at"))
        self.remaining: Any = block.get("remaining")
        self.missing: Any = block.get("missing")
        self.idempotency_key = idempotency_key
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = [f"{self.status} {self.reason or 'refused'}: {self.detail}"]
        if self.who_fixes is not None:
            lines.append(
                f"who fixes it: {self.who_fixes}; the same call can succeed later: "
                f"{'yes' if self.retry_safe else 'no'}"
            )
        if self.retry_at is not None:
            lines.append(f"retry at {self.retry_at.isoformat()}")
        if self.remaining is not None:
            lines.append(f"remaining: {json.dumps(self.remaining)}")
        calls = [f"{one.get('method')} {one.get('path')}" for one in self.next]
        return "\n  ".join([*lines, f"next: {', '.join(calls)}"] if calls else lines)

    @property
    def is_payable(self) -> bool:
        """Whether a payment makes this call succeed: the one kind of 402 that offers terms."""
        return self.status == 402 and isinstance(self.body.get("accepts"), list)


class NotPaid(Refused):
    """A payable call that the payer would not pay; `why` says which of its own limits stood in the
    way.
    """

    def __init__(self, refused: Refused, why: str) -> None:
        self.why = why
        super().__init__(refused.status, refused.body, refused.idempotency_key)

    def __str__(self) -> str:
        return f"not paid: {self.why}\n  {super().__str__()}"


def body_of(response: httpx.Response) -> dict[str, Any]:
    """The JSON object of an answer; another kind is {"content_type", "text"}, a PDF
    or zip {"content_type", "content"}, a refusal {"detail"}.
    """
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == "application/json" or media_type.endswith("+json"):
        try:
            found = response.json()
        except ValueError:
            found = None
        if isinstance(found, dict):
            return found
    if not response.is_success:
        return {"detail": f"the answer is not this service's: {response.text[:200]!r}"}
    if media_type in ("application/pdf", "application/zip"):
        return {"content_type": media_type, "content": response.content}
    return {"content_type": media_type, "text": response.text}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _time(value: Any) -> datetime | None:
    try:
        return None if value is None else datetime.fromisoformat(str(value))
    except ValueError:
        return None
