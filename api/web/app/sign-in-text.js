// The text of a sign-in (EIP-4361), before the wallet is asked to sign it.

import { WalletError } from "./wallet-errors.js";

const WANTS = " wants you to sign in with your Ethereum account:";
const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])(?=:|$)/;

/**
 * It is for this site and this account, so that the signature opens no other site. Errors: WalletError.
 * @param {unknown} text as the service wrote it @param {{host: string, address: string}} here
 */
export function requireSignIn(text, { host, address }) {
  const [first = "", account = ""] = typeof text === "string" ? text.split("\n") : [];
  const site = first.endsWith(WANTS) ? first.slice(0, -WANTS.length) : "";
  const isHere = site.replace(LOOPBACK, "localhost") === host.replace(LOOPBACK, "localhost");
  if (isHere && account.toLowerCase() === address.toLowerCase()) return;
  throw new WalletError("failed", {
    message: "The service asks you to sign in somewhere else, or as somebody else.",
    next: "Your wallet was not asked. Check the address of this page, and load it again.",
    detail: `${first} ${account}`,
  });
}
