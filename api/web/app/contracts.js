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

export const RELEASE = "0x86d1a69f";

export const ALLOWANCE_BPS = 100;

/** @type {Readonly<Record<string, {title: string, does: string}>>} */
export const VENUES = {
  "erc4626_adapter": {
    "title": "Lending pool (ERC-4626)",
    "does": "Lends USDC to one pool and redeems it; the position counts towards the worth."
  },
  "test_venue_adapter": {
    "title": "Test venue",
    "does": "Buys and sells units at a price that the test operator sets."
  },
  "uniswap_v3_adapter": {
    "title": "Uniswap v3",
    "does": "Swaps USDC into the token of one pool and back; the position counts at the lower of two mean prices."
  },
  "x402_adapter": {
    "title": "Paid reads",
    "does": "Pays this service for reads, one signed payment at a time; what is paid is spent."
  }
};

/** @type {Readonly<Record<string, {signature: string, takesMinimum: boolean}>>} */
export const EXITS = {
  "0x7cbc2373": {
    "signature": "redeem(uint256,uint256)",
    "takesMinimum": true
  },
  "0xe4849b32": {
    "signature": "sell(uint256)",
    "takesMinimum": false
  },
  "0xd79875eb": {
    "signature": "sell(uint256,uint256)",
    "takesMinimum": true
  }
};

/**
 * @typedef {{name: string, inputs: [string, string][]}} ErrorAbi
 * @type {Readonly<Record<string, ErrorAbi>>}
 */
export const ERRORS = {
  "0x07f0a6c3": {"name": "ApprovalLeft", "inputs": [["target", "address"], ["allowance", "uint256"]]},
  "0x089ee7df": {"name": "MandatePaused", "inputs": []},
  "0x08b4a225": {"name": "NotAdapter", "inputs": [["caller", "address"]]},
  "0x08c379a0": {"name": "Error", "inputs": [["message", "string"]]},
  "0x08f45b1f": {"name": "MandateFunded", "inputs": [["budget", "uint256"]]},
  "0x0cca6537": {"name": "RootIsStart", "inputs": []},
  "0x0e07800a": {"name": "SelfPayment", "inputs": [["payTo", "address"]]},
  "0x0fb61d19": {"name": "RulesHashMismatch", "inputs": [["given", "bytes32"], ["signed", "bytes32"]]},
  "0x116d9e02": {"name": "EpochNotAfter", "inputs": [["epoch", "uint64"], ["last", "uint64"]]},
  "0x15a4a714": {"name": "ProposalExpired", "inputs": [["lastSecond", "uint64"]]},
  "0x1896a531": {"name": "NotAVault", "inputs": [["account", "address"]]},
  "0x19ca5ebb": {"name": "AccessControlEnforcedDefaultAdminDelay", "inputs": [["schedule", "uint48"]]},
  "0x1d40eaea": {"name": "TargetNotAllowed", "inputs": [["target", "address"], ["selector", "bytes4"]]},
  "0x1f2a2005": {"name": "ZeroAmount", "inputs": []},
  "0x20b9b340": {"name": "NotParty", "inputs": [["caller", "address"]]},
  "0x23b59145": {"name": "AdapterAlreadyListed", "inputs": [["adapter", "address"]]},
  "0x245aecd3": {"name": "NotOwner", "inputs": [["caller", "address"]]},
  "0x24775e06": {"name": "SafeCastOverflowedUintToInt", "inputs": [["value", "uint256"]]},
  "0x2611416a": {"name": "NoAgent", "inputs": []},
  "0x26f12965": {"name": "UnknownKind", "inputs": [["index", "uint256"], ["kind", "uint8"]]},
  "0x29c89150": {"name": "NotProposed", "inputs": [["caller", "address"]]},
  "0x2ae26f25": {"name": "AdapterNotListed", "inputs": [["adapter", "address"]]},
  "0x305a27a9": {"name": "StringTooLong", "inputs": [["str", "string"]]},
  "0x399b68e8": {"name": "BadRuleCount", "inputs": [["count", "uint256"], ["max", "uint256"]]},
  "0x3ee5aeb5": {"name": "ReentrancyGuardReentrantCall", "inputs": []},
  "0x3fc3c27a": {"name": "AccessControlEnforcedDefaultAdminRules", "inputs": []},
  "0x425fadcb": {"name": "RecipientNotVault", "inputs": [["target", "address"], ["selector", "bytes4"], ["recipientWord", "uint8"], ["found", "bytes32"]]},
  "0x42cd4e0b": {"name": "UnderMinOut", "inputs": [["out", "uint256"], ["minOut", "uint256"]]},
  "0x45c09f72": {"name": "OverWithdrawable", "inputs": [["requested", "uint256"], ["withdrawable", "uint256"]]},
  "0x46c0d9af": {"name": "NotOwnerOrPauser", "inputs": [["caller", "address"]]},
  "0x4e487b71": {"name": "Panic", "inputs": [["code", "uint256"]]},
  "0x4fc32a85": {"name": "SettleTooEarly", "inputs": [["from", "uint64"]]},
  "0x525d8c80": {"name": "NotPayee", "inputs": [["caller", "address"]]},
  "0x5274afe7": {"name": "SafeERC20FailedOperation", "inputs": [["token", "address"]]},
  "0x52f49c95": {"name": "NotAgent", "inputs": [["caller", "address"]]},
  "0x5a5b7e41": {"name": "OverMaxSpend", "inputs": [["drop", "uint256"], ["spent", "uint256"]]},
  "0x5dd25fa5": {"name": "MandateStopped", "inputs": [["stoppedAt", "uint64"]]},
  "0x614275ef": {"name": "MandateWorking", "inputs": []},
  "0x618104e8": {"name": "NothingToSettle", "inputs": []},
  "0x62574245": {"name": "SettleGrace", "inputs": [["until", "uint64"]]},
  "0x6697b232": {"name": "AccessControlBadConfirmation", "inputs": []},
  "0x67680913": {"name": "DeadlinePassed", "inputs": [["deadline", "uint64"]]},
  "0x6866c1c4": {"name": "AdapterAlreadySet", "inputs": [["adapter", "address"]]},
  "0x6a486e3d": {"name": "BadTerms", "inputs": [["field", "bytes32"], ["value", "uint256"], ["bound", "uint256"]]},
  "0x6b5966e7": {"name": "WithdrawLocked", "inputs": [["reason", "bytes32"], ["until", "uint64"]]},
  "0x6dfcc650": {"name": "SafeCastOverflowedUintDowncast", "inputs": [["bits", "uint8"], ["value", "uint256"]]},
  "0x70743b38": {"name": "VaultExists", "inputs": [["vault", "address"]]},
  "0x755b0cdd": {"name": "OverBudget", "inputs": [["requested", "uint256"], ["left", "uint256"]]},
  "0x7569cc09": {"name": "NonceUsed", "inputs": [["vault", "address"], ["nonce", "bytes32"]]},
  "0x76c6c93a": {"name": "NotOperator", "inputs": [["caller", "address"]]},
  "0x79ec550b": {"name": "OverPosition", "inputs": [["requested", "uint256"], ["held", "uint256"]]},
  "0x84b7c8f6": {"name": "ReservedReason", "inputs": [["reason", "bytes32"]]},
  "0x86eb6d6f": {"name": "MandateNotFunded", "inputs": [["deposited", "uint256"], ["budget", "uint256"]]},
  "0x88567c99": {"name": "ProposalTooEarly", "inputs": [["eta", "uint64"]]},
  "0x8dfc202b": {"name": "ExpectedPause", "inputs": []},
  "0x92ec8899": {"name": "OverDailyCap", "inputs": [["requested", "uint256"], ["left", "uint256"]]},
  "0x94280d62": {"name": "ERC20InvalidSpender", "inputs": [["spender", "address"]]},
  "0x96c6fd1e": {"name": "ERC20InvalidSender", "inputs": [["sender", "address"]]},
  "0x9996b315": {"name": "AddressEmptyCode", "inputs": [["target", "address"]]},
  "0x9a7d38d9": {"name": "BadSignature", "inputs": [["signer", "address"]]},
  "0xa3af5bbd": {"name": "CalldataTooShort", "inputs": [["target", "address"], ["selector", "bytes4"], ["length", "uint256"], ["required", "uint256"]]},
  "0xa7abc339": {"name": "ProposalPending", "inputs": [["proposed", "address"], ["eta", "uint64"]]},
  "0xa95bb145": {"name": "OtherRootBefore", "inputs": [["rootBefore", "bytes32"], ["root", "bytes32"]]},
  "0xb3512b0c": {"name": "InvalidShortString", "inputs": []},
  "0xb550282e": {"name": "NotFactory", "inputs": [["caller", "address"]]},
  "0xb952cb11": {"name": "ExitNotFree", "inputs": [["maxSpend", "uint256"]]},
  "0xbb1d8839": {"name": "TermsWereCancelled", "inputs": [["termsDigest", "bytes32"]]},
  "0xbbcd2831": {"name": "ForbiddenTarget", "inputs": [["index", "uint256"], ["target", "address"]]},
  "0xbc161c9d": {"name": "EpochNotOver", "inputs": [["epoch", "uint64"], ["endsAt", "uint256"]]},
  "0xc22c8022": {"name": "AccessControlInvalidDefaultAdmin", "inputs": [["defaultAdmin", "address"]]},
  "0xc2e5347d": {"name": "EmptyBatch", "inputs": []},
  "0xc8c92ec8": {"name": "OverPerTxCap", "inputs": [["requested", "uint256"], ["cap", "uint256"]]},
  "0xccf79b67": {"name": "NotKeeper", "inputs": [["caller", "address"]]},
  "0xcf479181": {"name": "InsufficientBalance", "inputs": [["balance", "uint256"], ["needed", "uint256"]]},
  "0xd6bda275": {"name": "FailedCall", "inputs": []},
  "0xd7b1d49a": {"name": "AboveStopLine", "inputs": [["worth", "uint256"], ["stopFloor", "uint256"]]},
  "0xd93c0665": {"name": "EnforcedPause", "inputs": []},
  "0xe2517d3f": {"name": "AccessControlUnauthorizedAccount", "inputs": [["account", "address"], ["neededRole", "bytes32"]]},
  "0xe450d38c": {"name": "ERC20InsufficientBalance", "inputs": [["sender", "address"], ["balance", "uint256"], ["needed", "uint256"]]},
  "0xe602df05": {"name": "ERC20InvalidApprover", "inputs": [["approver", "address"]]},
  "0xec442f05": {"name": "ERC20InvalidReceiver", "inputs": [["receiver", "address"]]},
  "0xee8c4817": {"name": "MandateEnded", "inputs": [["endsAt", "uint64"]]},
  "0xf066a28a": {"name": "BadAddress", "inputs": [["account", "address"]]},
  "0xf19161df": {"name": "RulesNotSorted", "inputs": [["index", "uint256"]]},
  "0xf96d503b": {"name": "NotAdminOrPauser", "inputs": [["caller", "address"]]},
  "0xfb8f41b2": {"name": "ERC20InsufficientAllowance", "inputs": [["spender", "address"], ["allowance", "uint256"], ["needed", "uint256"]]},
  "0xff05c908": {"name": "NotAnExit", "inputs": [["target", "address"], ["selector", "bytes4"]]}
};
