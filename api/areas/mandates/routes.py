"""Binds the rows mandates.* of the catalogue to their commands and services."""

from api.areas.mandates import schemas
from api.areas.mandates.service import (
    acting,
    alerts,
    door,
    drafts,
    owner_calls,
    policy,
    reading,
    reports,
    signing,
    statements,
    venues,
)
from api.kernel.operation import NoInput, Operation

OPERATIONS = (
    Operation("mandates.door", NoInput, door.door),
    Operation("mandates.me", NoInput, reading.me),
    Operation("mandates.offers", schemas.OffersQuery, reading.offers, refuses=("not_owner",)),
    Operation("mandates.policy", schemas.AgentPath, policy.read, refuses=("not_owner",)),
    Operation("mandates.policy_set", schemas.ReplacePolicy, policy.replace, refuses=("not_owner",)),
    Operation("mandates.list", schemas.ListQuery, reading.list_own),
    Operation("mandates.board", schemas.BoardQuery, reading.board),
    Operation("mandates.create", schemas.CreateDraft, drafts.create, refuses=("not_found", "agent_owner_mismatch", "agent_not_accepting")),
    Operation("mandates.propose", schemas.Propose, drafts.propose, refuses=("not_owner", "agent_owner_mismatch")),
    Operation("mandates.update", schemas.UpdateDraft, drafts.update, refuses=("wrong_status",)),
    Operation(
        "mandates.assign", schemas.AssignAgent, drafts.assign, refuses=("wrong_status", "agent_owner_mismatch", "agent_not_accepting")
    ),
    Operation("mandates.terms", schemas.MandatePath, signing.terms, refuses=("wrong_status",)),
    Operation("mandates.sign", schemas.SignTerms, signing.sign, refuses=("wrong_status", "signature_invalid")),
    Operation("mandates.cancel", schemas.MandatePath, signing.cancel, refuses=("wrong_status",)),
    Operation("mandates.deploy_call", schemas.DeployQuery, owner_calls.deploy_call, refuses=("wrong_status",)),
    Operation("mandates.deposit_call", schemas.DepositQuery, owner_calls.deposit_call, refuses=("wrong_status",)),
    Operation("mandates.withdraw_call", schemas.WithdrawQuery, owner_calls.withdraw_call, refuses=("wrong_status",)),
    Operation("mandates.set_agent_call", schemas.SetAgentQuery, owner_calls.set_agent_call, refuses=("wrong_status",)),
    Operation("mandates.stop_call", schemas.MandatePath, owner_calls.stop_call),
    Operation(
        "mandates.accept",
        schemas.MandatePath,
        acting.accept,
        refuses=("wrong_status", "agent_not_designated", "agent_owner_mismatch", "agent_not_accepting"),
    ),
    Operation("mandates.read", schemas.MandatePath, reading.read),
    Operation("mandates.steps", schemas.PageQuery, reading.steps),
    Operation("mandates.ledger", schemas.PageQuery, reading.ledger),
    Operation("mandates.record", schemas.MandatePath, reading.record),
    Operation("mandates.approvals", schemas.MandatePath, reading.approvals),
    Operation("mandates.report_event", schemas.ReportEvent, reports.event, refuses=("wrong_status",)),
    Operation("mandates.report_refusal", schemas.ReportRefusal, reports.refusal, refuses=("wrong_status",)),
    Operation(
        "mandates.execute_call",
        schemas.ExecuteCall,
        acting.execute_call,
        refuses=("wrong_status", "mandate_budget_exceeded", "spend_limit_reached", "server_guard"),
    ),
    Operation("mandates.unwind_call", schemas.UnwindCall, venues.unwind_call, refuses=("wrong_status",)),
    Operation("mandates.stop", schemas.MandatePath, acting.stop, refuses=("wrong_status",)),
    Operation("mandates.close_all_plan", schemas.MandatePath, statements.close_plan, refuses=("wrong_status",)),
    Operation("mandates.statement", schemas.WeekQuery, statements.statement),
    Operation("mandates.alerts", schemas.AlertsQuery, alerts.alerts),
    Operation("mandates.statement_all", schemas.AllWeeksQuery, statements.statement_all),
)
