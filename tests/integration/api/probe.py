"""A wallet operation that does what its `do` says, so that the pipeline is tested apart from any product rule.

Each call that reaches the service writes one row (a policy change of the agent) first.
"""

import threading
from typing import Literal

from sqlalchemy import func, select

from api.catalog import Auth, Family, Row
from api.kernel.caller import AgentCaller
from api.kernel.fields import PublicId, Usdc
from api.kernel.operation import Answer, Call, Command, Operation, Refusal
from core.db.engine import Database
from core.errors import InvalidNumberError, OutsideError
from core.identity import policies
from core.identity.tables import AgentPolicyChange

PATH = "/mandate-wallet/mandates/m_aaaaaaaaaa/probe"
ROW = Row(
    key="probe.write",
    method="POST",
    path="/mandate-wallet/mandates/{id}/probe",
    auth=Auth.KEY,
    section="test",
    summary="Do as told.",
    family=Family.WALLET,
    scope="tx",
    idempotent=True,
    also=(202,),
)


class Probe(Command):
    id: PublicId
    do: Literal["answer", "flag", "refuse", "refuse and keep", "break a rule", "outside", "defect", "wait"] = "answer"
    amount_usdc: Usdc | None = None
    n: int = 0


class Gate:
    """Holds a call inside its service until the test opens it."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()

    def wait(self) -> None:
        self.entered.set()
        assert self.opened.wait(10)


def operation(gate: Gate) -> Operation:
    def probe(call: Call, caller: AgentCaller, command: Probe) -> Answer:
        policies.log_change(call.db, caller.account_id, {"n": {"from": None, "to": command.n}}, call.now)
        match command.do:
            case "flag":
                return Answer({"violation": True}, 202)
            case "refuse":
                raise Refusal("wrong_status", "It has ended.")
            case "refuse and keep":
                raise Refusal("wrong_status", "It has ended.", extra={"recorded": True}, keeps_write=True)
            case "break a rule":
                raise InvalidNumberError("amount_usdc", "0", "write an amount above 0")
            case "outside":
                raise OutsideError("the node is gone")
            case "defect":
                raise ZeroDivisionError
            case "wait":
                gate.wait()
        return Answer({"n": command.n, "amount": command.amount_usdc})

    return Operation("probe.write", Probe, probe, refuses=("wrong_status",))


def writes(database: Database) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(AgentPolicyChange)) or 0
