"""The operations of the area board: what every exchange lists, and what is wrong with it."""

from api.areas.board import service
from api.kernel.auth import ANYBODY
from api.kernel.operation import Area, CachePolicy, Read
from api.kernel.tool import Profile, Tool, ToolKind

BOARD_KEPT_S, WARNINGS_KEPT_S = 5, 10

AREA = Area(
    name="board",
    about="The board: every listing with its liquidity grade, and warnings about tokens.",
    operations=(
        Read(
            key="board.rows",
            path="/board",
            auth=ANYBODY,
            summary="List what exchanges trade, by volume, largest first.",
            more="Each row shows the grade with the figures behind it; unknown figures are null.",
            handler=service.rows,
            cache=CachePolicy(BOARD_KEPT_S, keeps=True),
        ),
        Read(
            key="board.warnings",
            path="/board/warnings",
            auth=ANYBODY,
            summary="List open crisis warnings, newest first, and how many outcomes were warned "
            "of in advance.",
            more="Recall (wci_rate) is shown beside precision and the number of warnings issued.",
            handler=service.warnings,
            cache=CachePolicy(WARNINGS_KEPT_S, keeps=True),
            tool=Tool("get_warnings", "List crisis warnings", ToolKind.READ, Profile.CONNECTOR),
        ),
        Read(
            key="board.ledger",
            path="/board/warnings/ledger",
            auth=ANYBODY,
            summary="Download the ledger of warnings as canonical JSON lines with row hashes, to "
            "verify it; at most 5,000 rows.",
            handler=service.ledger,
            media=("application/x-ndjson",),
        ),
        Read(
            key="board.timeline",
            path="/board/token/timeline",
            auth=ANYBODY,
            summary="Read a token's history: warnings, outcomes, transfers, listings.",
            handler=service.timeline,
            refuses=("not_found",),
            cache=CachePolicy(WARNINGS_KEPT_S, keeps=True),
        ),
    ),
    capabilities=("board", "crisis_warnings"),
)
