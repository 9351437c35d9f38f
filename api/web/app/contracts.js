// Generated from the contracts' ABIs by `make abis`; do not edit.

export const SELECTORS = {
  "isVault": "0x652b9b41",
  "usdc": "0x3e413bee",
  "owner": "0x8da5cb5b",
  "agent": "0xf5ff5c76",
  "status": "0x200d2ed2",
  "endsAt": "0x0a09284a",
  "lock": "0xf83d08ba",
  "feeOwed": "0x1098894b",
  "rules": "0x52f6747a",
  "stop": "0x63c4f031",
  "unwind": "0x434b7f12",
  "withdraw": "0xd9caed12",
  "positionOf": "0xfd2d39c5",
  "valueOf": "0xa48028aa",
  "balanceOf": "0x70a08231",
  "approve": "0x095ea7b3",
  "buy": "0x59a87bc1",
  "redeem": "0x7cbc2373",
  "convert": "0x95d054b2",
  "quoteRedeem": "0x2711be44"
};

export const VAULT_CREATED = "0x86de77c6fedc478fd51f03ffc05f748e92f7bf27133327ca71b345f219a2f660";

export const VAULT_SHELL_HASH = "0xee5ad04f81cf79424d9727a74f7d6cc150801b3490eb67d7487e39c933148722";

/** @type {Readonly<Record<string, {signature: string, after: string}>>} */
export const EXITS = {
  "0x7cbc2373": {
    "signature": "redeem(uint256,uint256)",
    "after": "0000000000000000000000000000000000000000000000000000000000000000"
  },
  "0xe4849b32": {
    "signature": "sell(uint256)",
    "after": ""
  },
  "0xd79875eb": {
    "signature": "sell(uint256,uint256)",
    "after": "0000000000000000000000000000000000000000000000000000000000000000"
  }
};

/**
 * @typedef {{name: string, inputs: [string, string][], meaning: string}} ErrorAbi
 * @type {Readonly<Record<string, ErrorAbi>>}
 */
export const ERRORS = {
  "0x07f0a6c3": {"name": "ApprovalLeft", "inputs": [["target", "address"], ["allowance", "uint256"]], "meaning": "Thrown when an allowance stays although it was set to zero."},
  "0x089ee7df": {"name": "MandatePaused", "inputs": [], "meaning": "Thrown while the factory is paused."},
  "0x08b4a225": {"name": "NotAdapter", "inputs": [["caller", "address"]], "meaning": "Thrown when the caller is not an adapter of the mandate or on the list."},
  "0x08c379a0": {"name": "Error", "inputs": [["message", "string"]], "meaning": ""},
  "0x08f45b1f": {"name": "MandateFunded", "inputs": [["budget", "uint256"]], "meaning": "Thrown when the whole budget is already in."},
  "0x0cca6537": {"name": "RootIsStart", "inputs": [], "meaning": "The root is the one that stands for no post."},
  "0x0e07800a": {"name": "SelfPayment", "inputs": [["payTo", "address"]], "meaning": "Thrown when a vault would pay itself, or the adapter that pays."},
  "0x0fb61d19": {"name": "RulesHashMismatch", "inputs": [["given", "bytes32"], ["signed", "bytes32"]], "meaning": "Thrown when the rules are not the ones that were signed."},
  "0x116d9e02": {"name": "EpochNotAfter", "inputs": [["epoch", "uint64"], ["last", "uint64"]], "meaning": "The epoch was posted before, or a later one was."},
  "0x15a4a714": {"name": "ProposalExpired", "inputs": [["lastSecond", "uint64"]], "meaning": "Thrown after the last second in which a proposal could be accepted."},
  "0x1896a531": {"name": "NotAVault", "inputs": [["account", "address"]], "meaning": "Thrown by the implementation, which has no terms, and where a caller has to be a vault."},
  "0x19ca5ebb": {"name": "AccessControlEnforcedDefaultAdminDelay", "inputs": [["schedule", "uint48"]], "meaning": ""},
  "0x1d40eaea": {"name": "TargetNotAllowed", "inputs": [["target", "address"], ["selector", "bytes4"]], "meaning": "Thrown when no rule names this function of this target."},
  "0x1f2a2005": {"name": "ZeroAmount", "inputs": [], "meaning": "Thrown when an amount is zero that must not be."},
  "0x20b9b340": {"name": "NotParty", "inputs": [["caller", "address"]], "meaning": "Thrown when the caller is neither the owner, the keeper nor the agent."},
  "0x23b59145": {"name": "AdapterAlreadyListed", "inputs": [["adapter", "address"]], "meaning": "Thrown when a listed adapter is listed again."},
  "0x245aecd3": {"name": "NotOwner", "inputs": [["caller", "address"]], "meaning": "Thrown when the caller, or the payer of an authorization, is not the owner."},
  "0x24775e06": {"name": "SafeCastOverflowedUintToInt", "inputs": [["value", "uint256"]], "meaning": ""},
  "0x2611416a": {"name": "NoAgent", "inputs": [], "meaning": "Thrown when there is no agent: removed, or not set yet."},
  "0x26f12965": {"name": "UnknownKind", "inputs": [["index", "uint256"], ["kind", "uint8"]], "meaning": "Thrown when a rule's kind is none of 0 to 3."},
  "0x29c89150": {"name": "NotProposed", "inputs": [["caller", "address"]], "meaning": "Thrown when there is no proposal, or the caller is not the proposed account."},
  "0x2ae26f25": {"name": "AdapterNotListed", "inputs": [["adapter", "address"]], "meaning": "Thrown when a rule of kind 2 or 3 names a contract that is not listed."},
  "0x305a27a9": {"name": "StringTooLong", "inputs": [["str", "string"]], "meaning": ""},
  "0x399b68e8": {"name": "BadRuleCount", "inputs": [["count", "uint256"], ["max", "uint256"]], "meaning": "Thrown when there are no rules or more than 32."},
  "0x3ee5aeb5": {"name": "ReentrancyGuardReentrantCall", "inputs": [], "meaning": ""},
  "0x3fc3c27a": {"name": "AccessControlEnforcedDefaultAdminRules", "inputs": [], "meaning": ""},
  "0x425fadcb": {"name": "RecipientNotVault", "inputs": [["target", "address"], ["selector", "bytes4"], ["recipientWord", "uint8"], ["found", "bytes32"]], "meaning": "Thrown when the pinned word is not the vault."},
  "0x42cd4e0b": {"name": "UnderMinOut", "inputs": [["out", "uint256"], ["minOut", "uint256"]], "meaning": "Thrown when the caller would get less than it accepts."},
  "0x45c09f72": {"name": "OverWithdrawable", "inputs": [["requested", "uint256"], ["withdrawable", "uint256"]], "meaning": "Thrown when a withdrawal would touch the agent's fee or more than there is."},
  "0x46c0d9af": {"name": "NotOwnerOrPauser", "inputs": [["caller", "address"]], "meaning": "Thrown when the caller is neither the owner nor the factory's pauser."},
  "0x4e487b71": {"name": "Panic", "inputs": [["code", "uint256"]], "meaning": ""},
  "0x4fc32a85": {"name": "SettleTooEarly", "inputs": [["from", "uint64"]], "meaning": "Thrown when the caller may settle only from a later time on."},
  "0x525d8c80": {"name": "NotPayee", "inputs": [["caller", "address"]], "meaning": "Thrown when the caller is not the payee."},
  "0x5274afe7": {"name": "SafeERC20FailedOperation", "inputs": [["token", "address"]], "meaning": ""},
  "0x52f49c95": {"name": "NotAgent", "inputs": [["caller", "address"]], "meaning": "Thrown when the caller is not the agent."},
  "0x5a5b7e41": {"name": "OverMaxSpend", "inputs": [["drop", "uint256"], ["spent", "uint256"]], "meaning": "Thrown when the balance fell by more than the call spent of its allowance of maxSpend."},
  "0x5dd25fa5": {"name": "MandateStopped", "inputs": [["stoppedAt", "uint64"]], "meaning": "Thrown after a stop."},
  "0x614275ef": {"name": "MandateWorking", "inputs": [], "meaning": "Thrown when shares are to be released while the mandate works."},
  "0x618104e8": {"name": "NothingToSettle", "inputs": [], "meaning": "Thrown when a settled mandate owes nothing more."},
  "0x62574245": {"name": "SettleGrace", "inputs": [["until", "uint64"]], "meaning": "Thrown when the owner or the agent stops in [endsAt, until), the keeper's time to settle."},
  "0x6697b232": {"name": "AccessControlBadConfirmation", "inputs": [], "meaning": ""},
  "0x67680913": {"name": "DeadlinePassed", "inputs": [["deadline", "uint64"]], "meaning": "Thrown when a signature's last second has passed."},
  "0x6866c1c4": {"name": "AdapterAlreadySet", "inputs": [["adapter", "address"]], "meaning": "Thrown when the venue's adapter is set a second time."},
  "0x6a486e3d": {"name": "BadTerms", "inputs": [["field", "bytes32"], ["value", "uint256"], ["bound", "uint256"]], "meaning": "Thrown when a field of the terms is out of bounds: value and bound."},
  "0x6b5966e7": {"name": "WithdrawLocked", "inputs": [["reason", "bytes32"], ["until", "uint64"]], "meaning": "Thrown when the owner withdraws while the lock holds."},
  "0x6dfcc650": {"name": "SafeCastOverflowedUintDowncast", "inputs": [["bits", "uint8"], ["value", "uint256"]], "meaning": ""},
  "0x70743b38": {"name": "VaultExists", "inputs": [["vault", "address"]], "meaning": "Thrown when terms are to be cancelled that are a vault already."},
  "0x755b0cdd": {"name": "OverBudget", "inputs": [["requested", "uint256"], ["left", "uint256"]], "meaning": "Thrown when more is asked for than the mandate's own cash, or more deposited than the budget lacks."},
  "0x7569cc09": {"name": "NonceUsed", "inputs": [["vault", "address"], ["nonce", "bytes32"]], "meaning": "Thrown when the guard's signature for this nonce was used by this vault."},
  "0x76c6c93a": {"name": "NotOperator", "inputs": [["caller", "address"]], "meaning": "Thrown when the caller is not the operator."},
  "0x79ec550b": {"name": "OverPosition", "inputs": [["requested", "uint256"], ["held", "uint256"]], "meaning": "Thrown when a position is smaller than what is to be sold."},
  "0x84b7c8f6": {"name": "ReservedReason", "inputs": [["reason", "bytes32"]], "meaning": "Thrown when a stop gives the word that the contract keeps for the stop line."},
  "0x86eb6d6f": {"name": "MandateNotFunded", "inputs": [["deposited", "uint256"], ["budget", "uint256"]], "meaning": "Thrown when deposits have not reached the budget yet."},
  "0x88567c99": {"name": "ProposalTooEarly", "inputs": [["eta", "uint64"]], "meaning": "Thrown before eta."},
  "0x8dfc202b": {"name": "ExpectedPause", "inputs": [], "meaning": ""},
  "0x92ec8899": {"name": "OverDailyCap", "inputs": [["requested", "uint256"], ["left", "uint256"]], "meaning": "Thrown when the sum of maxSpend is above what the rolling day leaves."},
  "0x94280d62": {"name": "ERC20InvalidSpender", "inputs": [["spender", "address"]], "meaning": ""},
  "0x96c6fd1e": {"name": "ERC20InvalidSender", "inputs": [["sender", "address"]], "meaning": ""},
  "0x9996b315": {"name": "AddressEmptyCode", "inputs": [["target", "address"]], "meaning": ""},
  "0x9a7d38d9": {"name": "BadSignature", "inputs": [["signer", "address"]], "meaning": "Thrown when the owner's consent is missing or does not hold."},
  "0xa3af5bbd": {"name": "CalldataTooShort", "inputs": [["target", "address"], ["selector", "bytes4"], ["length", "uint256"], ["required", "uint256"]], "meaning": "Thrown when the arguments end before the pinned recipient word does."},
  "0xa7abc339": {"name": "ProposalPending", "inputs": [["proposed", "address"], ["eta", "uint64"]], "meaning": "Thrown while another proposal is pending. It must be cancelled first."},
  "0xa95bb145": {"name": "OtherRootBefore", "inputs": [["rootBefore", "bytes32"], ["root", "bytes32"]], "meaning": "The poster knows another past."},
  "0xb3512b0c": {"name": "InvalidShortString", "inputs": [], "meaning": ""},
  "0xb550282e": {"name": "NotFactory", "inputs": [["caller", "address"]], "meaning": "Thrown when the caller is not the factory."},
  "0xb952cb11": {"name": "ExitNotFree", "inputs": [["maxSpend", "uint256"]], "meaning": "Thrown when a call of an exit has a maxSpend."},
  "0xbb1d8839": {"name": "TermsWereCancelled", "inputs": [["termsDigest", "bytes32"]], "meaning": "Thrown when the owner cancelled these terms."},
  "0xbbcd2831": {"name": "ForbiddenTarget", "inputs": [["index", "uint256"], ["target", "address"]], "meaning": "Thrown when a rule's target may never be one."},
  "0xbc161c9d": {"name": "EpochNotOver", "inputs": [["epoch", "uint64"], ["endsAt", "uint256"]], "meaning": "The epoch has not ended yet."},
  "0xc22c8022": {"name": "AccessControlInvalidDefaultAdmin", "inputs": [["defaultAdmin", "address"]], "meaning": ""},
  "0xc2e5347d": {"name": "EmptyBatch", "inputs": [], "meaning": "Thrown when a batch has no call."},
  "0xc8c92ec8": {"name": "OverPerTxCap", "inputs": [["requested", "uint256"], ["cap", "uint256"]], "meaning": "Thrown when the sum of maxSpend is above the cap of one action."},
  "0xccf79b67": {"name": "NotKeeper", "inputs": [["caller", "address"]], "meaning": "Thrown when the caller is not the keeper."},
  "0xcf479181": {"name": "InsufficientBalance", "inputs": [["balance", "uint256"], ["needed", "uint256"]], "meaning": ""},
  "0xd6bda275": {"name": "FailedCall", "inputs": [], "meaning": ""},
  "0xd7b1d49a": {"name": "AboveStopLine", "inputs": [["worth", "uint256"], ["stopFloor", "uint256"]], "meaning": "Thrown when worth is above the floor, so that nothing is to be enforced."},
  "0xd93c0665": {"name": "EnforcedPause", "inputs": [], "meaning": ""},
  "0xe2517d3f": {"name": "AccessControlUnauthorizedAccount", "inputs": [["account", "address"], ["neededRole", "bytes32"]], "meaning": ""},
  "0xe450d38c": {"name": "ERC20InsufficientBalance", "inputs": [["sender", "address"], ["balance", "uint256"], ["needed", "uint256"]], "meaning": ""},
  "0xe602df05": {"name": "ERC20InvalidApprover", "inputs": [["approver", "address"]], "meaning": ""},
  "0xec442f05": {"name": "ERC20InvalidReceiver", "inputs": [["receiver", "address"]], "meaning": ""},
  "0xee8c4817": {"name": "MandateEnded", "inputs": [["endsAt", "uint64"]], "meaning": "Thrown from endsAt on, and after a settlement that needed no stop."},
  "0xf066a28a": {"name": "BadAddress", "inputs": [["account", "address"]], "meaning": "Thrown when an address is zero, or the vault itself, that must not be."},
  "0xf19161df": {"name": "RulesNotSorted", "inputs": [["index", "uint256"]], "meaning": "Thrown when a rule is not above the one before by (target, selector)."},
  "0xf96d503b": {"name": "NotAdminOrPauser", "inputs": [["caller", "address"]], "meaning": "Thrown when the caller is neither the admin nor a pauser."},
  "0xfb8f41b2": {"name": "ERC20InsufficientAllowance", "inputs": [["spender", "address"], ["allowance", "uint256"], ["needed", "uint256"]], "meaning": ""},
  "0xff05c908": {"name": "NotAnExit", "inputs": [["target", "address"], ["selector", "bytes4"]], "meaning": "Thrown when a call of an unwind is allowed but is no exit."}
};
