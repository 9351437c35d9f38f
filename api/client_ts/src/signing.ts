/** Rows of a record signed by who writes them, as docs/record.md describes them. What is signed is made here out of the call itself. */
import type { Address, Hex, LocalAccount } from "viem";

/** Such as viem's privateKeyToAccount gives. */
export type RowSigner = Pick<LocalAccount, "address" | "signTypedData">;

interface Place {
  reported_by: "agent" | "owner";
  sequence: number;
  prev: Hex;
  signers: string[];
  domain: { name: string; version: string; chainId: number; verifyingContract: Address };
  market_mode: "paper" | "testnet";
}
interface Row {
  kind: string;
  amount?: unknown;
  txHash?: unknown;
  payload: Record<string, unknown>;
}
type Body = Record<string, unknown>;

const PATH = /^(.*\/mandate-wallet\/mandates\/([^/]+))\/(events|refusals|stop|cancel)$/;
const ATTEMPTS = 5; // as many of one author's rows may be under way at once
const NO_TRANSACTION = `0x${"00".repeat(32)}`;
const CREDENTIALS = ["authorization", "x-svc-user-key"];
const RECORD_ROW = [
  { name: "mandate", type: "string" },
  { name: "sequence", type: "uint64" },
  { name: "prev", type: "bytes32" },
  { name: "kind", type: "string" },
  { name: "amountUsdc", type: "string" },
  { name: "txHash", type: "bytes32" },
  { name: "payloadHash", type: "bytes32" },
] as const;

/** A fetch that signs the rows which its calls write; a row that is out of order is signed again where the service says. */
export function signingFetch(signer: RowSigner, send: (request: Request) => Promise<Response>): (request: Request) => Promise<Response> {
  const places = new Map<string, Place>();
  return async (request) => {
    const [, mandate = "", id = "", call = ""] = PATH.exec(new URL(request.url).pathname) ?? [];
    if (request.method !== "POST" || !mandate) return send(request);
    const text = await request.clone().text();
    const body: Body = text ? JSON.parse(text) : {};
    if ("author" in body) return send(request);
    let place = places.get(id);
    places.delete(id);
    if (!place) {
      const headers = [...request.headers].filter(([name]) => CREDENTIALS.includes(name));
      const asked = await send(new Request(new URL(`${mandate}/author`, request.url), { headers }));
      if (!asked.ok) return asked;
      place = (await asked.json()) as Place;
    }
    for (let attempt = 1; ; attempt++) {
      const row = rowOf(call, body, place);
      if (row === undefined || !place.signers.includes(signer.address)) return send(request);
      const author = await signed(signer, id, row, place);
      const headers = new Headers(request.headers);
      headers.set("content-type", "application/json");
      const response = await send(new Request(request, { headers, body: JSON.stringify({ ...body, author }) }));
      const answer = await json(response);
      const expected = answer.expected as Pick<Place, "prev" | "sequence"> | undefined;
      const event = answer.event as { row_hash: Hex; signed_by: string | null } | undefined;
      const isOutOfOrder = (answer.service as Body | undefined)?.reason === "author_out_of_order";
      if (isOutOfOrder && expected && attempt < ATTEMPTS) {
        place = { ...place, ...expected };
        continue;
      }
      if (response.ok && event?.signed_by === signer.address)
        places.set(id, { ...place, sequence: place.sequence + 1, prev: event.row_hash });
      return response;
    }
  };
}

/** The row that a call writes; undefined: it writes none. */
function rowOf(call: string, body: Body, place: Place): Row | undefined {
  if (call === "events") {
    return { kind: String(body.kind), amount: body.amount_usdc, txHash: body.tx_hash, payload: reported(body) };
  }
  if (call === "refusals") return { kind: "note", txHash: body.tx_hash, payload: { refusal: refusal(body) } };
  if (call === "cancel") return { kind: "note", payload: { cancelled: true } };
  const by = place.reported_by;
  if (place.market_mode === "paper") return { kind: "stop", payload: { stopped: { by, reason: by, worth_usdc: null } } };
  return by === "agent" ? { kind: "note", payload: { stop_requested: true } } : undefined;
}

/** The payload of the row that a report writes, as the service keeps it: texts as NFC, names of fields as they are. */
export function reported(sent: Record<string, unknown>): Record<string, unknown> {
  const beside = Object.entries({ detail: sent.detail, why: sent.why }).filter(([, value]) => value !== undefined && value !== null);
  return composed({ ...(sent.payload as object | undefined), ...Object.fromEntries(beside) }) as Record<string, unknown>;
}

function composed(value: unknown): unknown {
  if (typeof value === "string") return value.normalize("NFC");
  if (Array.isArray(value)) return value.map(composed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, composed(item)]));
}

function refusal(body: Body): Body {
  const refused = { reason: body.reason, source: "agent", reason_source: "agent", check: "reported", server_check: "unconfirmed" };
  const amount = amountText(body.amount_usdc);
  return amount ? { ...refused, attempted: { amount_usdc: amount } } : refused;
}

async function signed(signer: RowSigner, mandate: string, row: Row, place: Place): Promise<Body> {
  const { name, version } = place.domain;
  if (name !== "Mandate Wallet Record" || version !== "1") throw new Error(`not signed: ${name} ${version} is not the domain of a record's rows`);
  const { keccak256, stringToHex } = await import("viem");
  const message = {
    mandate,
    sequence: BigInt(place.sequence),
    prev: place.prev,
    kind: row.kind,
    amountUsdc: amountText(row.amount),
    txHash: String(row.txHash ?? NO_TRANSACTION).toLowerCase() as Hex,
    payloadHash: keccak256(stringToHex(canonical(row.payload))),
  };
  const document = { types: { RecordRow: RECORD_ROW }, primaryType: "RecordRow", domain: place.domain, message } as const;
  const signature = await signer.signTypedData(document);
  return { signer: signer.address, sequence: place.sequence, prev: place.prev, signature };
}

/** An amount as a record writes it: six decimals; empty when there is none. */
function amountText(amount: unknown): string {
  if (amount === undefined || amount === null) return "";
  const [, sign = "", whole, part = ""] = /^(-?)(\d+)(?:\.(\d{1,6}))?$/.exec(String(amount)) ?? [];
  if (whole === undefined) throw new Error(`amount_usdc: write an amount such as "12.500000", not ${amount}`);
  const text = `${BigInt(whole)}.${part.padEnd(6, "0")}`;
  return /[1-9]/.test(text) ? sign + text : text;
}

/** RFC 8785 of what a record holds; it holds no fractions. */
export function canonical(value: unknown): string {
  if (typeof value === "number" && !Number.isSafeInteger(value)) throw new Error(`payload: write ${value} as text; a record has no fractions`);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).filter(([, one]) => one !== undefined);
  members.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join(",")}}`;
}

async function json(response: Response): Promise<Body> {
  try {
    return (await response.clone().json()) as Body;
  } catch {
    return {};
  }
}
