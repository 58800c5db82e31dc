// A server of chat completions around a small real model, as careless as such servers are: it takes no tools, and
// refuses a prompt that its window does not hold.
//   node server.mjs WEIGHTS.gguf WINDOW THREADS
// prints the port that it listens on, on loopback alone. Needs the package node-llama-cpp.
import http from "node:http";
import {getLlama, LlamaLogLevel} from "node-llama-cpp";

const [weights, window, threads] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const llama = await getLlama({gpu: false, build: "never", skipDownload: true, logLevel: LlamaLogLevel.disabled, maxThreads: threads});
const model = await llama.loadModel({modelPath: weights});
const sequence = (await model.createContext({contextSize: window})).getSequence();
let turn = Promise.resolve(); // one sequence: requests are answered one after another

function renderTurns(messages) { // ChatML, the template that the model was trained with
    const turns = messages.map(({role, content}) => {
        const text = Array.isArray(content) ? content.map((part) => part.text ?? "").join("") : content ?? "";
        return `<|im_start|>${role === "tool" ? "user" : role}\n${text.replaceAll("<|im_", "<| im_")}<|im_end|>\n`;
    });
    return turns.join("") + "<|im_start|>assistant\n";
}

function send(response, status, body) {
    response.writeHead(status, {"content-type": "application/json"}).end(JSON.stringify(body));
}

async function answer(request, body, response) {
    if (body.tools?.length) return send(response, 400, {error: {message: "tools are not supported by this model"}});
    const prompt = model.tokenize(renderTurns(body.messages), true);
    if (prompt.length >= window) {
        const message = `the request (${prompt.length} tokens) exceeds the available context size (${window} tokens)`;
        return send(response, 400, {error: {type: "exceed_context_size_error", n_prompt_tokens: prompt.length, n_ctx: window, message}});
    }
    const limit = Math.min(body.max_tokens ?? Infinity, window - prompt.length);
    const write = (delta, reason = null) => response.write(`data: ${JSON.stringify({choices: [{index: 0, delta, finish_reason: reason}]})}\n\n`);
    response.writeHead(200, {"content-type": "text/event-stream"});
    await sequence.adaptStateToTokens(prompt.slice(0, -1), false); // what is the same as before is not computed again
    const cached = sequence.nextTokenIndex, made = [];
    const sampling = {temperature: body.temperature ?? 0, seed: body.seed ?? 1, repeatPenalty: undefined};
    let shown = "", reason = "length";
    for await (const token of sequence.evaluate(prompt.slice(cached), sampling)) {
        if (model.isEogToken(token)) { reason = "stop"; break; }
        made.push(token);
        const text = model.detokenize(made);
        if (!text.endsWith("\uFFFD")) { // not in the middle of a character
            write({content: text.slice(shown.length)});
            shown = text;
        }
        if (made.length >= limit || response.destroyed) break;
    }
    write({}, reason);
    const usage = {prompt_tokens: prompt.length, completion_tokens: made.length, prompt_tokens_details: {cached_tokens: cached}};
    response.end(`data: ${JSON.stringify({choices: [], usage})}\n\ndata: [DONE]\n\n`);
}

const server = http.createServer((request, response) => {
    if (request.method === "GET" && request.url === "/v1/models")
        return send(response, 200, {object: "list", data: [{id: "smollm2-135m", object: "model", meta: {n_ctx: window}}]});
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => {
        turn = turn.then(() => answer(request, JSON.parse(Buffer.concat(pieces)), response))
            .catch((error) => response.headersSent ? response.destroy() : send(response, 500, {error: {message: String(error)}}));
    });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
