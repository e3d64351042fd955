// Drives a running server with the published client: node drive.mjs '{"host", "apiKey", "llmUrl", "directory"}'

import assert from 'node:assert/strict';
import './require.mjs'; // before the client

import { RemoteConversation, RemoteWorkspace } from '@openhands/typescript-client';
import {
  AgentProfilesClient, BashClient, ConversationClient, FileClient, LLMMetadataClient, ProfilesClient,
  ServerClient, SettingsClient, SkillsClient, ToolClient,
} from '@openhands/typescript-client/clients';

const { host, apiKey, llmUrl, directory } = JSON.parse(process.argv[2]);
const options = { host, apiKey };
const llm = { model: 'openai/fake-model', base_url: `${llmUrl}/v1`, api_key: 'sk-typescript', usage_id: 'ts', num_retries: 0 };
const MASK = '**********';
const mine = (name) => `${name}-${process.pid}`; // a second run on the same server finds nothing in its way

async function server() {
  const info = await new ServerClient(options).getServerInfo();
  assert.match(info.version, /^\d+\.\d+\.\d+$/);
  assert.ok((await new ToolClient(options).listTools()).length > 3);
  assert.ok((await new LLMMetadataClient(options).getModels()).length > 50);
  assert.ok(Array.isArray((await new SkillsClient(options).listInstalledSkills()).skills));
}

async function settings() {
  const client = new SettingsClient(options);
  assert.ok((await client.getAgentSchema()).sections.length > 0);
  assert.ok((await client.getConversationSchema()).sections.length > 0);
  await client.updateSettings({ agent_settings_diff: { llm } });
  assert.equal((await client.getSettings()).agent_settings.llm.api_key, MASK);
  const sealed = (await client.getSettings({ exposeSecrets: 'encrypted' })).agent_settings.llm.api_key;
  assert.notEqual(sealed, llm.api_key);
  await client.updateSettings({ agent_settings_diff: { llm: { api_key: sealed } } });
  const plain = await client.getSettings({ exposeSecrets: 'plaintext' });
  assert.equal(plain.agent_settings.llm.api_key, llm.api_key);

  await client.upsertSecret({ name: 'FROM_TYPESCRIPT', value: 'hunter2' });
  assert.equal(await client.getSecret('FROM_TYPESCRIPT'), 'hunter2');
  assert.ok((await client.listSecrets()).secrets.some((secret) => secret.name === 'FROM_TYPESCRIPT'));
  await client.deleteSecret('FROM_TYPESCRIPT');

  await client.createMcpServer('ts', { command: 'true', env: { TOKEN: 'x' } });
  await client.patchMcpServer('ts', { enabled: false });
  assert.equal((await client.getSettings()).agent_settings.mcp_config.ts.enabled, false);
  await client.deleteMcpServer('ts');
}

async function profiles() {
  const client = new ProfilesClient(options);
  const agents = new AgentProfilesClient(options);
  await client.saveProfile(mine('ts-model'), { llm, include_secrets: true });
  assert.equal((await client.validateProfile(mine('ts-model'), { llm })).valid, true);
  await agents.saveAgentProfile(mine('ts-agent'), { agent_kind: 'openhands', llm_profile_ref: mine('ts-model') });
  await client.renameProfile(mine('ts-model'), mine('ts-renamed'));
  const { profile } = await agents.getAgentProfile(mine('ts-agent'));
  assert.equal(profile.llm_profile_ref, mine('ts-renamed'));
  assert.equal((await agents.materializeAgentProfile(mine('ts-agent'))).valid, true);
  await agents.activateAgentProfile(profile.id);
  assert.equal((await agents.listAgentProfiles()).active_agent_profile_id, profile.id);
  await assert.rejects(client.deleteProfile(mine('ts-renamed')), (error) => error.status === 409);
  await agents.deleteAgentProfile(mine('ts-agent'));
}

async function conversation() {
  const workspace = new RemoteWorkspace({ host, apiKey, workingDir: directory });
  const agent = { kind: 'Agent', llm, tools: [{ name: 'terminal', params: {} }] };
  const seen = [];
  const started = new RemoteConversation(agent, workspace, { callback: (event) => seen.push(event) });
  await started.start();
  await started.startWebSocketClient();
  await until(() => seen.some((event) => event.key === 'full_state'));
  const steps = [
    { tool: 'terminal', args: { command: 'echo from-$((1+1))-typescript' } },
    { tool: 'finish', args: { message: 'all done' } },
  ];
  await started.sendMessage(`PLAN ${JSON.stringify({ steps })}`);
  await started.run();
  await until(() => seen.some((event) => event.key === 'execution_status' && event.value === 'finished'));
  assert.ok(JSON.stringify(seen).includes('from-2-typescript'), 'the command ran and its output was live');
  assert.equal(await started.getAgentFinalResponse(), 'all done');
  await started.switchProfile(mine('ts-renamed'));
  await started.setTitle('From TypeScript');
  const found = await new ConversationClient(options).getConversation(started.id);
  assert.equal(found.title, 'From TypeScript');
  assert.ok((await started.downloadTrajectory()).size > 0);
  await started.close();
  await new ConversationClient(options).deleteConversation(started.id);
  await new ProfilesClient(options).deleteProfile(mine('ts-renamed'));
}

async function bashAndFiles() {
  const bash = new BashClient(options);
  const output = await bash.executeCommand('echo hello; exit 3', directory, 30);
  assert.deepEqual([output.stdout, output.exit_code], ['hello\n', 3]);
  const { items } = await bash.searchEvents({ command_id__eq: output.command_id, limit: 10 });
  assert.ok(items.length > 0);

  const files = new FileClient(options);
  const path = `${directory}/ts.txt`;
  await files.uploadTextFile('grüße\n', path);
  assert.equal(await files.downloadTextFile(path), 'grüße\n');
  assert.ok((await files.getHome()).home);
}

async function until(check, seconds = 60) {
  const end = Date.now() + seconds * 1000;
  while (!check()) {
    assert.ok(Date.now() < end, `not within ${seconds} s: ${check}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

for (const part of [server, settings, profiles, conversation, bashAndFiles]) {
  try {
    await part();
  } catch (error) {
    console.error(`${part.name}: ${error.stack}`);
    process.exit(1);
  }
  console.log(`${part.name}: ok`);
}
process.exit(0);
