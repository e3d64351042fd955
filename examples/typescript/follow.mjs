// Run an agent with the TypeScript client, and print its commands and its answer as they come.
//
//     cd examples/typescript && npm ci --ignore-scripts
//     node follow.mjs "Show me what you can do."
//
// The exit code is 0 if the agent finished.

import { createRequire } from 'node:module';

globalThis.require = createRequire(import.meta.url); // in Node, the client's sockets look for `ws` with it
const { Agent, Conversation, Workspace } = await import('@openhands/typescript-client');

const host = process.env.AGENT_SERVER_URL ?? 'http://127.0.0.1:8000';
const workspace = new Workspace({
  host,
  workingDir: process.env.WORKSPACE ?? `${process.cwd()}/workspace`,
  apiKey: process.env.SESSION_API_KEY,
});
const agent = new Agent({
  llm: {
    usage_id: 'example',
    model: process.env.LLM_MODEL ?? 'openai/demo',
    base_url: process.env.LLM_BASE_URL ?? `${host}/demo/v1`,
    api_key: process.env.LLM_API_KEY ?? 'none',
  },
  tools: [{ name: 'terminal', params: {} }],
});

const ENDS = ['finished', 'error', 'stuck', 'paused', 'waiting_for_confirmation'];
let end;
const ended = new Promise((resolve) => (end = resolve));
const conversation = new Conversation(agent, workspace, {
  callback: (event) => {
    if (event.kind === 'ActionEvent' && event.action?.command) console.log(`$ ${event.action.command}`);
    if (event.key === 'execution_status' && ENDS.includes(event.value)) end(event.value);
  },
});

await conversation.start();
await conversation.startWebSocketClient();
await conversation.sendMessage(process.argv[2] ?? 'Show me what you can do.');
await conversation.run();
const status = await ended;
console.log(await conversation.getAgentFinalResponse());
console.log(`The conversation is ${status}.`);
await conversation.close();
process.exit(status === 'finished' ? 0 : 1);
