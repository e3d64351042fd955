// Requests to this server: addresses below the proxy's path, the CSRF token, errors with their sentence.

import { toast } from "./dom.js";

const meta = (name) => document.querySelector(`meta[name=${name}]`)?.content ?? "";
export const base = meta("base");

/** An error of the server; `status` is 0 if it could not be reached. */
export class Refused extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

/** JSON of `path`. Raises Refused. */
export async function call(method, path, body) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") Object.assign(headers, { "Content-Type": "application/json", "X-CSRFToken": meta("csrf") });
  let answer;
  try {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    answer = await fetch(base + path, { method, headers, body: sent, credentials: "same-origin", redirect: "manual" });
  } catch {
    throw new Refused(0, "The server does not answer. Is it running?");
  }
  if (answer.type === "opaqueredirect") throw new Refused(401, "Your session has ended. Log in again.");
  const text = await answer.text();
  if (!answer.ok) throw new Refused(answer.status, sentence(text) || `The server answered ${answer.status}.`);
  return text ? JSON.parse(text) : null;
}

function sentence(text) {
  try {
    const { detail } = JSON.parse(text);
    return Array.isArray(detail) ? detail.map((item) => item.msg).join(" ") : String(detail ?? "");
  } catch {
    return "";
  }
}

/** The same; an error is shown to the person, and the answer is undefined. */
export async function attempt(method, path, body) {
  try {
    return await call(method, path, body);
  } catch (error) {
    toast(error.message);
    return undefined;
  }
}

/** The address of a socket of this server. */
export function socketAddress(path) {
  const address = new URL(base + path, location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  return address.href;
}
