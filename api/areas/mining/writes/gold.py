"""Gold: values that are known to be wrong, which show who re-observes and who agrees with
everything (docs/mining.md#gold). Nothing here commits.

Laws
- Until its review ends, whoever is not an operator sees of a gold entry what is seen of any other:
  it is submitted by the same code, and its task is one of those of submissions.
- Its review ends as `value_wrong`, once PROOFS proofs are in or GOLD_OPEN_FOR after it was
  submitted.
"""

from datetime import datetime, timedelta
from typing import Final

from api.areas.mining.rules.registry import SentEntry
from api.areas.mining.tables import MiningGold
from api.areas.mining.writes import submissions
from api.areas.mining.writes.submissions import MinedSubmission, Submitter
from core.db.engine import WriteSession
from core.errors import InvalidParameterError
from core.identity import queries as identity
from core.identity.operators import operator_name
from core.listings.queries import find_listing
from core.listings.rules import exchange_of, symbol_in_body

PROOFS: Final = 5
GOLD_OPEN_FOR: Final = timedelta(hours=24)


def submit(
    session: WriteSession,
    agent_id: int,
    exchange: str,
    symbol: str,
    field_name: str,
    field_value: str,
    evidence_url: str,
    operator_id: int,
    now: datetime,
) -> MinedSubmission:
    """Submit a value that is wrong for an agent of the house; that it is one, the caller has
    checked.

    Errors: InvalidParameterError, DuplicateEntryError.
    """
    pair = symbol_in_body("symbol", symbol)
    listing = find_listing(session, exchange_of("exchange", exchange).id, pair)
    if listing is None:
        raise InvalidParameterError("symbol", f"{exchange} lists no {pair.in_body}; name a listing")
    agent = identity.find_agent(session, agent_id)
    if agent is None:
        raise InvalidParameterError("agent_id", "name an agent of the house")
    submitter = Submitter(agent.id, agent.owner_id, agent.registered_from)
    entry = SentEntry(field_name, field_value, evidence_url)
    made = submissions.submit(session, submitter, listing.id, [entry], None, now)
    gold = MiningGold(
        entry_id=made.entries[0].entry_id,
        made_by=operator_id,
        operator=operator_name(session, operator_id),
        rejects_at=now + GOLD_OPEN_FOR,
        is_open=True,
    )
    session.add(gold)
    session.flush()
    return made
