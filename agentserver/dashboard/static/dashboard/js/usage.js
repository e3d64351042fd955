// Tokens and cost of a conversation over its steps.

import { call } from "./api.js";
import { chart } from "./chart.js";
import { h } from "./dom.js";

const POINTS = 2000;
const whole = (value) => Math.round(value).toLocaleString("en").replaceAll(",", "\u202f");
export const short = (value) => (value >= 1e6 ? `${(value / 1e6).toFixed(1)} M` : value >= 1e3 ? `${(value / 1e3).toFixed(1)} k` : String(Math.round(value)));
export const dollars = (value) => (value === 0 ? "$0" : value < 0.1 ? `$${value.toFixed(4)}` : `$${value.toFixed(2)}`);

export class Usage {
  constructor(place, address, labels) {
    Object.assign(this, { place, address, labels });
    this.points = new Map(); // sequence -> usage up to there
  }

  /** The usage after event `seq`. */
  add(seq, used) {
    this.points.set(seq, used);
    if (this.points.size > POINTS) this.points.delete(this.points.keys().next().value);
    this.labels.tokens.textContent = whole(used.prompt + used.completion);
    this.labels.cost.textContent = dollars(used.cost);
    this.draw();
  }

  /** Called when the chart is looked at for the first time. */
  async open() {
    if (this.tokens) return;
    this.tokens = chart(this.place, { title: "Tokens", lines: [{ label: "in", colour: "--blue", show: short }, { label: "out", colour: "--green", show: short }] });
    this.cost = chart(this.place, { title: "Cost", lines: [{ label: "US dollars", colour: "--amber", show: dollars }] });
    this.place.append(h("p", { class: "help" }, "Sums up to each step, all models of the conversation together."));
    for (const { seq, ...used } of await call("GET", this.address)) if (!this.points.has(seq)) this.points.set(seq, used);
    this.draw();
  }

  draw() {
    if (!this.tokens) return;
    const points = [...this.points].sort(([a], [b]) => a - b).map(([, used]) => used);
    const steps = points.map((_, index) => index + 1);
    this.tokens([steps, points.map((one) => one.prompt), points.map((one) => one.completion)]);
    this.cost([steps, points.map((one) => one.cost)]);
  }
}
