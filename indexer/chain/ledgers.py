"""Rows of mandates' ledgers, with the alerts to their owners."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from core.alerts import queries as alerts
from core.db.engine import WriteSession
from core.keeper.intents import forget_ended
from core.keeper.views import vaults_of
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.queries import owners_of, public_ids_of
from core.mandate.rules.rows import NewRow
from core.money import usdc_text


def append(session: WriteSession, ledgers: Mapping[int, Sequence[NewRow]], now: datetime) -> int:
    """How many rows were new. Alerts of the factory's events go with their notes."""
    grown = mandate_ledger.append_ledgers(session, ledgers, now)
    # what came home by an unwind or an adapter, perhaps after an end: the keeper marks it
    returned = {
        (row.chain_id, one)
        for one, rows in ledgers.items()
        for row in rows
        if row.chain_id is not None and ("unwound" in row.payload or "proceeds" in row.payload)
    }
    for chain_id in {chain_id for chain_id, _ in returned}:
        mandates = [one for at, one in returned if at == chain_id]
        forget_ended(session, chain_id, vaults_of(session, chain_id, mandates))
    public_ids = public_ids_of(session, {went.row.mandate_id for went in grown.went_out})
    for went in grown.went_out:
        public_id = public_ids[went.row.mandate_id]
        # an agent could fill the list otherwise
        if alerts.money_at_cost_stands(session, public_id, went.row.occurred_at):
            continue
        # the vault's Executed by which money went out where no adapter values it
        executed = went.row.payload["executed"]
        args = {
            "target": executed["target"],
            "selector": executed["selector"],
            "at_cost_usdc": usdc_text(went.out_usdc_e6),
        }
        payload = {"event": "Executed", "args": args, "mandate_id": public_id}
        owners = owners_of(session, [went.row.mandate_id])
        alerts.add(session, alerts.MONEY_AT_COST, owners, went.row, payload, now)
    return grown.rows
