// What pages are made of: preact, htm, signals, and the pieces that every page shows alike.
//
// Every string from outside is text: htm makes elements and text nodes, never HTML.

import { useEffect, useErrorBoundary, useMemo, useRef, useState } from "../vendor/hooks.js";
import htm from "../vendor/htm.js";
import { h, render } from "../vendor/preact.js";
import { effect, signal, useSignal } from "../vendor/signals.js";

import { ago, cents, clock, shortHash, signOf, usdc } from "./format.js";
import { isArrival } from "./router.js";

export {
  effect,
  render,
  signal,
  useEffect,
  useErrorBoundary,
  useMemo,
  useRef,
  useSignal,
  useState,
};
/** @typedef {Event & {currentTarget: HTMLInputElement}} InputOf an event of a field */

/** @type {(strings: TemplateStringsArray, ...values: unknown[]) => any} */
export const html = htm.bind(h);

/** The present in milliseconds; ages on the page follow it. */
export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 5_000);

/**
 * An amount of USDC as the service gave it, with two decimals and all of them on hover. Unknown is a word with its
 * reason, never 0.
 * @param {{value: string | null | undefined, why?: string, signed?: boolean, unit?: boolean, exact?: boolean,
 *   moved?: boolean}} props `exact`: all decimals, where it is signed, sent or owed; `moved`: a sign that is no gain or loss
 */
export function Amount({ value, why, signed = false, unit = true, exact = false, moved = false }) {
  if (value === null || value === undefined) return html`<${Unknown} why=${why} />`;
  const sign = signed || moved ? signOf(value) : 0;
  const tone = moved || sign === 0 ? "" : sign < 0 ? "loss" : "settled";
  const whole = usdc(value);
  const text = exact ? whole : cents(value);
  return html`<span class=${tone} title=${text === whole ? undefined : `${whole} USDC`}>${sign > 0 ? "+" : ""}${text}${unit ? html` <span class="unit">USDC</span>` : null}</span>`;
}

/** @param {{why?: string | null}} props */
export function Unknown({ why }) {
  const reason = why ?? "The service does not know this now.";
  return html`<span class="unknown" title=${reason} tabindex="0" aria-label=${`unknown: ${reason}`}>unknown</span>`;
}

/**
 * @param {{label: any, children?: any, note?: any, small?: boolean}} props
 */
export function Figure({ label, children, note, small = false }) {
  return html`<div class="figure">
    <div class="label">${label}</div>
    <div class=${small ? "value small" : "value"}>${children}</div>
    ${note ? html`<div class="note">${note}</div>` : null}
  </div>`;
}

/** @param {{at: string | null | undefined, why?: string}} props a time, and how long ago it is */
export function Time({ at, why }) {
  if (!at) return html`<${Unknown} why=${why} />`;
  return html`<time datetime=${at} title=${clock(at)}>${ago(at, now.value)}</time>`;
}

/** @param {{value: string | null | undefined, label?: string}} props an address or a hash, whole when copied */
export function Hash({ value, label }) {
  if (!value) return html`<${Unknown} why="There is none yet." />`;
  const copy = () => navigator.clipboard?.writeText(value).catch(() => null); // where the browser allows it
  return html`<span class="row hash"
    ><code title=${value}>${shortHash(value)}</code
    ><button class="plain copy" type="button" onClick=${copy} aria-label=${`Copy ${label ?? "it"} ${value}`}
    ><svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true"><path d="M5.5 5.5h7v8h-7zM3.5 10.5v-8h7" fill="none" stroke="currentColor" /></svg></button
  ></span>`;
}

const TONES = /** @type {Readonly<Record<string, string>>} */ ({
  working: "settled",
  settled: "settled",
  stopped: "loss",
  cancelled: "",
  draft: "",
  signed: "attention",
});
const SIGNS = /** @type {Readonly<Record<string, string>>} */ ({
  loss: "■",
  attention: "▲",
  settled: "●",
});

/** @param {{status: string, paused?: boolean | null}} props the status of a mandate, with a sign beside its colour */
export function Status({ status, paused }) {
  if (paused) return html`<${Badge} tone="attention">paused<//>`;
  return html`<${Badge} tone=${TONES[status] ?? ""}>${status}<//>`;
}

/** @param {{tone?: string, children?: any}} props */
export function Badge({ tone = "", children }) {
  const sign = SIGNS[tone];
  return html`<span class=${`badge ${tone}`}>${sign ? html`<span aria-hidden="true">${sign}</span>` : null}${children}</span>`;
}

/** @param {{tone?: string, title: any, children?: any, role?: string}} props */
export function Notice({ tone = "", title, children, role }) {
  return html`<div class=${`notice ${tone}`} role=${role ?? (tone === "loss" ? "alert" : "status")}>
    <strong>${title}</strong>${children}
  </div>`;
}

/** @param {{title: string, children?: any}} props what to do first, where there is nothing yet */
export function Empty({ title, children }) {
  return html`<div class="empty"><h2>${title}</h2>${children}</div>`;
}

/**
 * The heading of a page: its name in the browser's tab too, and after a change of page in focus, so that a screen
 * reader says where it is; not when the visitor is in the new page already.
 * @param {{children?: any, text?: string}} props `text`: where the heading is not text alone
 */
export function Title({ children, text }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const name = text ?? String(children);
  useEffect(() => {
    document.title = `${name} · Mandate Wallet`;
  }, [name]);
  useEffect(() => {
    const isInside = document.activeElement?.closest("#main") ?? false;
    if (isArrival() && !isInside) box.current?.focus();
  }, []);
  return html`<h1 tabindex="-1" ref=${box}>${children}</h1>`;
}

/**
 * @param {{title: string, lead?: any, children?: any}} props `children`: the page's one or two main actions
 */
export function PageHead({ title, lead, children }) {
  return html`<header class="head">
    <div class="stack tight"><${Title}>${title}<//>${lead ? html`<p class="quiet">${lead}</p>` : null}</div>
    ${children ? html`<div class="row">${children}</div>` : null}
  </header>`;
}

/**
 * Save text as a file.
 * @param {string} name
 * @param {BlobPart} content
 * @param {string} [type]
 */
export function download(name, content, type = "text/plain") {
  const link = document.createElement("a");
  const url = URL.createObjectURL(new Blob([content], { type }));
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
