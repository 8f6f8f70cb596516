// The adapters with their frameworks: what a compiler and an agent with a model of ours see. Prints what tests/sdk/run.py expects.
import * as strands from "@strands-agents/sdk";
import { makeFileEditor } from "@strands-agents/sdk/vended-tools/file-editor";
import { makeShell } from "@strands-agents/sdk/vended-tools/shell";
import { generateText, isStepCount, jsonSchema, tool, type Experimental_SandboxSession } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { Client } from "belljar";
import { aiSdkSandbox } from "belljar/ai-sdk";
import { strandsSandbox } from "belljar/strands";

const session = await new Client().session({ profile: "open" });

// --- the AI SDK: a model that calls a tool, which uses the sandbox of the call ---

const sandbox: Experimental_SandboxSession = aiSdkSandbox(session);
const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
const model = new MockLanguageModelV4({
  doGenerate: [
    {
      content: [{ type: "tool-call", toolCallId: "1", toolName: "shell", input: JSON.stringify({ command: "echo $((6 * 7)) | tee answer" }) }],
      finishReason: { unified: "tool-calls", raw: undefined },
      usage,
      warnings: [],
    },
    { content: [{ type: "text", text: "done" }], finishReason: { unified: "stop", raw: undefined }, usage, warnings: [] },
  ],
});
const shell = tool({
  description: "Run a line of Bash.",
  inputSchema: jsonSchema<{ command: string }>({ type: "object", properties: { command: { type: "string" } }, required: ["command"] }),
  execute: async ({ command }, { experimental_sandbox }) => await experimental_sandbox?.run({ command }),
});
const result = await generateText({ model, prompt: "?", tools: { shell }, stopWhen: isStepCount(3), experimental_sandbox: sandbox });
console.log("AI SDK", JSON.stringify(result.steps[0]?.toolResults[0]?.output), result.text, JSON.stringify(await sandbox.readTextFile({ path: "answer" })));
const spawned = await sandbox.spawn({ command: "cat", stdin: true });
const writer = spawned.stdin.getWriter();
await writer.write(new TextEncoder().encode("typed"));
await writer.close();
console.log("AI SDK", await new Response(spawned.stdout).text(), (await spawned.wait()).exitCode);

// --- Strands: an agent whose tools work in the sandbox ---

class Scripted extends strands.Model {
  readonly #turns: Array<() => AsyncIterable<strands.ModelStreamEvent>>;
  constructor(calls: Array<[name: string, input: object]>) {
    super();
    const each = calls.map(([name, input]) => () => this.#call(name, input));
    this.#turns = [...each, () => this.#say("finished")];
  }
  updateConfig(): void {}
  getConfig(): strands.BaseModelConfig {
    return { modelId: "scripted" };
  }
  stream(): AsyncIterable<strands.ModelStreamEvent> {
    const turn = this.#turns.shift();
    if (!turn) throw new Error("asked too often");
    return turn();
  }
  async *#call(name: string, input: object): AsyncIterable<strands.ModelStreamEvent> {
    yield { type: "modelMessageStartEvent", role: "assistant" };
    yield { type: "modelContentBlockStartEvent", start: { type: "toolUseStart", name, toolUseId: name } };
    yield { type: "modelContentBlockDeltaEvent", delta: { type: "toolUseInputDelta", input: JSON.stringify(input) } };
    yield { type: "modelContentBlockStopEvent" };
    yield { type: "modelMessageStopEvent", stopReason: "toolUse" };
  }
  async *#say(text: string): AsyncIterable<strands.ModelStreamEvent> {
    yield { type: "modelMessageStartEvent", role: "assistant" };
    yield { type: "modelContentBlockStartEvent" };
    yield { type: "modelContentBlockDeltaEvent", delta: { type: "textDelta", text } };
    yield { type: "modelContentBlockStopEvent" };
    yield { type: "modelMessageStopEvent", stopReason: "endTurn" };
  }
}

const BelljarSandbox = strandsSandbox(strands);
const box = new BelljarSandbox(session, { tools: [makeShell(), makeFileEditor()] });
const calls: Array<[string, object]> = [
  ["shell", { command: "pwd; cat answer; exit 3" }],
  ["fileEditor", { command: "create", path: "/workspace/made", file_text: "by the editor" }],
];
const agent = new strands.Agent({ model: new Scripted(calls), sandbox: box, printer: false });
await agent.invoke("?");
const results = agent.messages.flatMap((m) => m.content).filter((c) => c.type === "toolResultBlock");
console.log("Strands", JSON.stringify(results[0]?.content[0]), results.map((r) => r.status).join(" "));
console.log("Strands", await session.files.text("made"), agent.sandbox === box, (await agent.sandbox.execute("exit 4")).exitCode);
const late = await agent.sandbox.execute("sleep 60", { timeout: 1 }).catch((error: unknown) => error instanceof strands.SandboxTimeoutError);
console.log("Strands", late);

await session.close();
