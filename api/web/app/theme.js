// The colour scheme: the system's, light or dark. It is on the document before anything is drawn with it.

import { effect, signal } from "../vendor/signals.js";
import { recall, remember } from "./session.js";

const KEPT = "mandate-wallet.theme";
const THEMES = /** @type {const} */ (["system", "light", "dark"]);
/** @typedef {(typeof THEMES)[number]} Theme */

const kept = THEMES.find((one) => one === recall(KEPT));
export const theme = signal(/** @type {Theme} */ (kept ?? "system"));
effect(() => {
  document.documentElement.dataset.theme = theme.value === "system" ? "" : theme.value;
});

/** @returns {Theme} the one after this */
export function nextTheme() {
  return THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? "system";
}

export function turnTheme() {
  theme.value = nextTheme();
  remember(KEPT, theme.value);
}
