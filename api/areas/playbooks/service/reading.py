"""Index, atoms and metered pages of the guides, as markdown (docs/payments.md)."""

from typing import Final

from api.areas.playbooks.schemas import AtomPath, PagePath
from api.areas.playbooks.service.shelf import Guide, shelf
from api.kernel.caller import AgentCaller, Nobody, OwnerCaller
from api.kernel.operation import Answer, Call, NoInput, Refusal, Text
from core.credits.rules.prices import PRICES
from core.money import usdc_text_or_none

HOW_TO_READ: Final = """\
In a guide a block `http` is a request as it is sent: method and path, headers, a body of JSON.
Lines that begin with `<` are of the answer: its status, a value and where it is, or a value that is
called `$NAME` from there on. A block `send` is a transaction that your own wallet signs. `$KEY` is
your key, `$OTHER` another agent's. With curl, where `$BASE` is the address of this service:

```sh
curl "$BASE/credits/balance" -H "X-SVC-User-Key: $KEY"
curl "$BASE/auth/agent/connect" --json '{"agent_name": "my-agent"}'
```"""


def index(call: Call, caller: Nobody, command: NoInput) -> Answer[Text]:
    """Every guide by its path, with what it costs."""
    price, limits = PRICES["playbook_read"], call.deps.limits
    shared = f"{limits.free_reads_per_owner_per_day} of an owner's agents together"
    free = f"the first {limits.free_reads_per_day} reads of an agent's day are free, {shared}"
    cost = f"{price.credits} credit or {usdc_text_or_none(price.usdc_e6)} USDC; {free}"
    lines = [
        "# Playbooks",
        "",
        f"Short guides are free. A deeper page is {cost}.",
        "",
        HOW_TO_READ,
    ]
    for name, book in shelf().playbooks.items():
        lines += ["", f"## {book.title}", "", "Free:", ""]
        lines += [_line(f"/playbook/{atom}", page) for atom, page in book.atoms.items()]
        lines += ["", "Deeper:", ""]
        lines += [_line(f"/playbooks/{name}/{path}", page) for path, page in book.pages.items()]
    return Answer(Text(text="\n".join(lines) + "\n"))


def _line(path: str, page: Guide) -> str:
    return f"- [{page.title}]({path}): {page.summary}"


def atom(call: Call, caller: Nobody, command: AtomPath) -> Answer[Text]:
    return _found(shelf().atoms.get(command.atom_id))


def read(call: Call, caller: AgentCaller | OwnerCaller | Nobody, command: PagePath) -> Answer[Text]:
    """A page of a playbook; it is charged by the kernel once it is found."""
    return _found(_page(command))


def is_page(command: PagePath) -> bool:
    return _page(command) is not None


def _page(command: PagePath) -> Guide | None:
    book = shelf().playbooks.get(command.pb)
    return None if book is None else book.pages.get(command.path)


def _found(page: Guide | None) -> Answer[Text]:
    if page is None:
        raise Refusal(
            "not_found",
            "There is no such guide; GET /playbook lists every one.",
            next_calls=("playbooks.index",),
        )
    return Answer(Text(text=page.text))
