"""What agents pledge to causes."""

from api.areas.pledges import queries as pledges
from api.areas.pledges.queries import PledgeRow
from api.areas.pledges.rules import require_amount
from api.areas.pledges.schemas import MakePledge, Pledged, PledgePath, Pledges

from api.kernel.caller import AgentCaller, Nobody
from api.kernel.operation import Answer, Call, NoInput, ReadCall, Refusal, WriteCall
from core.money import usdc_text
from core.times import instant_text

SHOWN = 50


def make(call: WriteCall, caller: AgentCaller, command: MakePledge) -> Answer[Pledged]:
    require_amount(command.amount_usdc)
    return Answer(
        _shown(
            pledges.add(call.db, caller.account_id, command.cause, command.amount_usdc, call.now)
        ),
        status=201,
    )


def own(call: ReadCall, caller: AgentCaller, command: NoInput) -> Answer[Pledges]:
    return Answer(
        Pledges(pledges=[_shown(row) for row in pledges.newest(call.db, caller.account_id, SHOWN)])
    )


def read(call: ReadCall, caller: AgentCaller, command: PledgePath) -> Answer[Pledged]:
    return Answer(_shown(_found(call, caller, command)))


def withdraw(call: WriteCall, caller: AgentCaller, command: PledgePath) -> Answer[Pledged]:
    if not pledges.withdraw(call.db, _found(call, caller, command).id):
        raise Refusal("pledge_ended", f"Pledge {command.id} is not open any more.")
    return Answer(_shown(_found(call, caller, command)))


def board(call: ReadCall, caller: Nobody, command: NoInput) -> Answer[Pledges]:
    return Answer(Pledges(pledges=[_shown(row) for row in pledges.newest(call.db, None, SHOWN)]))


def _found(call: Call, caller: AgentCaller, command: PledgePath) -> PledgeRow:
    row = pledges.find(call.db, caller.account_id, command.id)
    if row is None:
        raise Refusal("not_found", f"You have no pledge {command.id}.", next_calls=("pledges.own",))
    return row


def _shown(row: PledgeRow) -> Pledged:
    made_at = instant_text(row.made_at)
    return Pledged(
        id=row.id,
        cause=row.cause,
        amount_usdc=usdc_text(row.amount_usdc_e6),
        state=row.state.value,
        made_at=made_at,
    )
