// The bash page: commands and what they print, as it comes; run one, stop one.

import { attempt, call, socketAddress } from "./api.js";
import { $, h } from "./dom.js";
import { Command } from "./command.js";
import { ResumingSocket } from "./socket.js";

const OPENED = 5; // newest commands that are opened at first
const MOST = 300; // commands on the page

const page = $("#bash");
const place = $("#commands");
const commands = new Map(); // id -> Command, in the order of the page from the newest
let oldest = null;

async function load(before) {
  const { items } = await call("GET", page.dataset.commands.slice($("meta[name=base]").content.length) + (before ? `?before=${before}` : ""));
  items.forEach((item, index) => {
    const known = commands.get(item.id);
    if (known) return known.update(item);
    const made = new Command(item);
    commands.set(item.id, made);
    // What came by the socket is newer than anything a page brings.
    const newer = !before && [...commands.values()].find((one) => one !== made && one.timestamp < item.timestamp);
    if (newer) newer.element.before(made.element);
    else place.append(made.element);
    if (item.running || (!before && index < OPENED)) made.open();
    return undefined;
  });
  if (items.length) oldest = Math.min(oldest ?? Infinity, ...items.map((item) => item.row));
  $("#older").hidden = items.length === 0 || commands.size >= MOST;
  $("#nothing").hidden = commands.size > 0;
}

function heard(event) {
  if (event.kind === "BashCommand") {
    if (commands.has(event.id)) return;
    const made = new Command({ ...event, running: true, exit_code: null }, true);
    commands.set(event.id, made);
    place.prepend(made.element);
    made.open();
    $("#nothing").hidden = true;
    while (commands.size > MOST) {
      const last = place.lastElementChild;
      commands.delete(last.dataset.command);
      last.remove();
    }
  } else if (event.kind === "BashOutput") commands.get(event.command_id)?.output(event);
}

let lost = false;
new ResumingSocket({
  address: () => socketAddress("/sockets/bash-events"),
  heard,
  state: (state) => {
    const banner = $("#banner");
    banner.hidden = state === "open";
    banner.textContent = "The connection is lost. Trying to reach the server again …";
    // What happened meanwhile, and what the server printed before the socket was open, is in the rows.
    if (state === "open") load().then(() => lost && commands.forEach((one) => one.again())).finally(() => { lost = false; }).catch(() => {});
    else lost = true;
  },
  check: async () => (await call("GET", "/server_info").catch(() => null)) !== null,
});

$("#start").addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = $("#start button");
  button.disabled = true;
  const body = { command: $("#command").value, timeout: Number($("#timeout").value) || 300 };
  if ($("#cwd").value) body.cwd = $("#cwd").value;
  if ((await attempt("POST", "/api/bash/start_bash_command", body)) !== undefined) $("#command").value = "";
  button.disabled = false;
});
$("#command").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $("#start").requestSubmit();
  }
});
$("#older").addEventListener("click", () => load(oldest));
$("#start button").disabled = false; // until here a click would send the form away
