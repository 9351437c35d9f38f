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
 * The refusals that an owner meets, and those of OpenZeppelin's contracts; what is not here is explained by
 * its meaning in our contracts.
 */
/** @type {Readonly<Record<string, Words>>} */
const OWNER_WORDS = {
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
    const words = OWNER_WORDS[error.name];
    const [sentence, next] = words === undefined ? [meaning(error), ""] : words(args);
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

/** @param {{name: string, meaning: string}} error */
function meaning(error) {
  return `The contract refuses the call: ${error.meaning.replace(/^Thrown /, "")}`;
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
