// The charts. Small ones are SVG that follows the page's colours by itself; worth and prices, which people zoom, are
// drawn by lightweight-charts, which is loaded when the first one is shown. Drawing alone turns money into floating
// point numbers; every figure beside a chart is text, and each chart has its figures as a table.

import { clock, day } from "./format.js";
import { theme } from "./theme.js";
import { html, useEffect, useRef, useState } from "./ui.js";

/** @typedef {{at: string, value: number | null, text: string}} PlotPoint `value` null: unknown, a gap; `text`: the figure */

/**
 * A line of a few pixels beside a figure. What is unknown is a gap.
 * @param {{points: readonly {at: string, value: number | null}[], label: string, isStep?: boolean, isWide?: boolean}} props
 */
export function Spark({ points, label, isStep = false, isWide = false }) {
  const { x, y } = scales(points, []);
  const known = points.flatMap((one) => (one.value === null ? [] : [one.value]));
  if (known.length < 2) return null;
  const tone = isStep ? "" : (known.at(-1) ?? 0) < (known[0] ?? 0) ? "loss" : "settled";
  return html`<svg class=${`spark ${tone} ${isWide ? "wide" : ""}`} viewBox="0 0 1000 1000" preserveAspectRatio="none" role="img" aria-label=${label}>
    <title>${label}</title>${lines(points, x, y, isStep).map((d) => html`<path d=${d} />`)}</svg>`;
}

/**
 * Figures over time, with a line at `base`. The pointer, or the arrow keys, read single points.
 * @param {{points: readonly PlotPoint[], label: string, name: string, text: (value: number) => string, base?: number,
 *   isStep?: boolean, tone?: string}} props `text`: what an axis says of a value; `name`: of the table's column
 */
export function Plot({ points, label, name, text, base, isStep = false, tone = "" }) {
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const { x, y, ticks, isFlat } = scales(points, base === undefined ? [] : [base]);
  const shown = points[at ?? points.length - 1];
  if (shown === undefined || isFlat)
    return html`<p class="quiet">Nothing was measured in this period.</p>`;
  const near = (/** @type {PointerEvent & {currentTarget: HTMLElement}} */ event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const wanted = (1000 * (event.clientX - box.left)) / box.width;
    const far = (/** @type {PlotPoint} */ one) => Math.abs(x(one) - wanted);
    setAt(
      points.reduce((best, one, index) => (far(one) < far(points[best] ?? one) ? index : best), 0),
    );
  };
  const turn = (/** @type {KeyboardEvent} */ event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    setAt(Math.max(0, Math.min(points.length - 1, (at ?? points.length - 1) + by)));
  };
  return html`<figure class="plot">
    <figcaption class="row"><span class="quiet">${shown.at.length > 10 ? clock(shown.at) : day(shown.at)}</span> <strong>${shown.text}</strong></figcaption>
    <div class="plot-box"><div class="plot-area" tabindex="0" role="img" aria-label=${`${label} The arrow keys read single points; the table below has them all.`}
        onPointerMove=${near} onPointerLeave=${() => setAt(null)} onKeyDown=${turn} onBlur=${() => setAt(null)}>
      <svg class=${tone} viewBox="0 0 1000 1000" preserveAspectRatio="none" aria-hidden="true">
        ${ticks.map((one) => html`<line class="grid" x1="0" x2="1000" y1=${y(one)} y2=${y(one)} />`)}
        ${base === undefined ? null : html`<line class="base" x1="0" x2="1000" y1=${y(base)} y2=${y(base)} />`}
        ${lines(points, x, y, isStep).map((d) => html`<path d=${d} />`)}
        ${at === null ? null : html`<line class="cursor" x1=${x(shown)} x2=${x(shown)} y1="0" y2="1000" />`}
      </svg></div>
      ${ticks.map((one) => html`<span class="tick" aria-hidden="true" style=${`top:${y(one) / 10}%`}>${text(one)}</span>`)}</div>
    <div class="head plot-foot" aria-hidden="true"><span>${day(points[0]?.at ?? "")}</span><span>${day(points.at(-1)?.at ?? "")}</span></div>
    <${Points} points=${points} name=${name} />
  </figure>`;
}

const TABLE_ROWS = 200;

/** @param {{points: readonly PlotPoint[], name: string}} props the newest last */
function Points({ points, name }) {
  return html`<details><summary>The same as a table</summary><div class="table" tabindex="0"><table>
    <thead><tr><th scope="col">When</th><th scope="col" class="number">${name}</th></tr></thead>
    <tbody>${points.slice(-TABLE_ROWS).map((one) => html`<tr><td>${one.at.length > 10 ? clock(one.at) : one.at}</td><td class="number">${one.text}</td></tr>`)}</tbody></table></div></details>`;
}

/**
 * How an amount came from what it was to what it is: a bar from each sum to the next, beside its figure.
 * @param {{label: string, rows: readonly {name: string, from: number, to: number, text: any, tone?: string}[]}} props
 */
export function Bridge({ label, rows }) {
  const all = rows.flatMap((one) => [one.from, one.to]);
  const [low, high] = [Math.min(0, ...all), Math.max(0, ...all)];
  const across = (/** @type {number} */ value) => (1000 * (value - low)) / (high - low || 1);
  return html`<table class="bridge" aria-label=${label}><tbody>${rows.map(
    (
      one,
    ) => html`<tr><th scope="row">${one.name}</th><td class="course"><svg class=${one.tone ?? ""} viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
      <rect x=${Math.min(across(one.from), across(one.to))} width=${Math.max(3, Math.abs(across(one.to) - across(one.from)))} y="0" height="10" /></svg></td><td class="number">${one.text}</td></tr>`,
  )}</tbody></table>`;
}

/**
 * Where points lie in a square of 1000, and at most four round values between the least and the most.
 * @param {readonly {at: string, value: number | null}[]} points @param {readonly number[]} others to be in sight too
 */
function scales(points, others) {
  const times = points.map((one) => Date.parse(one.at));
  const values = [...others, ...points.flatMap((one) => (one.value === null ? [] : [one.value]))];
  const [first = 0, last = 0] = [times[0], times.at(-1)];
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const room = (most - least) * 0.06 || Math.abs(most) * 0.01 || 1;
  const [low, high] = [least - room, most + room];
  return {
    isFlat: values.length === others.length,
    ticks: values.length === 0 ? [] : roundValues(low, high),
    x: (/** @type {{at: string}} */ one) =>
      last > first ? (1000 * (Date.parse(one.at) - first)) / (last - first) : 500,
    y: (/** @type {number} */ value) => 1000 - (1000 * (value - low)) / (high - low),
  };
}

/** @param {number} low @param {number} high */
function roundValues(low, high) {
  const raw = (high - low) / 4;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5].find((one) => one * size >= raw) ?? 10) * size;
  const first = Math.ceil(low / step);
  return Array.from(
    { length: Math.floor(high / step) - first + 1 },
    (_, at) => (first + at) * step,
  );
}

/**
 * Paths of the points, a new one after each gap.
 * @template {{at: string, value: number | null}} One
 * @param {readonly One[]} points @param {(one: One) => number} x @param {(value: number) => number} y @param {boolean} isStep
 */
function lines(points, x, y, isStep) {
  /** @type {string[]} */
  const found = [];
  let isOpen = false;
  for (const one of points) {
    if (one.value !== null) {
      const [across, down] = [x(one).toFixed(1), y(one.value).toFixed(1)];
      if (isOpen) found[found.length - 1] += isStep ? `H${across}V${down}` : `L${across} ${down}`;
      else found.push(`M${across} ${down}`);
    }
    isOpen = one.value !== null;
  }
  return found;
}

/**
 * A chart of the library, drawn again when `again` or the colours change.
 * @param {{draw: (box: HTMLElement) => Promise<() => void>, again: unknown[], label: string}} props
 */
export function Drawing({ draw, again, label }) {
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    let remove = () => {};
    let isGone = false;
    if (box.current)
      draw(box.current).then(
        (done) => {
          remove = done;
          if (isGone) done();
        },
        () => null, // a new version of the service: the table has the same
      );
    return () => {
      isGone = true;
      remove();
    };
  }, [...again, theme.value]);
  return html`<div class="chart" ref=${box} role="img" aria-label=${label}></div>`;
}

/**
 * @param {HTMLElement} box
 * @param {{points: {at: string, worth: string}[], markers: {at: string, text: string, isBad: boolean}[],
 *   mandate: import("./answers.js").MandateView}} shown
 * @returns {Promise<() => void>} takes it away
 */
export async function drawWorth(box, { points, markers, mandate }) {
  const { library, chart, of: colour } = await chartIn(box);
  const line = chart.addSeries(library.LineSeries, {
    color: colour("--ink"),
    lineWidth: 2,
    lineType: 1,
    priceLineVisible: false,
    priceFormat: { type: "custom", minMove: 0.01, formatter: worthText },
  });
  // the stop line is always in sight: how far away it is is what the owner looks for
  line.applyOptions({
    autoscaleInfoProvider: (/** @type {() => any} */ original) => {
      const found = original();
      const floor = Number(mandate.stop_floor_usdc);
      if (found?.priceRange) found.priceRange.minValue = Math.min(found.priceRange.minValue, floor);
      return found;
    },
  });
  line.setData(/** @type {any} */ (uniqueTimes(points)));
  const target =
    mandate.target_bps === null
      ? null
      : Number(mandate.budget_usdc) * (1 + mandate.target_bps / 10_000);
  for (const [title, price, name] of [
    ["stop line", Number(mandate.stop_floor_usdc), "--loss"],
    ["funded", Number(mandate.budget_usdc), "--ink-3"],
    ["target", target, "--settled"],
  ]) {
    if (price !== null)
      line.createPriceLine({
        price: Number(price),
        color: colour(String(name)),
        lineWidth: 1,
        lineStyle: 2,
        title: String(title),
      });
  }
  library.createSeriesMarkers(
    line,
    /** @type {any} */ (
      markers.map(({ at, text, isBad }) => ({
        time: seconds(at),
        position: "belowBar",
        shape: isBad ? "square" : "circle",
        color: colour(isBad ? "--loss" : "--ink-2"),
        size: 0.5,
        text: text === "action" ? "" : text,
      }))
    ),
  );
  chart.timeScale().fitContent();
  return () => chart.remove();
}

/**
 * One line of figures of a market.
 * @param {HTMLElement} box
 * @param {readonly {at: string, value: number}[]} points in the order of time
 * @param {string} colour the name of a token of tokens.css
 * @returns {Promise<() => void>} takes it away
 */
export async function drawSeries(box, points, colour) {
  const { library, chart, of } = await chartIn(box);
  const most = Math.max(...points.map((one) => Math.abs(one.value)));
  const precision = most >= 100 ? 2 : Math.min(8, 3 - Math.floor(Math.log10(most || 1)) + 2);
  const line = chart.addSeries(library.LineSeries, {
    color: of(colour),
    lineWidth: 2,
    priceLineVisible: false,
    priceFormat: { type: "custom", minMove: 10 ** -precision, formatter: axisText },
  });
  line.setData(/** @type {any} */ (points.map(({ at, value }) => ({ time: seconds(at), value }))));
  chart.timeScale().fitContent();
  return () => chart.remove();
}

/** 1000 is "1,000.00" on an axis. @param {number} value */
function worthText(value) {
  return value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
}

/** 18,280,102 is "18.28M" on an axis. @param {number} value */
function axisText(value) {
  return Math.abs(value) >= 1e6
    ? value.toLocaleString("en-US", { notation: "compact", maximumSignificantDigits: 4 })
    : value.toLocaleString("en-US", { maximumSignificantDigits: 6 });
}

/** An empty chart in the page's colours. @param {HTMLElement} box */
async function chartIn(box) {
  const library = await import("../vendor/charts.js");
  const style = getComputedStyle(document.documentElement);
  const of = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const chart = library.createChart(box, {
    autoSize: true,
    layout: {
      background: { color: "transparent" },
      textColor: of("--ink-2"),
      fontFamily: style.fontFamily,
      attributionLogo: false,
    },
    grid: { vertLines: { visible: false }, horzLines: { color: of("--line") } },
    rightPriceScale: { borderVisible: false },
    // both edges fixed: else the first and the last time are cut
    timeScale: { borderVisible: false, timeVisible: true, fixLeftEdge: true, fixRightEdge: true },
    handleScroll: { vertTouchDrag: false },
    handleScale: { mouseWheel: false },
  });
  return { library, chart, of };
}

/** @param {string} at */
function seconds(at) {
  return Math.floor(Date.parse(at) / 1000);
}

/** One point a second, the last one: the library takes rising times alone. @param {{at: string, worth: string}[]} points */
function uniqueTimes(points) {
  const found = new Map(points.map(({ at, worth }) => [seconds(at), Number(worth)]));
  return [...found].sort(([one], [other]) => one - other).map(([time, value]) => ({ time, value }));
}
