/** Receipts of the rows that calls write, checked and kept, as docs/record.md describes them; `verify-record --receipt` takes them. */
import type { Address, Hex } from "viem";
import { canonical, reported } from "./signing.js";

/** The service's signature over a row that it wrote. */
export interface Receipt {
  mandate_id: string;
  chain_id: number;
  factory: Address;
  seq: number;
  row_hash: Hex;
  epoch: number;
  signer: Address;
  signature: Hex;
}
/**
 * `keep`: called with each. `signer`: whose receipts count, the service's published address, or several around a rotation of its key;
 * every row must then have one.
 */
export interface ReceiptOptions {
  keep?: (receipt: Receipt) => void | Promise<void>;
  signer?: Address | readonly Address[];
}
interface Line {
  body: { seq: number; created_at: string; kind: string; payload: Record<string, unknown> };
  prev_hash: Hex;
  row_hash: Hex;
}
interface Written {
  receipt?: Receipt | null;
  record_line?: Line | null;
  event?: { id: number; row_hash: Hex };
  service?: unknown;
}

/** The service took the call, and its receipt is missing or wrong. The row may be in the record: read it before the call is repeated. */
export class BadReceipt extends Error {
  constructor(
    why: string,
    readonly answer: unknown,
  ) {
    super(`the call was answered, but its receipt proves nothing: ${why}`);
    this.name = "BadReceipt";
  }
}

const PATH = /\/mandate-wallet\/mandates\/([^/]+)\/(events|refusals|stop|cancel|sign|execute-call)$/;
const EPOCH_S = 3600;
const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;
const SERVICE_KEYS = ["unseen", "violation"];
const RECORD_RECEIPT = [
  { name: "mandate", type: "string" },
  { name: "seq", type: "uint64" },
  { name: "rowHash", type: "bytes32" },
  { name: "epoch", type: "uint64" },
] as const;

/** A fetch that checks the receipts of what it is answered, and keeps them. It fails with BadReceipt. */
export function keepingFetch(options: ReceiptOptions, send: (request: Request) => Promise<Response>): (request: Request) => Promise<Response> {
  const signers = options.signer === undefined ? [] : [options.signer].flat();
  return async (request) => {
    const [, id = "", call = ""] = PATH.exec(new URL(request.url).pathname) ?? [];
    if (request.method !== "POST" || !id) return send(request);
    const sent = await request.clone().text();
    const response = await send(request);
    const answer = await written(response);
    if (!answer?.record_line) {
      if (signers.length && answer && response.ok && (call === "sign" || answer.event)) throw new BadReceipt("there is none", answer);
      return response;
    }
    const { record_line: line, receipt } = answer;
    try {
      await checkLine(answer, line);
      if (call === "events" && !answer.service) checkSent(JSON.parse(sent), line.body);
      if (receipt) await checkReceipt(decodeURIComponent(id), line, receipt, signers);
    } catch (error) {
      throw new BadReceipt(error instanceof Error ? error.message : String(error), answer);
    }
    if (!receipt && signers.length) throw new BadReceipt("there is none", answer);
    if (receipt) await options.keep?.(receipt);
    return response;
  };
}

async function written(response: Response): Promise<Written | undefined> {
  try {
    return (await response.clone().json()) as Written;
  } catch {
    return undefined;
  }
}

/** The row's line gives its hash, and is that of the event. */
async function checkLine(answer: Written, line: Line): Promise<void> {
  const { concat, sha256, stringToHex } = await import("viem");
  require(line.row_hash === sha256(concat([line.prev_hash, stringToHex(canonical(line.body))])), "record_line does not give its row_hash");
  const { event } = answer;
  require(!event || (event.id === line.body.seq && event.row_hash === line.row_hash), "event and record_line are different rows");
}

function checkSent(sent: Record<string, unknown>, body: Line["body"]): void {
  const own = Object.fromEntries(Object.entries(body.payload).filter(([name]) => !SERVICE_KEYS.includes(name)));
  require(body.kind === sent.kind && canonical(own) === canonical(reported(sent)), "the row is not what was sent");
}

async function checkReceipt(mandate: string, line: Line, receipt: Receipt, signers: readonly Address[]): Promise<void> {
  const { isAddressEqual, recoverTypedDataAddress } = await import("viem");
  const epoch = Math.floor(Date.parse(line.body.created_at) / 1000 / EPOCH_S);
  require(receipt.mandate_id === mandate, "it is of another mandate");
  require(receipt.seq === line.body.seq && receipt.row_hash === line.row_hash, "it is of another row");
  require(receipt.epoch === epoch, "it is of another hour");
  require(!signers.length || signers.some((one) => isAddressEqual(receipt.signer, one)), `it is signed by ${receipt.signer}`);
  require(/^0x[0-9a-f]{128}(1b|1c)$/.test(receipt.signature), "its signature has another form");
  require(BigInt(`0x${receipt.signature.slice(66, 130)}`) <= HALF_ORDER, "its signature is malleable");
  const found = await recoverTypedDataAddress({
    domain: { name: "Mandate Wallet Record", version: "1", chainId: receipt.chain_id, verifyingContract: receipt.factory },
    types: { RecordReceipt: RECORD_RECEIPT },
    primaryType: "RecordReceipt",
    message: { mandate, seq: BigInt(receipt.seq), rowHash: receipt.row_hash, epoch: BigInt(receipt.epoch) },
    signature: receipt.signature,
  });
  require(found === receipt.signer, `${receipt.signer} did not sign it`);
}

function require(holds: boolean, why: string): void {
  if (!holds) throw new Error(why);
}
