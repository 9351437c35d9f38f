"""The operation of the area rules: what binds whoever acts in a mandate's vault."""

from api.areas.rules.service import reading
from api.kernel.auth import ANYBODY
from api.kernel.operation import Area, CachePolicy, Read
from api.kernel.tool import Profile, Tool, ToolKind

AREA = Area(
    name="rules",
    about="The rules of the mandate vault: each with its value, what enforces it, and its status.",
    operations=(
        Read(
            key="rules.mandate_vault",
            path="/rules/mandate-vault",
            auth=ANYBODY,
            summary="Read the rules of the mandate vault, all of them or by topic.",
            handler=reading.mandate_vault,
            block=False,
            cache=CachePolicy(300, keeps=True),
            tool=Tool("get_rules", "Read the rules of a product", ToolKind.READ, Profile.CONNECTOR),
        ),
    ),
)
