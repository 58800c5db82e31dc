// A whole session by the SDK that editors use: prompt, permission, cancel, load, delete. Prints what came as JSON.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [sdk, root, ...command] = process.argv.slice(2);
const acp = await import(pathToFileURL(`${sdk}/dist/v1/stable/acp.js`).href);
const agent = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const exited = new Promise((resolve) => agent.on("exit", resolve));
const { agent: call, client: ours } = acp.methods;
const asked = [];
let updates = [];
let onUpdate = () => {};
const client = acp
  .client({ name: "test" })
  .onRequest(ours.session.requestPermission, ({ params }) => {
    asked.push(params.toolCall.title);
    return { outcome: { outcome: "selected", optionId: params.options[0].optionId } };
  })
  .onNotification(ours.session.update, ({ params }) => {
    updates.push(params.update.sessionUpdate);
    onUpdate(params.update);
  });
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const seen = await client.connectWith(stream, async (ctx) => {
  const initialized = await ctx.request(call.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: {},
  });
  const { sessionId } = await ctx.request(call.session.new, { cwd: root, mcpServers: [] });
  const say = (text) => ctx.request(call.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
  const first = await say("push it");
  onUpdate = (update) => {
    if (update.status === "in_progress") ctx.notify(call.session.cancel, { sessionId });
  };
  const second = await say("wait");
  onUpdate = () => {};
  await ctx.request(call.session.close, { sessionId });
  updates = [];
  await ctx.request(call.session.load, { sessionId, cwd: root, mcpServers: [] });
  const listed = await ctx.request(call.session.list, { cwd: root });
  await ctx.request(call.session.delete, { sessionId });
  const left = await ctx.request(call.session.list, { cwd: root });
  return {
    version: initialized.protocolVersion,
    stops: [first.stopReason, second.stopReason],
    asked,
    replayed: [...new Set(updates)],
    listed: listed.sessions.length,
    left: left.sessions.length,
  };
});
agent.stdin.end();
console.log(JSON.stringify({ ...seen, status: await exited }));
