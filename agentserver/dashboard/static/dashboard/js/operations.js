// The operations page: fetches the numbers, keeps an hour of samples, draws.

import { call } from "./api.js";
import { chart } from "./chart.js";
import { $, h } from "./dom.js";

const EVERY = 5000;
const KEPT = 720; // samples: an hour
const page = $("#operations");
const address = page.dataset.numbers.slice($("meta[name=base]").content.length);
let samples = [];

const whole = (value) => Math.round(value ?? 0).toLocaleString("en").replaceAll(",", "\u202f");
const count = (value, noun) => `${whole(value)} ${noun}${value === 1 ? "" : "s"}`;
const rate = (value) => (value >= 100 ? whole(value) : (value ?? 0).toFixed(1));
const seconds = (value) => (value === null || value === undefined ? "–" : value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(1)} s`);
const span = (value) => (value >= 86400 ? `${Math.floor(value / 86400)} d` : value >= 3600 ? `${Math.floor(value / 3600)} h` : value >= 60 ? `${Math.floor(value / 60)} min` : `${Math.round(value)} s`);

function bytes(value) {
  if (value === null || value === undefined) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(Math.floor(Math.log2(Math.max(value, 1)) / 10), units.length - 1);
  return `${(value / 1024 ** power).toFixed(power ? 1 : 0)} ${units[power]}`;
}

const charts = {
  running: chart($("#chart-running"), { title: "Running", time: true, lines: [{ label: "runs", colour: "--blue", show: (value) => (Number.isInteger(value) ? whole(value) : "") }] }),
  events: chart($("#chart-events"), { title: "Events a second", time: true, lines: [{ label: "events", colour: "--green", show: rate }] }),
  llm: chart($("#chart-llm"), { title: "Model’s answer", time: true, lines: [{ label: "mean", colour: "--amber", show: seconds }, { label: "failed", colour: "--red", show: whole }] }),
  requests: chart($("#chart-requests"), { title: "Requests a second", time: true, lines: [{ label: "requests", colour: "--accent", show: rate }] }),
};

function draw() {
  const times = samples.map((one) => one.time);
  const column = (name) => samples.map((one) => one[name]);
  charts.running([times, column("running")]);
  charts.events([times, column("events")]);
  charts.llm([times, column("llm_seconds"), column("llm_errors")]);
  charts.requests([times, column("requests")]);
}

function tell(name, text, bad = false) {
  const place = $(`[data-number="${name}"]`);
  place.textContent = text;
  place.classList.toggle("bad", bad);
}

function tiles({ process, stored, queued, statuses, webhooks }) {
  const running = statuses.find(([status]) => status === "running")[2];
  tell("running", whole(running));
  tell("running-more", `${whole(queued)} queued · this process ${whole(process.lanes_busy)} of ${whole(process.lanes_limit)}`);
  tell("interrupt", seconds(process.interrupt_p50));
  tell("interrupt-more", process.interrupts ? `95 % within ${seconds(process.interrupt_p95)}` : "none yet");
  tell("llm", seconds(process.llm_p50));
  tell("llm-more", process.llm_calls ? `95 % within ${seconds(process.llm_p95)} · ${whole(process.llm_calls)} calls` : "no call yet");
  const share = process.llm_errors / Math.max(process.llm_calls + process.llm_errors, 1);
  tell("errors", whole(process.llm_errors), share > 0.05);
  tell("errors-more", `${(share * 100).toFixed(1)} % of all calls`);
  tell("database", bytes(stored.bytes));
  tell("database-more", `${whole(stored.events)} events, ${whole(stored.bash_events)} of bash`);
  tell("disk", bytes(process.disk_free), process.disk_free < 2 ** 30);
  tell("disk-more", `writer queue ${whole(process.writer_queue)} · append 95 % ${seconds(process.append_p95)}`);
  tell("memory", bytes(process.memory));
  tell("memory-more", `up ${span(process.uptime)} · ${count(process.sockets, "socket")} · ${count(process.bash_running, "command")}`);
  webhooksTile(webhooks);
}

function webhooksTile({ webhooks, failing, disabled, events, conversations }) {
  if (!webhooks) {
    tell("webhooks", "–");
    tell("webhooks-more", "none configured");
    return;
  }
  tell("webhooks", `${whole(events + conversations)} waiting`, failing > 0);
  tell("webhooks-more", `${count(webhooks, "webhook")}, ${whole(failing)} failing, ${whole(disabled)} disabled`);
}

function tables({ runners, running, statuses }) {
  $("#statuses").replaceChildren(...statuses.filter(([, , count]) => count).map(([status, label, count]) =>
    h("a", { href: `${page.dataset.conversation.replace("conversations/", "")}?status=${status}` }, label, " ", h("span", {}, whole(count)))));
  $("#runners").replaceChildren(runners.length
    ? table(["Runner", "Running", "Load"], runners.map((one) => [one.runner || "where it was started", whole(one.running), meter(one.running, one.limit)]))
    : h("p", { class: "muted" }, "No conversation runs."));
  $("#running").replaceChildren(running.length
    ? table(["Conversation", "Runner", "Last event"], running.map((one) => [h("a", { href: page.dataset.conversation + one.id }, one.title), one.runner, `${span((Date.now() - Date.parse(one.at)) / 1000)} ago`]))
    : h("p", { class: "muted" }, "Nothing. Conversations that run are listed here, the quietest first."));
}

const meter = (value, limit) => h("meter", { min: 0, max: limit, high: limit * 0.9, optimum: 0, value, "aria-label": `${value} of ${limit}` });
const table = (heads, rows) => h("table", { class: "plain-table" }, h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))), h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell))))));

async function refresh() {
  const banner = $("#banner");
  try {
    const numbers = await call("GET", `${address}?since=${samples.at(-1)?.time ?? 0}`);
    samples = [...samples, ...numbers.samples].slice(-KEPT);
    tiles(numbers);
    tables(numbers);
    draw();
    banner.hidden = true;
  } catch (error) {
    banner.hidden = false;
    banner.textContent = error.message;
    if (error.status === 401) location.reload();
  }
}

refresh();
setInterval(() => document.visibilityState === "visible" && refresh(), EVERY);
