// Every table: sort, filter, CSV, state in the address; long ones draw only the rows in sight.

import { counted, words } from "./format.js";
import { place, setQuery } from "./router.js";
import { download, html, useEffect, useMemo, useRef, useState } from "./ui.js";

const ROW_PX = 46; // app.css holds rows of .table.virtual to it
const SPARE_ROWS = 12;
const VIRTUAL_FROM = 200;

/**
 * `sortBy` gives what rows are ordered by, `text` what a filter finds and a CSV holds; null is unknown and last. A column
 * with a `unit` is of numbers that the page shows rounded: a CSV has the whole number that it is sorted by. One that
 * `isBeside` is shown in another one's cells: it is found by the filter, and in the CSV.
 * @template Row
 * @typedef {{key: string, label: string, isNumber?: boolean, isName?: boolean, isBeside?: boolean, hint?: string, unit?: string,
 *   sortBy?: (row: Row) => bigint | number | string | null, text: (row: Row) => string | null,
 *   show?: (row: Row) => any}} Column
 */

/**
 * @param {{name: string, label: string, columns: Column<any>[], rows: any[], keyOf: (row: any) => string | number,
 *   sort?: string, children?: any, filter?: boolean, total?: any}} props `name`: of the CSV and of its part of the
 *   address; `total`: a row that stays last
 */
export function Table({
  name,
  label,
  columns,
  rows,
  keyOf,
  sort = "",
  children,
  filter = true,
  total,
}) {
  const query = place.value.query;
  const order = query.get(`${name}.sort`) ?? sort;
  const wanted = query.get(`${name}.q`) ?? "";
  const shown = useMemo(
    () => ordered(filtered(rows, columns, wanted), columns, order),
    [rows, rows.length, wanted, order],
  );
  const isLong = shown.length > VIRTUAL_FROM;
  const drawn = columns.filter((column) => !column.isBeside);
  return html`<div class="stack tight">
    <div class="toolbar">
      ${
        filter
          ? html`<input type="search" placeholder="Filter" aria-label=${`Filter ${label}`} value=${wanted} data-search
            onInput=${(/** @type {any} */ event) => setQuery({ [`${name}.q`]: event.target.value })} />`
          : null
      }
      ${children}
      <span class="quiet">${shown.length === rows.length ? counted(rows.length, "row") : `${shown.length} of ${counted(rows.length, "row")}`}</span>
      <button type="button" class="plain" onClick=${() => download(`${name}.csv`, csv(columns, shown), "text/csv")}>CSV</button>
    </div>
    <${isLong ? LongBody : Body} ...${{ name, label, columns: drawn, rows: shown, keyOf, order, total }} />
  </div>`;
}

/** @param {any} props */
function Body({ name, label, columns, rows, keyOf, order, total }) {
  return html`<div class="table" tabindex="0" role="region" aria-label=${label}><table>
    <${Head} ...${{ name, columns, order }} />
    <tbody>${rows.map((/** @type {any} */ row) => html`<${Row} key=${keyOf(row)} ...${{ row, columns }} />`)}</tbody>
    ${total ? html`<tfoot><${Row} ...${{ row: total, columns }} /></tfoot>` : null}
  </table></div>`;
}

/** @param {any} props */
function LongBody({ name, label, columns, rows, keyOf, order }) {
  const box = useRef(/** @type {any} */ (null));
  const [top, setTop] = useState(0);
  useEffect(() => {
    const element = box.current;
    let frame = 0;
    const follow = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => setTop(Math.floor(element.scrollTop / ROW_PX)));
    };
    element.addEventListener("scroll", follow, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      element.removeEventListener("scroll", follow);
    };
  }, []);
  const first = Math.max(0, top - SPARE_ROWS);
  const last = Math.min(rows.length, top + 30 + SPARE_ROWS);
  const space = (/** @type {number} */ count) =>
    count > 0
      ? html`<tr aria-hidden="true"><td colspan=${columns.length} style=${`height:${count * ROW_PX}px;padding:0;border:0`}></td></tr>`
      : null;
  return html`<div class="table virtual" ref=${box} tabindex="0" role="region" aria-label=${label}>
    <table aria-rowcount=${rows.length}>
      <${Head} ...${{ name, columns, order }} />
      <tbody>
        ${space(first)}
        ${rows.slice(first, last).map((/** @type {any} */ row) => html`<${Row} key=${keyOf(row)} isFixed ...${{ row, columns }} />`)}
        ${space(rows.length - last)}
      </tbody>
    </table>
  </div>`;
}

/** @param {any} props */
function Head({ name, columns, order }) {
  const current = order.replace(/^-/, "");
  const turn = (/** @type {string} */ key) =>
    setQuery({
      [`${name}.sort`]: order === `-${key}` ? key : order === key ? `-${key}` : `-${key}`,
    });
  return html`<thead><tr>${columns.map(
    (
      /** @type {Column<any>} */ column,
    ) => html`<th scope="col" class=${column.isNumber ? "number" : ""} title=${column.hint}
      aria-sort=${current !== column.key ? "none" : order.startsWith("-") ? "descending" : "ascending"}>
      ${
        column.sortBy
          ? html`<button type="button" onClick=${() => turn(column.key)}>${column.label}${current === column.key ? (order.startsWith("-") ? " ↓" : " ↑") : ""}</button>`
          : column.label
      }
    </th>`,
  )}</tr></thead>`;
}

/** @param {any} props */
function Row({ row, columns, isFixed = false }) {
  return html`<tr class=${isFixed ? "fixed" : undefined}>${columns.map(
    (/** @type {Column<any>} */ column) =>
      html`<td class=${column.isNumber ? "number" : column.isName ? "name" : ""}>${column.show ? column.show(row) : column.text(row)}</td>`,
  )}</tr>`;
}

/** @param {any[]} rows @param {Column<any>[]} columns @param {string} wanted */
function filtered(rows, columns, wanted) {
  const sought = wanted.trim().toLowerCase();
  if (sought === "") return rows;
  return rows.filter((row) =>
    columns.some((column) => (column.text(row) ?? "").toLowerCase().includes(sought)),
  );
}

/** @param {any[]} rows @param {Column<any>[]} columns @param {string} order */
export function ordered(rows, columns, order) {
  const column = columns.find((one) => one.key === order.replace(/^-/, ""));
  const by = column?.sortBy;
  if (by === undefined) return rows;
  const sign = order.startsWith("-") ? -1 : 1;
  return [...rows].sort((one, other) => {
    const [a, b] = [by(one), by(other)];
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    return a < b ? -sign : a > b ? sign : 0;
  });
}

/**
 * RFC 4180. A cell that a spreadsheet would run as a formula begins with an apostrophe.
 * @param {Column<any>[]} columns
 * @param {any[]} rows
 */
export function csv(columns, rows) {
  const cell = (/** @type {string | null} */ text) => {
    const value = text === null ? "" : /^[=+@\t\r]|^-(?![\d.]+$)/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
  };
  const value = (/** @type {Column<any>} */ column, /** @type {any} */ row) => {
    const number = column.unit === undefined ? null : (column.sortBy?.(row) ?? null);
    return number === null ? column.text(row) : String(number);
  };
  const head = columns.map((column) => cell(words(`${column.key} ${column.unit ?? ""}`.trim())));
  const lines = rows.map((row) => columns.map((column) => cell(value(column, row))).join(","));
  return `${[head.join(","), ...lines].join("\r\n")}\r\n`;
}
