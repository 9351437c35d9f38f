"""The list of slow jobs. Another area adds its job here, one line, and whatever it needs as a field of Place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlalchemy.orm import Session

from core.chain.signer import Signer
from core.db.engine import Database
from core.mandate.chain.reader import VaultReader
from keeper import funds, prune, settlements
from keeper.funds import Funds
from keeper.prune import Prune
from keeper.schedule import Job
from keeper.settlements import Settlements
from keeper.state import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What jobs work with. `fence`: of the leader's epoch, to be called first in each writing transaction."""

    database: Database
    reader: VaultReader
    signers: Mapping[Role, Signer]
    fence: Callable[[Session], None]
    max_fee_wei: int
    gas_a_day_wei: int
    mark_retention_days: int
    intent_retention_days: int


def jobs_of(place: Place) -> tuple[Job, ...]:
    """Every slow job of the product. Names are unique: the runs' rows are found by them."""
    pruning = Prune(place.database, place.fence, place.mark_retention_days, place.intent_retention_days)
    return (
        Job(prune.NAME, prune.EVERY_S, pruning.run),
        Job(funds.NAME, funds.EVERY_S, Funds(place.reader, place.database, place.signers, place.max_fee_wei, place.gas_a_day_wei).run),
        Job(settlements.NAME, settlements.EVERY_S, Settlements(place.reader, place.database, place.fence).run),
    )
