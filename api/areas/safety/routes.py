"""Binds the rows safety.* of the catalogue to their commands and services."""

from api.areas.safety import schemas, service
from api.kernel.operation import NoInput, Operation

OPERATIONS = (
    Operation("safety.notices", schemas.PageQuery, service.notices, schemas.Notices),
    Operation("safety.violations", schemas.PageQuery, service.violations, schemas.Violations),
    Operation("safety.board", schemas.PageQuery, service.board, schemas.Board),
    Operation("safety.defense", NoInput, service.defense, schemas.Defense),
    Operation("safety.defense_set", schemas.SetDefense, service.set_defense, schemas.Defense),
    Operation(
        "safety.case_open",
        schemas.OpenCase,
        service.open_case,
        schemas.Violation,
        refuses=(
            "not_found",
            "case_open",
        ),
    ),
    Operation("safety.case_close", schemas.CloseCase, service.close_case, schemas.Violation),
)
