// What a contract refuses, from the data of its revert: name, arguments and a sentence.
//
// The data comes from a node. What does not decode is unknown, with its bytes, and never guessed.

import { addressOfWord, boolOf, stringOf, textOfWord, uintOf } from "./abi.js";
import { ERRORS } from "./contracts.js";
import { plainText } from "./wallet-errors.js";
import { timeText, usdcText } from "./words.js";

/**
 * `name` is Solidity's, "" where the data is no error of our contracts; `args` are texts by their
 * Solidity names; `sentence` says it in plain words, `next` what to do ("" if nothing helps).
 * @typedef {{name: string, args: Record<string, string>, sentence: string, next: string}} Refusal
 * @typedef {(args: Record<string, string>) => [string, string]} Words
 */

/**
 * Every error of our contracts and of OpenZeppelin's that they inherit: what happened, and what to do.
 * @type {Readonly<Record<string, Words>>}
 */
export const SENTENCES = {
  NotOwner: ({ caller }) => [
    `Only the owner can do this; ${caller} is not the owner.`,
    "Choose the owner's account in your wallet.",
  ],
  NotParty: ({ caller }) => [
    `Only the owner and the agent can stop a mandate; ${caller} is neither.`,
    "Choose the owner's account in your wallet.",
  ],
  NotOwnerOrPauser: ({ caller }) => [
    `Only the owner can remove the agent; ${caller} is not the owner.`,
    "Choose the owner's account in your wallet.",
  ],
  MandateStopped: ({ stoppedAt }) => [
    `The mandate was stopped at ${time(stoppedAt)}.`,
    "Close the positions that are left, then withdraw.",
  ],
  MandateEnded: ({ endsAt }) => [
    `The mandate ended at ${time(endsAt)}.`,
    "Withdraw once the day after the end has passed.",
  ],
  SettleGrace: ({ until }) => [
    `The agent's fee is settled first: until ${time(until)} neither owner nor agent can stop.`,
    `Withdraw after ${time(until)}; no stop is needed then.`,
  ],
  MandateNotFunded: ({ deposited, budget }) => [
    `The vault does not work yet: it holds ${usdc(deposited)} of ${usdc(budget)} USDC.`,
    "Withdraw what was deposited, or deposit the rest.",
  ],
  MandateFunded: ({ budget }) => [`The whole budget of ${usdc(budget)} USDC is in already.`, ""],
  MandatePaused: () => ["The factory is paused.", "Stop and withdraw still work."],
  OverBudget: ({ requested, left }) => [
    `${usdc(requested)} USDC is more than the ${usdc(left)} USDC that are left.`,
    "Choose a smaller amount.",
  ],
  WithdrawLocked: ({ reason, until }) =>
    reason === "working"
      ? [
          `The mandate is at work; the vault is locked until ${time(until)}.`,
          "Stop the mandate first, then withdraw.",
        ]
      : [
          `The agent's fee is settled first; the vault is locked until ${time(until)}.`,
          `Withdraw after ${time(until)}.`,
        ],
  OverWithdrawable: ({ requested, withdrawable }) => [
    `${usdc(requested)} USDC is more than the ${usdc(withdrawable)} USDC that can leave now.`,
    "Read the vault again: what it holds has changed.",
  ],
  NotAnExit: ({ target }) => [`This call at ${target} does not close a position.`, ""],
  TargetNotAllowed: ({ target }) => [`The mandate allows no such call at ${target}.`, ""],
  OverPosition: ({ requested, held }) => [
    `The position holds ${held} units, fewer than the ${requested} that are to be sold.`,
    "Read the vault again: the position has changed.",
  ],
  ZeroAmount: () => ["The amount is zero.", "Read the vault again: it may be empty by now."],
  VaultExists: ({ vault }) => [`The vault ${vault} exists already.`, "Stop it instead."],
  TermsWereCancelled: () => ["These terms were cancelled; they can never become a vault.", ""],
  BadSignature: ({ signer }) => [`The signature of ${signer} does not hold.`, "Sign again."],
  NotAgent: ({ caller }) => [`Only the agent can do this; ${caller} is not the agent.`, ""],
  NotKeeper: ({ caller }) => [`Only the keeper can do this; ${caller} is not the keeper.`, ""],
  NotOperator: ({ caller }) => [
    `Only the operator can do this; ${caller} is not the operator.`,
    "",
  ],
  NotPayee: ({ caller }) => [`Only the payee can do this; ${caller} is not the payee.`, ""],
  NotFactory: ({ caller }) => [`Only the factory can do this; ${caller} is not the factory.`, ""],
  NotAdapter: ({ caller }) => [`${caller} is not an adapter that this mandate uses.`, ""],
  NotAdminOrPauser: ({ caller }) => [
    `Only the factory's admin or a pauser can do this; ${caller} is neither.`,
    "Choose one of these accounts in your wallet.",
  ],
  NotAVault: ({ account }) => [`${account} is not a vault with signed terms.`, ""],
  NoAgent: () => ["The mandate has no agent: it is paused, or none was set.", "Resume it first."],
  OverPerTxCap: ({ requested, cap }) => [
    `${usdc(requested)} USDC in one action is above the cap of ${usdc(cap)} USDC.`,
    "Choose a smaller amount.",
  ],
  OverDailyCap: ({ requested, left }) => [
    `${usdc(requested)} USDC is more than the ${usdc(left)} USDC that are left of the cap per 24 hours.`,
    "Choose a smaller amount, or wait until the window frees.",
  ],
  OverMaxSpend: ({ drop, spent }) => [
    `The vault lost ${usdc(drop)} USDC, more than the ${usdc(spent)} USDC that the call was allowed to spend.`,
    "",
  ],
  RecipientNotVault: ({ target, found }) => [
    `The call at ${target} would pay ${found}, not the vault.`,
    "",
  ],
  CalldataTooShort: ({ target }) => [
    `The call at ${target} is cut off before it names who is paid.`,
    "",
  ],
  ApprovalLeft: ({ target }) => [`${target} kept an allowance that was taken back.`, ""],
  EmptyBatch: () => ["The batch has no call.", "Add at least one call."],
  ExitNotFree: () => ["A call that closes a position must not spend USDC.", "Set its amount to 0."],
  UnderMinOut: ({ out, minOut }) => [
    `You would get ${out} base units, less than the ${minOut} that you accept.`,
    "Ask for a new quote, then try again.",
  ],
  SelfPayment: ({ payTo }) => [`The vault would pay ${payTo}, which is its own side.`, ""],
  BadTerms: ({ field, value, bound }) => [
    `The terms' field ${field} is out of bounds: ${value}, and the bound is ${bound}.`,
    "Change the terms and sign again.",
  ],
  BadRuleCount: ({ count, max }) => [
    `The terms list ${count} targets; at least 1 and at most ${max} are possible.`,
    "Change the terms and sign again.",
  ],
  RulesHashMismatch: () => ["The list of targets is not the one that was signed.", "Sign again."],
  RulesNotSorted: ({ index }) => [`The list of targets is not in order at number ${index}.`, ""],
  UnknownKind: ({ index }) => [`Target ${index} of the terms is of an unknown kind.`, ""],
  ForbiddenTarget: ({ target }) => [
    `${target} may never be a target of a mandate.`,
    "Take it out of the terms and sign again.",
  ],
  AdapterNotListed: ({ adapter }) => [
    `The adapter ${adapter} is not on the factory's list.`,
    "Choose another target, or ask the operator to list it.",
  ],
  AdapterAlreadyListed: ({ adapter }) => [`The adapter ${adapter} is listed already.`, ""],
  AdapterAlreadySet: ({ adapter }) => [`The venue has its adapter already: ${adapter}.`, ""],
  BadAddress: ({ account }) => [`${account} cannot be used as this address.`, "Check the address."],
  DeadlinePassed: ({ deadline }) => [
    `The signature was valid until ${time(deadline)}.`,
    "Sign again.",
  ],
  NonceUsed: () => ["This signature was used already.", "Ask for a new one."],
  SettleTooEarly: ({ from }) => [`The mandate can be settled from ${time(from)} on.`, ""],
  NothingToSettle: () => ["The mandate is settled; nothing is owed any more.", ""],
  MandateWorking: () => ["The mandate is at work.", "Stop it first."],
  AboveStopLine: ({ worth, stopFloor }) => [
    `The vault is worth ${usdc(worth)} USDC, above the stop line of ${usdc(stopFloor)} USDC.`,
    "To stop it all the same, use the owner's stop.",
  ],
  ReservedReason: ({ reason }) => [
    `The reason “${reason}” is kept for the stop line.`,
    "Give another reason.",
  ],
  NotProposed: ({ caller }) => [`${caller} was not proposed, so there is nothing to accept.`, ""],
  ProposalPending: ({ proposed }) => [
    `Another proposal is pending: ${proposed}.`,
    "Cancel that one first.",
  ],
  ProposalTooEarly: ({ eta }) => [`The proposal can be accepted from ${time(eta)} on.`, ""],
  ProposalExpired: ({ lastSecond }) => [
    `The proposal could be accepted until ${time(lastSecond)}.`,
    "Propose it again.",
  ],
  EpochNotAfter: ({ epoch }) => [`Epoch ${epoch}, or a later one, was posted already.`, ""],
  EpochNotOver: ({ endsAt }) => [`The epoch ends at ${time(endsAt)}.`, "Post it after that."],
  RootIsStart: () => ["The root is the one that means “nothing was posted yet”.", ""],
  OtherRootBefore: () => ["The root before this one is another than the poster says.", ""],
  SafeCastOverflowedUintToInt: ({ value }) => [
    `The number ${value} is too large.`,
    "Choose a smaller amount.",
  ],
  ERC20InsufficientBalance: ({ sender, balance, needed }) => [
    `${sender} has ${balance} base units of the token, and ${needed} are needed (1 USDC is 1000000).`,
    "Get more of the token, or choose a smaller amount.",
  ],
  ERC20InsufficientAllowance: ({ spender, allowance, needed }) => [
    `${spender} may take ${allowance} base units of the token, and ${needed} are needed (1 USDC is 1000000).`,
    "Approve the amount first.",
  ],
  ERC20InvalidReceiver: ({ receiver }) => [`The token cannot be sent to ${receiver}.`, ""],
  ERC20InvalidSender: ({ sender }) => [`The token cannot be sent from ${sender}.`, ""],
  ERC20InvalidApprover: ({ approver }) => [`${approver} cannot approve.`, ""],
  ERC20InvalidSpender: ({ spender }) => [`${spender} cannot be approved.`, ""],
  SafeERC20FailedOperation: ({ token }) => [
    `The token ${token} refuses the transfer.`,
    "It may be paused, or one of the accounts frozen.",
  ],
  AccessControlUnauthorizedAccount: ({ account }) => [
    `${account} does not hold the role that this call needs.`,
    "Choose the account that holds it in your wallet.",
  ],
  AccessControlBadConfirmation: () => ["A role can be renounced by its holder only.", ""],
  AccessControlEnforcedDefaultAdminDelay: ({ schedule }) => [
    `The change of the admin is possible from ${time(schedule)} on.`,
    "Accept it then.",
  ],
  AccessControlEnforcedDefaultAdminRules: () => [
    "The admin is changed in two steps, not by granting or revoking the role.",
    "",
  ],
  AccessControlInvalidDefaultAdmin: ({ defaultAdmin }) => [
    `${defaultAdmin} is not the account that was proposed as admin.`,
    "",
  ],
  EnforcedPause: () => ["The contract is paused.", "Try again when it is not."],
  ExpectedPause: () => ["The contract is not paused.", ""],
  ReentrancyGuardReentrantCall: () => ["The contract was called again while it worked.", ""],
  InsufficientBalance: ({ balance, needed }) => [
    `The contract holds ${balance} wei, and ${needed} are needed.`,
    "",
  ],
  AddressEmptyCode: ({ target }) => [`There is no contract at ${target}.`, ""],
  FailedCall: () => ["A call within the transaction failed without a reason.", ""],
  SafeCastOverflowedUintDowncast: ({ bits, value }) => [
    `The number ${value} does not fit into ${bits} bits.`,
    "Choose a smaller amount.",
  ],
  StringTooLong: ({ str }) => [`The text is too long: ${str}.`, ""],
  InvalidShortString: () => ["A text of the contract's domain is broken.", ""],
  Panic: ({ code }) => [
    `The contract stopped on an arithmetic or memory fault (code ${code}).`,
    "",
  ],
  Error: ({ message }) => [`The contract says: ${message}.`, ""],
};

/**
 * The refusal of a revert's data.
 * @param {string | null} data 0x hex; null or "0x" where the node gave none
 * @returns {Refusal}
 */
export function refusalOf(data) {
  const error = data === null ? undefined : ERRORS[data.slice(0, 10).toLowerCase()];
  if (data === null || error === undefined) return unknownRefusal(data);
  try {
    const args = argumentsOf(error.inputs, data.slice(10));
    const words = SENTENCES[error.name];
    if (words === undefined) return unknownRefusal(data);
    const [sentence, next] = words(args);
    return { name: error.name, args, sentence, next };
  } catch {
    return unknownRefusal(data);
  }
}

/**
 * Name and arguments as Solidity has them, for those who know it.
 * @param {Refusal} refusal
 */
export function refusalText({ name, args }) {
  return `${name}(${Object.values(args).join(", ")})`;
}

/**
 * @param {string | null} data
 * @returns {Refusal}
 */
function unknownRefusal(data) {
  const bytes = data === null || data === "0x" ? "none" : plainText(data, 80);
  return {
    name: "",
    args: {},
    sentence: `The contract refuses the call for a reason that is not known here (data: ${bytes}).`,
    next: "",
  };
}

/**
 * @param {readonly (readonly [string, string])[]} inputs
 * @param {string} digits
 */
function argumentsOf(inputs, digits) {
  /** @type {Record<string, string>} */
  const args = {};
  inputs.forEach(([name, type], i) => {
    const word = digits.slice(64 * i, 64 * i + 64).toLowerCase();
    const isString = type === "string";
    args[name || String(i)] = isString ? plainText(stringOf(digits), 200) : read(word, type);
  });
  return args;
}

/**
 * @param {string} word
 * @param {string} type
 */
function read(word, type) {
  if (type === "address") return addressOfWord(word);
  if (type === "bool") return String(boolOf(word));
  if (type === "bytes32") return isText(word) ? textOfWord(word) : "0x" + checkedWord(word);
  if (type.startsWith("bytes")) return "0x" + checkedWord(word).slice(0, 2 * Number(type.slice(5)));
  return uintOf(word, Number(/\d+$/.exec(type)?.[0] ?? 256)).toString();
}

/** @param {string} word */
function checkedWord(word) {
  uintOf(word);
  return word;
}

/**
 * Whether the bytes are printable ASCII up to the zeros at the end, as the contracts' reasons are.
 * @param {string} word
 */
function isText(word) {
  return /^(?:[2-7][0-9a-f])+(?:00)*$/.test(word) && word.endsWith("00");
}

/** @param {string | undefined} seconds */
function time(seconds) {
  return timeText(BigInt(seconds ?? "0"));
}

/** @param {string | undefined} amount */
function usdc(amount) {
  return usdcText(BigInt(amount ?? "0"));
}
