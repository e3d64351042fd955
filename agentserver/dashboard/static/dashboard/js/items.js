// One event of the timeline as an element; an action together with its result.

import { terminalText } from "./ansi.js";
import { difference } from "./diff.js";
import { h } from "./dom.js";
import { actionOf, editOf, errorText, markerText, messageOf, resultOf, roleOf } from "./events.js";
import { rendered } from "./markdown.js";

const LONG = 4000; // characters of a result from which on it starts folded
const TOOLS = { terminal: "Terminal", file_editor: "File", task_tracker: "Tasks", finish: "Finished", think: "Thinking", browser: "Browser" };

/**
 * The element for `event`, or null for what people need not see. `context`: `result` (event or
 * null), `busy` (whether it may still come), `folds` (Map: what was opened or closed by hand),
 * `everything` (show internal events), `open(event)` (show its JSON).
 */
export function item(event, context) {
  const build = { message, action, result, error, marker, internal }[roleOf(event)];
  const shown = event.characters ? large(event) : build(event, context);
  if (!shown) return null;
  shown.classList.add("item");
  shown.tabIndex = -1;
  shown.dataset.event = event.id ?? "";
  return shown;
}

function time(event) {
  const stamp = String(event.timestamp ?? "");
  return h("time", { datetime: stamp, title: stamp }, stamp.slice(11, 19));
}

const more = (event, context) =>
  h("button", { class: "more", type: "button", "aria-label": `JSON of this ${event.kind}`, on: { click: () => context.open(event) } }, "{ }");

function large(event) {
  return h("div", { class: "marker" }, `${event.kind} with ${event.characters} characters`);
}

function message(event, context) {
  const { from, user, said, reasoning } = messageOf(event);
  return h("article", { class: user ? "message user" : "message", "aria-label": `${from} said` },
    h("div", { class: "meta" }, h("span", { class: "who-said" }, from), time(event), more(event, context)),
    reasoning && h("div", { class: "reasoning" }, reasoning),
    rendered(said));
}

function action(event, context) {
  const { tool, fields, brief, thought, reasoning } = actionOf(event);
  const said = [reasoning.trim() && h("div", { class: "reasoning thought" }, reasoning.trim()), thought.trim() && h("div", { class: "thought" }, rendered(thought))];
  if (tool === "finish") return finish(event, context, said, String(fields.message ?? ""));
  const outcome = context.result ? resultOf(context.result) : null;
  const box = h("details", { class: outcome?.bad ? "action bad" : "action", open: opened(event, context, outcome) },
    h("summary", {}, h("span", { class: "tool" }, TOOLS[tool] ?? tool), h("span", { class: "brief" }, brief), word(outcome, context)),
    ...body(tool, fields, context.result, outcome));
  box.addEventListener("toggle", () => context.folds.set(event.id, box.open));
  return h("article", { "aria-label": `${TOOLS[tool] ?? tool}: ${brief}` },
    h("div", { class: "meta" }, h("span", { class: "who-said" }, "Agent"), time(event), more(event, context)), said, box);
}

function opened(event, context, outcome) {
  return context.folds.get(event.id) ?? (outcome?.said ?? "").length < LONG;
}

function word(outcome, context) {
  if (!outcome) return h("span", { class: context.busy ? "result busy" : "result" }, context.busy ? "running" : "no result");
  return h("span", { class: outcome.bad ? "result bad" : outcome.word === "done" ? "result good" : "result" }, outcome.word);
}

function body(tool, fields, result, outcome) {
  if (tool === "terminal") return terminal(fields, outcome);
  const edit = editOf(result);
  if (edit) return [difference(edit.path, edit.before, edit.after)];
  if (tool === "think") return [h("div", { class: "body prose" }, rendered(String(fields.thought ?? "")))];
  const asked = Object.entries(fields).filter(([, value]) => value !== null && value !== false && value !== "");
  const told = asked.map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value, null, 2)}`).join("\n");
  return [told && fieldsBox("What was asked", told), outcome?.said && fieldsBox("What came back", outcome.said, outcome.bad)].filter(Boolean);
}

const fieldsBox = (label, text, bad = false) =>
  h("div", { class: bad ? "fields bad" : "fields", tabindex: 0, role: "region", "aria-label": label }, terminalText(text));

function terminal(fields, outcome) {
  const command = h("div", { class: "terminal", tabindex: 0, role: "region", "aria-label": "Command" }, h("span", { class: fields.is_input ? undefined : "prompt" }, String(fields.command ?? "")));
  if (!outcome?.said) return [command];
  return [command, h("div", { class: "terminal", tabindex: 0, role: "region", "aria-label": "Output" }, terminalText(outcome.said))];
}

function finish(event, context, said, message) {
  return h("article", { class: "message", "aria-label": "The agent finished" },
    h("div", { class: "meta" }, h("span", { class: "who-said" }, "Agent"), time(event), h("span", { class: "result good" }, "finished"), more(event, context)),
    said, rendered(message));
}

/** A result whose action is not there, or is far away. */
function result(event, context) {
  const outcome = resultOf(event);
  return h("article", { "aria-label": "Result" }, h("div", { class: "meta" }, time(event), more(event, context)),
    h("details", { class: outcome.bad ? "action bad" : "action" },
      h("summary", {}, h("span", { class: "tool" }, "Result"), h("span", { class: "brief" }, String(event.tool_name ?? "")), word(outcome, context)),
      fieldsBox("Result", outcome.said, outcome.bad)));
}

const error = (event, context) => h("article", { "aria-label": "Error" },
  h("div", { class: "meta" }, h("span", { class: "who-said" }, "Error"), time(event), more(event, context)),
  h("div", { class: "failure" }, errorText(event)));

const marker = (event, context) => h("div", { class: "marker" }, markerText(event), more(event, context));

function internal(event, context) {
  if (!context.everything) return null;
  const about = event.key ? `${event.kind}: ${event.key}` : String(event.kind);
  return h("div", { class: "marker" }, about, more(event, context));
}
