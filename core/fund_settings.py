"""The settings of the fund (docs/fund.md#the-bond)."""

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_settings import NoDecode

_ENTRY = re.compile(r"([1-9][0-9]{0,14}):([1-9][0-9]{0,11})", re.ASCII)


class FundSettings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    # Fund
    fund_credit_bonds: Annotated[dict[int, int], NoDecode] = Field(
        default={},
        description="accounts whose bond may be in credits, with how many: id:credits with commas",
    )

    @field_validator("fund_credit_bonds", mode="before")
    @classmethod
    def _bonds_are_written_with_commas(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        written = [one.strip() for one in value.split(",") if one.strip()]
        found = [_ENTRY.fullmatch(one) for one in written]
        bonds = {int(one[1]): int(one[2]) for one in found if one is not None}
        if len(bonds) < len(written):
            raise ValueError("write each account once, as id:credits with commas: 17:5000,21:2500")
        return bonds
