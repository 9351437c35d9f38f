/** The API of the mandate wallet: `openapi-fetch` with the types of the service's OpenAPI document. */
import createFetchClient, { type Client, type ClientOptions } from "openapi-fetch";
import type { components, paths } from "./openapi.js";
import { type RowSigner, signingFetch } from "./signing.js";

export type { components, operations, paths } from "./openapi.js";
export type { RowSigner } from "./signing.js";
export type Schemas = components["schemas"];
export type MandateWallet = Client<paths>;

/** `session`: an owner's, from /auth/owner/login. `bearer`: an agent's, from /auth/agent/connect. `key`: an agent's API key. */
export type Credential = { session: string } | { bearer: string } | { key: string };

/**
 * `options.fetch` may be any fetch, such as one of @x402/fetch that pays what a call costs. `options.signer`, an account of viem, signs
 * the rows of the record that the calls write.
 */
export function createClient(
  baseUrl: string,
  credential?: Credential,
  { signer, ...options }: ClientOptions & { signer?: RowSigner } = {},
): MandateWallet {
  const headers = { ...(credential && headerOf(credential)), ...options.headers };
  const send = options.fetch ?? ((request: Request) => fetch(request));
  return createFetchClient<paths>({ ...options, baseUrl, headers, fetch: signer ? signingFetch(signer, send) : send });
}

function headerOf(credential: Credential): Record<string, string> {
  if ("key" in credential) return { "X-SVC-User-Key": credential.key };
  return { Authorization: `Bearer ${"session" in credential ? credential.session : credential.bearer}` };
}

/** A call that the service refused. `service` says why, who can fix it and with which calls; it is absent from answers of a proxy. */
export class Refused extends Error {
  readonly service: Schemas["Refusal"]["service"];

  constructor(
    readonly response: Response,
    readonly body: unknown,
  ) {
    const refusal: Partial<Schemas["Refusal"]> = typeof body === "object" && body !== null ? body : {};
    super(`${response.status} ${refusal.service?.reason ?? response.statusText}: ${refusal.detail ?? response.url}`);
    this.name = "Refused";
    this.service = refusal.service;
  }
}

/** The answer of a call of the client. Throws Refused when the service refused it. */
export async function answer<Body>(call: Promise<{ data?: Body; error?: unknown; response: Response }>): Promise<Body> {
  const { data, error, response } = await call;
  if (!response.ok) throw new Refused(response, error);
  return data as Body;
}
