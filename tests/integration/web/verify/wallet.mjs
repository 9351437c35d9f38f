// A wallet without a node: answers from a table, and counts what it is asked.
import { readFileSync } from "node:fs";
import { checksum, genesisHash, hexOf, keccak, utf8, chainHash, bytesOf, concat } from "../../../../api/web/verify/bytes.js";
import { canonical } from "../../../../api/web/verify/canonical.js";
import { termsDigest } from "../../../../api/web/verify/eip712.js";
import { VAULT_SHELL_HASH } from "../../../../api/web/verify/tables.js";

export const FACTORY = "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512";
export const VECTORS = JSON.parse(
  readFileSync(new URL("../../../vectors/mandate_terms.json", import.meta.url), "utf8"),
);
const CHAIN_ID = 84532;
const START = Date.parse("2026-02-02T09:00:00Z");

/** The terms of the first golden vector, which its signer signed. */
export const VECTOR = VECTORS.terms[0];

const timeOf = (seconds) => `${new Date(START + seconds * 1000).toISOString().slice(0, 19)}.000000Z`;

/** A paper record of so many rows: signed, deposited, then buys of the agent, `everyS` seconds. */
export function paperRecord(rows, { rowOf = buyRow, everyS = 1 } = {}) {
  const { message } = VECTOR.typed_data;
  const terms = { ...message };
  const numbers = Object.fromEntries(
    Object.entries(terms).map(([name, value]) => [name, /^[0-9]+$/.test(value) ? BigInt(value) : value]),
  );
  const digest = termsDigest(numbers, FACTORY, CHAIN_ID, 2);
  const genesis = genesisHash(terms.publicId);
  const first = {
    format: "mandate-record", version: 2, mandate_id: terms.publicId, market_mode: "paper",
    chain_id: CHAIN_ID, factory: FACTORY, vault: null, terms, rules: VECTOR.rules,
    guard_targets: VECTOR.guard_targets, terms_digest: digest, terms_version: 2,
    signature: VECTOR.signature, genesis_hash: genesis,
  };
  const lines = [first];
  let before = genesis;
  let cash = 0n;
  for (let seq = 1; seq <= rows; seq++) {
    const body = bodyOf(seq, timeOf(seq * everyS), digest, numbers.budgetUsdc, rowOf);
    cash += BigInt(body.cash_delta_usdc.replace(".", ""));
    const hash = chainHash(before, utf8(canonical(body)));
    lines.push({ body, prev_hash: before, row_hash: hash });
    before = hash;
  }
  const spent = numbers.budgetUsdc - cash;
  const usdc = (amount) => `${amount / 1_000_000n}.${String(amount % 1_000_000n).padStart(6, "0")}`;
  const totals = {
    status: "working", paused: false, cash_usdc: usdc(cash), deposited_usdc: usdc(numbers.budgetUsdc),
    spent_usdc: usdc(spent), received_usdc: "0.000000", withdrawn_usdc: "0.000000",
    paid_out_usdc: "0.000000",
  };
  lines.push({ head: { as_of: null, row_hash: before, seq: rows, totals } });
  return lines.map((line) => `${canonical(line)}\n`);
}

function bodyOf(seq, at, digest, budget, rowOf) {
  const frame = {
    seq, incarnation: 1, reverses_seq: null, amount_usdc: null, cash_delta_usdc: "0.000000",
    chain_id: null, tx_hash: null, log_index: null, block_number: null, block_hash: null,
    occurred_at: at, created_at: at,
  };
  if (seq === 1) {
    const payload = { terms_digest: digest, version: 2 };
    return { ...frame, kind: "signed", reported_by: "owner", base_key: "signed", payload };
  }
  if (seq === 2) {
    const amount = `${budget / 1_000_000n}.${String(budget % 1_000_000n).padStart(6, "0")}`;
    const money = { amount_usdc: amount, cash_delta_usdc: amount };
    const own = { kind: "deposit", reported_by: "owner", base_key: "paper_deposit" };
    return { ...frame, ...own, ...money, payload: { paper: true } };
  }
  return { ...frame, ...rowOf(seq) };
}

export function buyRow(seq) {
  return {
    kind: "buy", reported_by: "agent", base_key: `report:${seq.toString(16).padStart(32, "0")}`,
    chain_id: CHAIN_ID, amount_usdc: "0.001000", cash_delta_usdc: "-0.001000",
    payload: { target: VECTOR.rules[0].target, why: `row ${seq}` },
  };
}

/** An EIP-1193 function that knows the factory, and that the terms have no vault. */
export function wallet({ chainId = CHAIN_ID, digest = VECTOR.digest } = {}) {
  const asked = [];
  const parts = [FACTORY, digest, VAULT_SHELL_HASH].map(bytesOf);
  const vault = checksum(hexOf(keccak(concat(Uint8Array.of(0xff), ...parts)).subarray(12)));
  const request = async ({ method, params = [] }) => {
    asked.push({ method, params });
    if (method === "eth_chainId") return `0x${chainId.toString(16)}`;
    if (method === "eth_getCode") return params[0] === FACTORY ? "0x01" : "0x";
    if (method === "eth_call") return `0x${vault.slice(2).toLowerCase().padStart(64, "0")}`;
    if (method === "eth_blockNumber") return "0x10";
    if (method === "eth_getLogs") return [];
    throw Object.assign(new Error("method not found"), { code: -32601 });
  };
  return { request, asked, vault };
}
