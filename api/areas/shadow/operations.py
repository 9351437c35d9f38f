"""The operations of the area shadow: the paper fund over gaps between exchanges, and insights."""

from api.areas.shadow import service
from api.kernel.auth import ANYBODY
from api.kernel.operation import Area, CachePolicy, Read

KEPT_S = 30

AREA = Area(
    name="shadow",
    about="The shadow fund, which holds no money, and insights into exchanges.",
    operations=(
        Read(
            key="shadow.fund",
            path="/arb/shadow/fund",
            auth=ANYBODY,
            summary="Read the distribution of the paper fund's trade results, overall and by venue.",
            more="Every actionable gap is traded on paper against recorded samples; no real "
            "money is involved.",
            handler=service.fund,
            cache=CachePolicy(KEPT_S, keeps=True),
        ),
        Read(
            key="shadow.quartermaster",
            path="/arb/shadow/quartermaster",
            auth=ANYBODY,
            summary="Read where the paper capital is and where it should be: bands, moves, "
            "hedges, rates.",
            handler=service.bands,
            cache=CachePolicy(KEPT_S, keeps=True),
        ),
        Read(
            key="shadow.attribution",
            path="/arb/shadow/attribution",
            auth=ANYBODY,
            summary="Break paper results down by what was known at entry; the slices sum to the "
            "whole.",
            handler=service.attribution,
            cache=CachePolicy(KEPT_S, keeps=True),
        ),
        Read(
            key="shadow.insights",
            path="/arb/insights",
            auth=ANYBODY,
            summary="Read insights from two detectors: exchanges being drained, and market makers "
            "arriving or leaving.",
            handler=service.insights,
            cache=CachePolicy(KEPT_S, keeps=True),
        ),
    ),
    capabilities=("shadow_fund", "insights"),
)
