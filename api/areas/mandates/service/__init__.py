"""The services of the mandate wallet, one file a use case; each is load, decide (domain), save.

access      whose mandate it is                policy      agents and their policy
views       how a mandate is shown             limits_now  limits as the ledger has them
drafts      create, update, assign             signing     terms, sign, cancel
owner_calls calls that the owner signs         venues      positions that an adapter reads, unwind-call
acting      accept, execute-call, stop         reports     events and refusals
reading     one mandate, lists, the ledger       statements  statements, close-all plan
door        what a mandate is
"""
