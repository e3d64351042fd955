// What an event is to a person: read from its JSON, which may have any shape.

const list = (value) => (Array.isArray(value) ? value : []);
const text = (value) => (typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value, null, 2));

/** The text of a list of content parts. */
export function textOf(parts) {
  if (typeof parts === "string") return parts;
  return list(parts).map((part) => (part?.type === "image" ? "[image]" : text(part?.text))).join("\n");
}

const ERRORS = new Set(["ConversationErrorEvent", "ServerErrorEvent"]);
const RESULTS = new Set(["ObservationEvent", "AgentErrorEvent", "UserRejectObservation"]);
const MARKERS = {
  PauseEvent: "Paused",
  InterruptEvent: "Interrupted",
  Condensation: "Earlier events were condensed",
  CondensationRequest: "Condensing was asked for",
};

/** One of: message, action, result, error, marker, internal. */
export function roleOf(event) {
  if (event.kind === "MessageEvent") return "message";
  if (event.kind === "ActionEvent") return "action";
  if (RESULTS.has(event.kind)) return "result";
  if (ERRORS.has(event.kind)) return "error";
  return event.kind in MARKERS ? "marker" : "internal";
}

export const markerText = (event) => {
  const more = text(event.reason || event.summary).trim();
  return more ? `${MARKERS[event.kind]}: ${more}` : MARKERS[event.kind];
};

export const errorText = (event) => [text(event.code), text(event.detail ?? event.error)].filter(Boolean).join(": ");

/** The text a message says, and who. */
export const messageOf = (event) => ({
  from: event.source === "user" ? "You" : event.source === "agent" ? "Agent" : text(event.source),
  user: event.source === "user",
  said: textOf(event.llm_message?.content),
  reasoning: text(event.reasoning_content ?? event.llm_message?.reasoning_content),
});

/** What an action wants: its tool, one line about it, its fields. */
export function actionOf(event) {
  const action = event.action && typeof event.action === "object" ? event.action : argumentsOf(event);
  const { kind, ...fields } = action;
  return { tool: text(event.tool_name) || text(kind) || "action", fields, brief: brief(event.tool_name, fields), thought: textOf(event.thought), reasoning: text(event.reasoning_content) };
}

function argumentsOf(event) {
  try {
    const found = JSON.parse(event.tool_call?.arguments ?? "{}");
    return found && typeof found === "object" ? found : {};
  } catch {
    return { arguments: text(event.tool_call?.arguments) };
  }
}

function brief(tool, fields) {
  const first = tool === "file_editor" ? `${text(fields.command)} ${text(fields.path)}` : fields.command ?? fields.path ?? fields.message ?? fields.thought ?? fields.url ?? Object.values(fields).find((one) => typeof one === "string");
  return text(first).trim().split("\n", 1)[0].slice(0, 300);
}

/** How an action ended: its text, whether that is a failure, a word for the summary line. */
export function resultOf(event) {
  if (event.kind === "AgentErrorEvent") return { said: text(event.error), bad: true, word: "error" };
  if (event.kind === "UserRejectObservation") return { said: text(event.rejection_reason), bad: true, word: "rejected" };
  const seen = event.observation ?? {};
  const code = seen.exit_code ?? seen.metadata?.exit_code;
  const said = textOf(seen.content) || text(seen.output) || text(seen.error);
  if (seen.timeout || code === -1) return { said, bad: false, word: "still running" };
  if (typeof code === "number") return { said, bad: code !== 0, word: code === 0 ? "done" : `exit ${code}` };
  return { said, bad: Boolean(seen.is_error), word: seen.is_error ? "error" : "done" };
}

/** Both versions of a file that an edit changed, or null. */
export function editOf(event) {
  const seen = event?.observation;
  if (!seen || typeof seen.new_content !== "string") return null;
  return { path: text(seen.path), before: text(seen.old_content), after: seen.new_content };
}

/** Tokens and dollars of a ``stats`` update; null for other events. */
export function usageOf(event) {
  const metrics = event.kind === "ConversationStateUpdateEvent" && (event.key === "stats" ? event.value : event.value?.stats)?.usage_to_metrics;
  if (!metrics) return null;
  const sum = (read) => Object.values(metrics).reduce((total, one) => total + (Number(read(one)) || 0), 0);
  return {
    prompt: sum((one) => one?.accumulated_token_usage?.prompt_tokens),
    completion: sum((one) => one?.accumulated_token_usage?.completion_tokens),
    cost: sum((one) => one?.accumulated_cost),
  };
}

/** The status that a state update tells, or null. */
export function statusOf(event) {
  if (event.kind !== "ConversationStateUpdateEvent") return null;
  if (event.key === "execution_status") return text(event.value);
  return event.key === "full_state" ? text(event.value?.execution_status) || null : null;
}
