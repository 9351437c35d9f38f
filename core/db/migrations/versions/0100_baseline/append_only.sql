-- Rows of ledgers and logs are only ever added. The trigger fires once a statement, so that
-- one which would touch no row raises as well, as it would for a role without the grants.
create function refuse_change_of_book() returns trigger
language plpgsql as $$
begin
    raise exception using
        errcode = 'insufficient_privilege',
        message = tg_op || ' on ' || tg_table_name || ' is refused: the table is append-only',
        hint = 'Write a new row instead; in a ledger, through the ledger module of its context.';
end
$$;

do $$
declare
    guarded text;
begin
    foreach guarded in array array[
        'agent_self_version', 'audit_finding', 'audit_resolution', 'credit_entry',
        'defense_change', 'earn_award', 'earn_cancellation', 'earn_feed', 'earn_reversal',
        'fund_application_move', 'fund_creation_move', 'fund_fill', 'fund_paper_mark',
        'fund_paper_trade', 'fund_plan', 'fund_rules', 'fund_signal', 'fund_signal_sale',
        'fund_vault_event', 'gallery_listing', 'gallery_status_event', 'kg_claim_verdict',
        'mandate_event', 'market_notice', 'market_outcome', 'mining_review',
        'mining_submission', 'onchain_day', 'published_day', 'room_entry', 'room_message',
        'room_release', 'subscription_purchase', 'task_proof', 'task_review', 'task_verdict',
        'transfer_entry', 'transfer_event', 'warning_event'
    ] loop
        execute format(
            'create trigger %I before update or delete or truncate on %I '
            'for each statement execute function refuse_change_of_book()',
            guarded || '_is_append_only', guarded
        );
    end loop;
end $$;
