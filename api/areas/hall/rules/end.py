"""What a mandate's end counts, by the best that is known of the positions that it left.

    1,000 in, 300 of it at a listed adapter, last mark 1,000
    a party stops; the adapter has not been asked since        -300
    the first mark after the stop says that 30 are left        -270
    the owner's sale brings 300                                   0

Laws
- Whoever stopped: a position counts what the first measure at or after the end says (that of the
  stop line is one) or what it has brought, whichever is more; until one of them is known, it is lost.
- Never more than at the last mark before the end: the owner chose the day of the sale. A mark of the
  stop's own transaction is the end's measure.
- At targets without a listed adapter counts what came back, up to what was out.
- It is one step of the end's day, whenever its facts come: what is found later leaves no fall behind.

Amounts are USDC base units. Source: docs/hall.md#the-end.
"""

from dataclasses import dataclass

from api.areas.hall.rules.path import STILL, Path
from core.mandate.rules.worth import agent_fee_owed_usdc_e6


@dataclass(slots=True, kw_only=True)
class Before:
    """What a day and its mandate said before a row. `worth`: after the agent's fee; `tx`: the row's."""

    tx: str | None = None
    listed_usdc_e6: int = 0
    worth_usdc_e6: int = 0
    result_usdc_e6: int = 0
    least_usdc_e6: int = 0
    path: Path = STILL


@dataclass(slots=True, kw_only=True)
class End:
    """`gain_without`: what the mandate had made by the end without its positions, before the agent's
    fee. `measured`: of listed positions, with what came back before the measure; None: not yet.
    """

    before: Before
    cash_usdc_e6: int
    gain_without_usdc_e6: int
    out_usdc_e6: int
    measured_usdc_e6: int | None = None
    listed_back_usdc_e6: int = 0
    out_back_usdc_e6: int = 0

    def measure(self, left_usdc_e6: int) -> None:
        """What adapters value, by the vault's own measure; the first one counts."""
        if self.measured_usdc_e6 is None:
            self.measured_usdc_e6 = left_usdc_e6 + self.listed_back_usdc_e6

    def worth_usdc_e6(self, agent_fee_bps: int) -> int:
        """The mandate's, after the agent's fee."""
        back, measured = self.listed_back_usdc_e6, self.measured_usdc_e6
        listed = min(self.before.listed_usdc_e6, back if measured is None else max(measured, back))
        positions = listed + min(self.out_usdc_e6, self.out_back_usdc_e6)
        gain = self.gain_without_usdc_e6 + positions
        fee = agent_fee_owed_usdc_e6(gain, agent_fee_bps, 0)
        return max(0, self.cash_usdc_e6 + positions - fee)
