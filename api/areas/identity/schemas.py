"""Commands and answers of sign-in and registration (docs/identity.md)."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from api.kernel.fields import AccountId, Address, Signature
from api.kernel.operation import AnswerBody, Command
from api.kernel.texts import FreeText


def _plainly_spaced(name: str) -> str:
    if name != name.strip() or any(one.isspace() and one != " " for one in name):
        raise PydanticCustomError(
            "invalid_parameter", "leave out spaces at the ends, and write only the ordinary space"
        )
    return name


PLAINLY_SPACED = AfterValidator(_plainly_spaced)
NAME_CHARACTERS = 80
AgentName = Annotated[str, FreeText(NAME_CHARACTERS), PLAINLY_SPACED]
Message = Annotated[
    str,
    Field(
        min_length=1,
        description="what the wallet signed: the text of /auth/wallet/nonce, or a message of EIP-4361 "
        "with its nonce",
    ),
]


class Nonce(Command):
    wallet_address: Address
    purpose: Literal["register", "link", "login", "self", "unlink"] = "register"
    record_sha256: (
        Annotated[
            str,
            Field(pattern=r"^[0-9a-f]{64}$", description="of the self record, for purpose self"),
        ]
        | None
    ) = None
    agent_id: AccountId | None = Field(
        default=None, description="the agent whose wallet its owner unlinks, for purpose unlink"
    )


class NonceIssued(AnswerBody):
    nonce: str
    message: str = Field(description="a full EIP-4361 text; sign it as it is (personal_sign)")
    expires_at: str


class Login(Command):
    message: Message
    signature: Signature
    end_other_sessions: bool = Field(
        default=False, description="end every other session of this owner at once"
    )


class LoggedIn(AnswerBody):
    bearer_token: str = Field(description="the owner's session; shown once")
    expires_at: str
    wallet_address: str


class Connect(Command):
    agent_name: AgentName


class Connected(AnswerBody):
    api_key: str = Field(description="shown once")
    recovery_code: str = Field(description="shown once")
    user_id: int
    bearer_token: str = Field(
        description="for wallet registration only, for 24 hours at most; shown once"
    )
    welcome_credit_granted: bool


class Register(Command):
    wallet_address: Address
    signature: Signature
    message: Message | None = None
    agent_name: AgentName


class RegisterExternal(Command):
    external_id: Annotated[
        str,
        FreeText(128, exact=True),
        PLAINLY_SPACED,
        Field(description="the other system's id"),
    ]
    agent_name: AgentName


class RegisteredExternal(Connected):
    recovery_agent_name: str = Field(description="send it as agent_name when you recover")


class Recover(Command):
    recovery_code: Annotated[str, Field(min_length=1, max_length=200)]
    # compared with what was given out, never kept
    agent_name: Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS)] | None = Field(
        default=None, description="recovery_agent_name, for agents of /mining/register"
    )


class Recovered(AnswerBody):
    api_key: str = Field(description="shown once; the old key is dead")
    recovery_code: str = Field(description="shown once; the old code is dead")
    user_id: int
    bearer_token: str = Field(description="for 24 hours at most; shown once; the old token is dead")


class LinkWallet(Command):
    wallet_address: Address
    signature: Signature
    message: Message | None = None


class WalletStatus(AnswerBody):
    registered: bool
    wallet_address: str | None
    wallet_payable_at: str | None = Field(
        description="from when the account's starter wallet pays it; null: no wallet is linked"
    )


class Done(AnswerBody):
    ok: bool
