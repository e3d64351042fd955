// A small line chart of the page's own colours.

import uPlot from "../vendor/uplot.js";
import { h } from "./dom.js";

const HEIGHT = 150;
const two = (number) => String(number).padStart(2, "0");

/** Times of the axis, with seconds where it is that fine. */
function clock(_, values, __, ___, step) {
  return values.map((value) => {
    const at = new Date(value * 1000);
    return `${two(at.getHours())}:${two(at.getMinutes())}${step < 60 ? `:${two(at.getSeconds())}` : ""}`;
  });
}

const colour = (name) => {
  // light-dark() is resolved by a property, not by the variable itself.
  const probe = h("span", { hidden: true, style: { color: `var(${name})` } });
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
};

/**
 * A chart in `place`; returns a function that takes new data. `lines`: [{label, colour, show(value)}];
 * `time`: whether x are seconds since 1970.
 */
export function chart(place, { title, lines, time = false }) {
  const box = h("div", { class: "plot" });
  const latest = h("span", { class: "muted" });
  place.append(h("figure", { class: "chart" }, h("h3", {}, title, " ", latest), box));
  const axis = { stroke: colour("--muted"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
  const series = lines.map((line) => ({ label: line.label, stroke: colour(line.colour), width: 2, spanGaps: true, points: { show: false }, value: (_, value) => (value === null ? "–" : line.show(value)) }));
  const options = {
    width: Math.max(box.clientWidth, 240), height: HEIGHT, cursor: { y: false }, legend: { live: true },
    scales: { x: { time }, y: { range: (_, low, high) => [Math.min(low ?? 0, 0), high > 0 ? high * 1.1 : 1] } },
    axes: [{ ...axis, size: 28, ...(time ? { values: clock, space: 80 } : {}) }, { ...axis, size: 52, values: (_, values) => values.map(lines[0].show) }],
    series: [{ label: time ? "Time" : "Step", value: (plot, value) => (value === null ? "–" : time ? clock(plot, [value], 0, 0, 1)[0] : String(value)) }, ...series],
  };
  const plot = new uPlot(options, [[], ...lines.map(() => [])], box);
  new ResizeObserver(() => plot.setSize({ width: Math.max(box.clientWidth, 200), height: HEIGHT })).observe(box);
  return (data) => {
    plot.setData(data);
    latest.textContent = lines.map((line, index) => line.show(data[index + 1].findLast((value) => value !== null) ?? 0)).join(" · ");
  };
}
