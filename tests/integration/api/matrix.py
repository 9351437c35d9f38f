"""What each credential gets on each route, as the catalogue and docs/rules.md#two-credentials say;
`python -m tests.integration.api.matrix` writes docs/credential-matrix.md. test_credential_matrix.py
holds the service to it.
"""

import re
from enum import Enum
from pathlib import Path

from api.catalogue import catalogue
from api.kernel.credentials import gives_keys
from api.kernel.operation import Family, Operation

PAGE = Path(__file__).resolve().parents[3] / "docs" / "credential-matrix.md"
SERVED = "served"


class Who(Enum):
    """A credential, and the kind of caller that it proves; None: nobody, or nothing valid."""

    NOBODY = ("nothing", None)
    GARBAGE_KEY = ("a made-up key", None)
    GARBAGE_BEARER = ("a made-up bearer", None)
    REVOKED_KEY = ("a revoked key", None)
    EXPIRED_SESSION = ("an expired session", None)
    KEY_AND_GARBAGE = ("the agent's key, a made-up bearer", None)
    NARROWED_KEY = ("a key with no scopes", "key")
    STRANGERS_KEY = ("another agent's key", "key")
    AGENT = ("the agent's key", "key")
    CONNECTS_BEARER = ("connect's bearer", "bearer")
    OPERATOR = ("the operator's key", "operator")
    STRANGER = ("another owner's session", "owner")
    KEY_AND_OWNER = ("another agent's key, the owner's session", "key and owner")
    OWNER = ("the owner's session", "owner")

    @property
    def says(self) -> str:
        return self.value[0]

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset((self.value[1] or "").split(" and ")) - {""}


OF_NOBODY = ("/hive/", "/tasks/", "/fund/")  # whose ids name what everybody may read
OF_ONE_AGENT = "/reserve/buy/"  # what another agent of the same owner does not read either
STRANGERS = (Who.STRANGERS_KEY, Who.STRANGER)


def expected(row: Operation, who: Who) -> str:
    """A reason that keeps the caller out, or `served`: the call reached its service, whatever that
    then says.
    """
    takes = (
        {"none", "key", "owner"}
        if row.auth.name == "optional"
        else set(re.findall(r"none|key|owner|bearer|operator", row.auth.name))
    )
    if who is Who.NOBODY:
        return SERVED if "none" in takes else "auth_required"
    if not who.kinds:
        return "auth_invalid"
    if gives_keys(row) and "operator" in who.kinds:
        return "not_authorized"
    seen = _kind_seen(takes, who)
    return _without(row, takes, who) if seen is None else _of_a_caller(row, who, seen)


def _kind_seen(takes: set[str], who: Who) -> str | None:
    """Of several credentials the route's kind decides, a key before a session
    (docs/rules.md#two-credentials).
    """
    return next(
        (kind for kind in ("key", "owner", "bearer", "operator") if kind in takes & who.kinds), None
    )


def _without(row: Operation, takes: set[str], who: Who) -> str:
    """The caller has valid credentials, but none that the route takes."""
    if "none" in takes:
        return SERVED
    if "operator" in takes:
        return "not_authorized"
    if takes == {"bearer"}:
        return "auth_invalid" if "owner" in who.kinds else "auth_required"
    if "owner" in takes and "bearer" in who.kinds:
        return "auth_invalid"
    is_owners_alone = takes == {"owner"} and row.family is Family.WALLET
    return (
        "scope_denied" if is_owners_alone and who.kinds & {"key", "operator"} else "auth_required"
    )


def _of_a_caller(row: Operation, who: Who, seen: str) -> str:
    if seen == "key" and who is Who.NARROWED_KEY and row.scope is not None:
        return "scope_denied" if row.family is Family.WALLET else "agent_key_scope"
    is_stranger = (
        who in STRANGERS
        or (who is Who.KEY_AND_OWNER and seen == "key")
        or (who is Who.NARROWED_KEY and row.path.startswith(OF_ONE_AGENT))
    )
    if not is_stranger or "{id}" not in row.path or row.path.startswith(OF_NOBODY):
        return SERVED
    if row.key == "mandates.accept":
        return "agent_not_designated"
    of_agents = ("/agents/{id}", "/gallery/{id}")  # which are public
    return "not_owner" if any(path in row.path for path in of_agents) else "not_found"


def page() -> str:
    """Calls with the same answers to every credential are a group: a row of the table, and a list."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for row in catalogue().operations:
        answers = tuple(_cell(row, who) for who in SHOWN)
        groups.setdefault(answers, []).append(f"`{row.method} {row.path}`")
    heads = ["group", *(who.says for who in SHOWN)]
    rows = [f"| {n} | {' | '.join(answers)} |" for n, answers in enumerate(groups, 1)]
    calls = [f"{n}. {', '.join(keys)}" for n, keys in enumerate(groups.values(), 1)]
    table = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *rows]
    return "\n".join([HEAD, *table, "", "## Calls of each group", "", *calls, ""])


def _cell(row: Operation, who: Who) -> str:
    answer = expected(row, who)
    return "·" if answer == SERVED else f"`{answer}`"


SHOWN = [who for who in Who if who.kinds or who is Who.NOBODY]
HEAD = """# Who may make which call

Every route against every credential, written by `python -m tests.integration.api.matrix` and held to the running service by
`tests/integration/api/mandates/test_credential_matrix.py`. A dot: the call reaches its service. The path names a mandate of the owner,
who designated the agent, and the agent itself. A made-up, revoked or expired credential gets `auth_invalid` from every call, also
beside a valid key.
"""

if __name__ == "__main__":
    PAGE.write_text(page())
