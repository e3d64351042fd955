// One bash command as a box that folds, with its output in order.

import { terminalText } from "./ansi.js";
import { attempt, call } from "./api.js";
import { h } from "./dom.js";

const KEPT = 400_000; // characters of output kept in the page
const PAGES = 20; // pages of a hundred outputs fetched for one command

export class Command {
  /** `item`: id, timestamp, command, cwd, running, exit_code. `live`: it began under our eyes. */
  constructor(item, live = false) {
    Object.assign(this, { id: item.id, timestamp: item.timestamp });
    this.outputs = new Map(); // order -> text
    this.complete = live;
    this.drawing = false;
    this.word = h("span", { class: "result" });
    this.stop = h("button", { class: "button danger small", type: "button", on: { click: () => this.end() } }, "Stop");
    this.screen = h("div", { class: "terminal", tabindex: 0, role: "region", "aria-label": "Output" });
    const head = h("summary", {}, h("span", { class: "brief" }, item.command.trim().split("\n", 1)[0]), h("time", { class: "result", datetime: item.timestamp }, item.timestamp.slice(0, 19).replace("T", " ")), this.word);
    const typed = h("div", { class: "terminal", tabindex: 0, role: "region", "aria-label": "Command" }, h("span", { class: "prompt" }, item.command));
    this.box = h("details", { class: "action" }, head, item.cwd && h("div", { class: "fields" }, `in ${item.cwd}`), typed, this.screen);
    this.box.addEventListener("toggle", () => this.box.open && this.fetch());
    this.element = h("article", { class: "command", "aria-label": "Bash command", data: { command: item.id } }, this.box, this.stop);
    this.update(item);
  }

  open() {
    this.box.open = true; // its toggle fetches
  }

  update({ running, exit_code: code }) {
    if (this.ended) return;
    this.ended = !running;
    this.stop.hidden = !running;
    this.word.className = running ? "result busy" : code === 0 ? "result good" : "result bad";
    this.word.textContent = running ? "running" : code === 0 ? "done" : code === null || code === undefined ? "ended" : `exit ${code}`;
    this.box.classList.toggle("bad", !running && code !== 0);
  }

  output(event) {
    this.outputs.set(event.order, (event.stdout ?? "") + (event.stderr ?? ""));
    if (event.exit_code !== null) this.update({ running: false, exit_code: event.exit_code });
    this.draw();
  }

  /** After a break: what was missed is fetched. */
  again() {
    this.complete = false;
    if (this.box.open) this.fetch();
  }

  async fetch() {
    if (this.complete) return;
    this.complete = true;
    const query = `/api/bash/bash_events/search?command_id__eq=${this.id}&limit=100`;
    try {
      for (let page = 0, next = null; page === 0 || (next && page < PAGES); page++) {
        const found = await call("GET", next ? `${query}&page_id=${encodeURIComponent(next)}` : query);
        found.items.forEach((event) => this.output(event));
        next = found.next_page_id;
      }
    } catch {
      this.complete = false; // asked again when it is opened again
    }
    this.draw();
  }

  draw() {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      const ends = this.screen.scrollHeight - this.screen.scrollTop - this.screen.clientHeight < 40;
      let text = [...this.outputs].sort(([a], [b]) => a - b).map(([, piece]) => piece).join("");
      if (text.length > KEPT) text = text.slice(-KEPT);
      this.screen.replaceChildren(...terminalText(text));
      this.screen.hidden = text === "";
      if (ends) this.screen.scrollTop = this.screen.scrollHeight;
    });
  }

  end() {
    attempt("POST", `/api/bash/bash_commands/${this.id}/stop`);
  }
}
