// Where the visitor is: `#/mandates/m_abc?sort=-worth`. The hash belongs to the page alone, so that a link works
// from any place and needs nothing of the server.

import { signal } from "../vendor/signals.js";

/** @typedef {{path: string[], query: URLSearchParams}} Place */

/** @returns {Place} */
function read() {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map(decoded);
  return { path: parts.length > 0 ? parts : ["mandates"], query: new URLSearchParams(query) };
}

/** @param {string} part */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const place = signal(read());
let isNewPage = false;
addEventListener("hashchange", () => {
  const next = read();
  const [page, of] = next.path;
  if (page !== place.value.path[0] || of !== place.value.path[1]) isNewPage = true;
  place.value = next;
});

/** Whether another page was asked for and its heading was not announced yet; true once. */
export function isArrival() {
  const was = isNewPage;
  isNewPage = false;
  return was;
}

/**
 * @param {...string} path
 * @returns {string} what a link's href is
 */
export function link(...path) {
  return `#/${path.map(encodeURIComponent).join("/")}`;
}

/** @param {...string} path */
export function go(...path) {
  location.hash = link(...path);
}

/**
 * Put a page's state into its address, without a step in the history; null takes it out.
 * @param {Record<string, string | null>} values
 */
export function setQuery(values) {
  const query = new URLSearchParams(place.value.query);
  for (const [name, value] of Object.entries(values)) {
    if (value === null || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  history.replaceState(null, "", `${link(...place.value.path)}${text ? `?${text}` : ""}`);
  place.value = { ...place.value, query };
}
