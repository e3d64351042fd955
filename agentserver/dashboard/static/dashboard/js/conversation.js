// The page of a conversation: its timeline over the socket, what can be done with it, its panel.

import { Refused, attempt, call, socketAddress } from "./api.js";
import { showChanges } from "./changes.js";
import { $, h, toast } from "./dom.js";
import { actionOf, messageOf, roleOf, statusOf, usageOf } from "./events.js";
import { shortcuts, step } from "./keys.js";
import { ResumingSocket } from "./socket.js";
import { Streams } from "./streams.js";
import { tabs } from "./tabs.js";
import { Timeline } from "./timeline.js";
import { Usage } from "./usage.js";

const page = $("#conversation");
const id = page.dataset.id;
const api = `/api/conversations/${id}`;
const LABELS = { running: "Running", waiting_for_confirmation: "Needs approval", idle: "Idle", paused: "Paused", finished: "Finished", error: "Failed", stuck: "Stuck" };
let status = page.dataset.status;
let last = Number(page.dataset.events) - 1; // the newest event that was given, in order

const context = { folds: new Map(), everything: false, running: () => status === "running", open: showJson };
const timeline = new Timeline({
  scroller: $("#scroller"),
  place: $("#timeline"),
  load: (first) => call("GET", `${new URL(page.dataset.chunks, location.href).pathname.slice(baseLength())}?first=${first}`),
  context,
  moved: (atEnd) => atEnd && ($("#jump").hidden = true),
  loaded: controls,
});
const streams = new Streams($("#live"));
const usage = new Usage($("#usage"), new URL(page.dataset.usage, location.href).pathname.slice(baseLength()), { tokens: $("#tokens"), cost: $("#cost") });

function baseLength() {
  return document.querySelector("meta[name=base]").content.length;
}

// What the socket says

new ResumingSocket({
  address: () => socketAddress(`/sockets/session/${id}?after_seq=${last}`),
  heard,
  state: connected,
  check: stillAllowed,
});

function heard(frame) {
  if (frame.type === "durable") durable(frame.seq, frame.event);
  else if (frame.type === "transient") stateOf(frame.event);
  else if (frame.type === "item_started") streams.begin(frame);
  else if (frame.type === "delta") streams.go(frame);
  else if (frame.type === "item_aborted") streams.end(frame.item_id);
  else if (frame.type === "error") toast(frame.detail);
  working();
}

/** Say that something goes on while nothing of it is to be seen yet. */
function working() {
  const seen = streams.streams.size > 0 || document.querySelector("#timeline .result.busy") !== null;
  $("#working").hidden = status !== "running" || seen;
}

function durable(seq, event) {
  last = Math.max(last, seq);
  streams.end(event.id);
  if (!timeline.add(seq, event)) return;
  if (roleOf(event) === "message" && event.source === "user") forgetPending();
  stateOf(event, seq);
  announce(event);
  if (!timeline.stuck && roleOf(event) !== "internal") $("#jump").hidden = false;
  $("#nothing").hidden = true;
  if (status === "waiting_for_confirmation") showApproval();
}

function stateOf(event, seq) {
  const said = statusOf(event);
  if (said) setStatus(said);
  const used = usageOf(event);
  if (used && seq !== undefined) usage.add(seq, used);
}

function setStatus(next) {
  if (next === status) return;
  status = next;
  const shown = $("#status");
  shown.className = `status ${LABELS[status] ? status : ""}`;
  shown.textContent = LABELS[status] ?? status;
  $("#announcer").textContent = `Status: ${shown.textContent}`;
  if (status !== "running") streams.clear();
  timeline.refreshOpen();
  controls();
}

function announce(event) {
  const message = roleOf(event) === "message" && messageOf(event);
  if (message && !message.user) $("#announcer").textContent = `Agent: ${message.said.slice(0, 200)}`;
}

// The connection

function connected(state) {
  const banner = $("#banner");
  banner.hidden = state === "open";
  if (state === "lost") {
    streams.clear(); // what has been said by then is sent when the connection is back
    banner.textContent = "The connection is lost. Trying to reach the server again …";
  }
  if (state === "gone") banner.textContent = "This conversation has been deleted.";
}

/** Before a reconnection: whether this person may still look. */
async function stillAllowed() {
  try {
    await call("GET", api);
  } catch (error) {
    if (!(error instanceof Refused) || (error.status !== 401 && error.status !== 404)) return true;
    if (error.status === 401) location.reload(); // to the login page
    else connected("gone");
    return false;
  }
  return true;
}

// What a person does

function controls() {
  const running = status === "running";
  $("#run").disabled = running || status === "waiting_for_confirmation";
  $("#pause").disabled = !running && status !== "idle";
  $("#interrupt").disabled = !running;
  $("#approval").hidden = status !== "waiting_for_confirmation";
  working();
  if (status === "waiting_for_confirmation") showApproval();
}

function showApproval() {
  const waiting = timeline.open().slice(-5).map((event) => actionOf(event)).map((one) => `${one.tool}: ${one.brief}`);
  $("#waiting").textContent = waiting.join(" · ") || "See the last actions of the timeline.";
}

async function press(name) {
  const button = $(`#${name}`);
  if (button.disabled) return;
  button.disabled = true;
  await attempt("POST", `${api}/${name}`);
  controls();
}

async function respond(accept) {
  if (status !== "waiting_for_confirmation") return;
  const reason = $("#reason").value.trim() || "Rejected in the dashboard";
  const body = accept ? { accept } : { accept, reason };
  if ((await attempt("POST", `${api}/events/respond_to_confirmation`, body)) !== undefined) $("#reason").value = "";
}

async function send() {
  const box = $("#message");
  const text = box.value.trim();
  if (!text || $("#send").disabled) return;
  $("#send").disabled = true;
  const pending = h("article", { class: "item message user pending" }, h("div", { class: "meta" }, "Sending …"), text);
  $("#live").append(pending);
  timeline.toEnd();
  const sent = await attempt("POST", `${api}/events`, { role: "user", content: [{ type: "text", text }], run: true });
  $("#send").disabled = false;
  if (sent === undefined) pending.remove();
  else {
    box.value = "";
    pending.firstChild.textContent = "Sent; the agent sees it before its next step";
    if (arrived(text)) pending.remove();
  }
}

/** Whether the event of the message came before the answer to its request did. */
function arrived(text) {
  for (let seq = last; seq > last - 20 && seq >= 0; seq--) {
    const event = timeline.events.get(seq);
    if (event && roleOf(event) === "message" && event.source === "user") return messageOf(event).said === text;
  }
  return false;
}

function forgetPending() {
  $("#live .pending")?.remove();
}

// Looking closer

async function showJson(event) {
  const whole = event.characters ? await attempt("GET", `${api}/events/${encodeURIComponent(event.id)}`) : event;
  if (!whole) return;
  const dialog = $("#json");
  $("pre", dialog).textContent = JSON.stringify(whole, null, 2);
  $("h2", dialog).textContent = String(whole.kind ?? "Event");
  dialog.showModal();
}

function toggleDetails() {
  const open = $("#panel").classList.toggle("open");
  $("#details").setAttribute("aria-expanded", String(open));
}

for (const name of ["run", "pause", "interrupt"]) $(`#${name}`).addEventListener("click", () => press(name));
$("#approve").addEventListener("click", () => respond(true));
$("#reject").addEventListener("click", () => respond(false));
$("#details").addEventListener("click", toggleDetails);
$("#jump").addEventListener("click", () => timeline.toEnd());
$("#shortcuts").addEventListener("click", () => $("#help").showModal());
$("#everything").addEventListener("change", ({ target }) => {
  context.everything = target.checked;
  timeline.refresh();
});
$("#composer").addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
$("#message").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    send();
  }
  if (event.key === "Escape") event.target.blur();
});
tabs($("#panel .tabs"), (shown) => {
  if (shown === "usage") usage.open();
  if (shown === "changes") showChanges($("#changes"), id, page.dataset.workspace);
});
shortcuts(
  {
    r: () => press("run"), p: () => press("pause"), i: () => press("interrupt"), a: () => respond(true), x: () => respond(false),
    j: () => step(1), k: () => step(-1), g: () => timeline.toStart(), G: () => timeline.toEnd(),
    "/": () => $("#message").focus(), "?": () => $("#help").showModal(), Escape: () => $("#panel").classList.contains("open") && toggleDetails(),
  },
  $("#keys-on"),
);

timeline.extend(last);
$("#nothing").hidden = last >= 0;
controls(); // until here the buttons are disabled, so that no click is lost
$("#send").disabled = false;
timeline.toEnd();
