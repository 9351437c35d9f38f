"""A wallet operation that does what its `do` says, so that the pipeline is tested apart from any
product rule.

Each call that reaches the service writes one row (a policy change of the agent) first.
"""

import threading
from typing import Literal

from sqlalchemy import func, select

from api.catalogue import areas
from api.kernel.auth import BY_KEY
from api.kernel.caller import AgentCaller
from api.kernel.catalogue import Catalogue
from api.kernel.fields import PublicId, Usdc
from api.kernel.operation import (
    Answer,
    AnswerBody,
    Area,
    Command,
    Family,
    Refusal,
    Write,
    WriteCall,
)
from api.kernel.refusals import REASONS
from api.kernel.tool import Tool
from core.db.engine import Database
from core.errors import InvalidNumberError, OutsideError
from core.identity import policies
from core.identity.tables import AgentPolicyChange

PATH = "/mandate-wallet/mandates/m_aaaaaaaaaa/probe"


class Probe(Command):
    id: PublicId
    do: Literal[
        "answer",
        "flag",
        "refuse",
        "refuse and keep",
        "refuse and write",
        "break a rule",
        "outside",
        "defect",
        "wait",
    ] = "answer"
    amount_usdc: Usdc | None = None
    n: int = 0


class Probed(AnswerBody):
    n: int | None = None
    amount: int | None = None
    violation: bool | None = None


class Gate:
    """Holds a call inside its service until the test opens it."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()

    def wait(self) -> None:
        self.entered.set()
        assert self.opened.wait(10)


def operation(gate: Gate, tool: Tool | None = None) -> Write[AgentCaller, Probe, Probed]:
    def probe(call: WriteCall, caller: AgentCaller, command: Probe) -> Answer[Probed]:
        policies.log_change(
            call.db, caller.account_id, {"n": {"from": None, "to": command.n}}, call.now
        )
        match command.do:
            case "flag":
                return Answer(Probed(violation=True), 202)
            case "refuse":
                raise Refusal("wrong_status", "It has ended.")
            case "refuse and keep":
                raise Refusal(
                    "wrong_status",
                    "It has ended.",
                    extra={"recorded": True},
                    keeps_write=True,
                    keeps_key=True,
                )
            case "refuse and write":
                raise Refusal("wrong_status", "It has ended.", keeps_write=True)
            case "break a rule":
                raise InvalidNumberError("amount_usdc", "0", "write an amount above 0")
            case "outside":
                raise OutsideError("the node is gone")
            case "defect":
                raise ZeroDivisionError
            case "wait":
                gate.wait()
        return Answer(Probed(n=command.n, amount=command.amount_usdc))

    return Write(
        key="probe.write",
        path="/mandate-wallet/mandates/{id}/probe",
        auth=BY_KEY,
        summary="Do as told.",
        family=Family.WALLET,
        scope="tx",
        handler=probe,
        refuses=("wrong_status",),
        idempotent=True,
        tool=tool,
        statuses=(200, 202),
    )


def catalogue(gate: Gate, tool: Tool | None = None) -> Catalogue:
    """The product's areas, and the probe beside them."""
    area = Area(name="probe", about="Tests of the pipeline.", operations=(operation(gate, tool),))
    return Catalogue((*areas(), area), REASONS)


def writes(database: Database) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(AgentPolicyChange)) or 0
