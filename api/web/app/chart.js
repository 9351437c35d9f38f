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
  const style = getComputedStyle(document.documentElement);
  const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const chart = createChart(box, {
    autoSize: true,
    layout: {
      background: { color: "transparent" },
      textColor: colour("--ink-2"),
      fontFamily: style.fontFamily,
      attributionLogo: false,
    },
    grid: { vertLines: { visible: false }, horzLines: { color: colour("--line") } },
    rightPriceScale: { borderVisible: false },
    timeScale: { borderVisible: false, timeVisible: true },
    handleScroll: { vertTouchDrag: false },
    handleScale: { mouseWheel: false },
  });
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

/** @param {string} at */
function seconds(at) {
  return Math.floor(Date.parse(at) / 1000);
}

/** One point a second, the last one: the library takes rising times alone. @param {{at: string, worth: string}[]} points */
function uniqueTimes(points) {
  const found = new Map(points.map(({ at, worth }) => [seconds(at), Number(worth)]));
  return [...found].sort(([one], [other]) => one - other).map(([time, value]) => ({ time, value }));
}
