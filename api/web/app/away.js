// Alerts that were put away in this browser. The service keeps every alert; this is only what the pages show first.

import { recall, remember } from "./session.js";
import { signal } from "./ui.js";

const KEPT = "mandate-wallet.away";
const MOST = 500; // the oldest come back

const away = signal(/** @type {ReadonlySet<string>} */ (new Set((recall(KEPT) ?? "").split(" "))));

/** @param {number} id */
export function isAway(id) {
  return away.value.has(String(id));
}

/** @param {number} id @param {boolean} isAway */
export function putAway(id, isAway) {
  const others = [...away.value].filter((one) => one !== "" && one !== String(id));
  away.value = new Set((isAway ? [...others, String(id)] : others).slice(-MOST));
  remember(KEPT, [...away.value].join(" "));
}
