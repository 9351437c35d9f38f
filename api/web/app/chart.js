// The charts, drawn by lightweight-charts, which is loaded when the first one is shown. Drawing alone turns money
// into floating point numbers; every figure beside a chart is text.

import { createChart, createSeriesMarkers, LineSeries } from "../vendor/charts.js";

/**
 * @param {HTMLElement} box
 * @param {{points: {at: string, worth: string}[], markers: {at: string, text: string, isBad: boolean}[],
 *   mandate: import("./answers.js").MandateView}} shown
 * @returns {() => void} takes it away
 */
export function drawWorth(box, { points, markers, mandate }) {
  const { chart, of: colour } = chartIn(box);
  const line = chart.addSeries(LineSeries, {
    color: colour("--ink"),
    lineWidth: 2,
    lineType: 1,
    priceLineVisible: false,
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
  createSeriesMarkers(
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
 * @returns {() => void} takes it away
 */
export function drawSeries(box, points, colour) {
  const { chart, of } = chartIn(box);
  const most = Math.max(...points.map((one) => Math.abs(one.value)));
  const precision = most >= 100 ? 2 : Math.min(8, 3 - Math.floor(Math.log10(most || 1)) + 2);
  const line = chart.addSeries(LineSeries, {
    color: of(colour),
    lineWidth: 2,
    priceLineVisible: false,
    priceFormat: { type: "custom", minMove: 10 ** -precision, formatter: axisText },
  });
  line.setData(/** @type {any} */ (points.map(({ at, value }) => ({ time: seconds(at), value }))));
  chart.timeScale().fitContent();
  return () => chart.remove();
}

/** 18,280,102 is "18.28M" on an axis. @param {number} value */
function axisText(value) {
  return Math.abs(value) >= 1e6
    ? value.toLocaleString("en-US", { notation: "compact", maximumSignificantDigits: 4 })
    : value.toLocaleString("en-US", { maximumSignificantDigits: 6 });
}

/** An empty chart in the page's colours. @param {HTMLElement} box */
function chartIn(box) {
  const style = getComputedStyle(document.documentElement);
  const of = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const chart = createChart(box, {
    autoSize: true,
    layout: {
      background: { color: "transparent" },
      textColor: of("--ink-2"),
      fontFamily: style.fontFamily,
      attributionLogo: false,
    },
    grid: { vertLines: { visible: false }, horzLines: { color: of("--line") } },
    rightPriceScale: { borderVisible: false },
    timeScale: { borderVisible: false, timeVisible: true },
    handleScroll: { vertTouchDrag: false },
    handleScale: { mouseWheel: false },
  });
  return { chart, of };
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
