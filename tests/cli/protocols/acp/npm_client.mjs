// A whole session by the SDK that editors use: prompt, permission, cancel, load. Prints what came as JSON.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [sdk, root, ...command] = process.argv.slice(2);
const acp = await import(pathToFileURL(createRequire(sdk + "/").resolve("@agentclientprotocol/sdk")).href);
const agent = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const seen = { asked: [], updates: [] };
let onUpdate = () => {};
const client = {
  async requestPermission(request) {
    seen.asked.push(request.toolCall.title);
    return { outcome: { outcome: "selected", optionId: request.options[0].optionId } };
  },
  async sessionUpdate({ update }) {
    seen.updates.push(update.sessionUpdate);
    onUpdate(update);
  },
};
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const connection = new acp.ClientSideConnection(() => client, stream);
const initialized = await connection.initialize({ protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
const { sessionId } = await connection.newSession({ cwd: root, mcpServers: [] });
const say = (text) => connection.prompt({ sessionId, prompt: [{ type: "text", text }] });
const first = await say("push it");
onUpdate = (update) => {
  if (update.status === "in_progress") connection.cancel({ sessionId });
};
const second = await say("wait");
onUpdate = () => {};
await connection.closeSession({ sessionId });
seen.updates.length = 0;
await connection.loadSession({ sessionId, cwd: root, mcpServers: [] });
const listed = await connection.listSessions({ cwd: root });
await connection.deleteSession({ sessionId });
const left = await connection.listSessions({ cwd: root });
agent.stdin.end();
const status = await new Promise((resolve) => agent.on("exit", resolve));
console.log(
  JSON.stringify({
    version: initialized.protocolVersion,
    stops: [first.stopReason, second.stopReason],
    asked: seen.asked,
    replayed: [...new Set(seen.updates)],
    listed: listed.sessions.length,
    left: left.sessions.length,
    status,
  }),
);
