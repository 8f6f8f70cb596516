// The OpenAI Agents SDK with its own client for E2B. The model is a script: two tool calls, then an answer from what they said.
import { strict as assert } from "node:assert";
import { run, Usage } from "@openai/agents";
import { Manifest, SandboxAgent } from "@openai/agents/sandbox";
import { E2BSandboxClient } from "@openai/agents-extensions/sandbox/e2b";

const calls = [
  { cmd: "wc -l < data/rows.csv && echo total: $((6 * 7)) | tee result.txt" },
  { cmd: "cat result.txt; echo $WHERE; exit 3" },
];
const heard = [];
const model = {
  async getResponse({ input }) {
    const last = input.at(-1);
    if (last.type === "function_call_result") heard.push(JSON.stringify(last.output));
    const call = calls[heard.length];
    const output = call
      ? [{ type: "function_call", callId: `call-${heard.length}`, name: "exec_command", status: "completed", arguments: JSON.stringify(call) }]
      : [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: `I read: ${heard.join(" ")}` }] }];
    return { output, usage: new Usage(), responseId: `answer-${heard.length}` };
  },
};
const agent = new SandboxAgent({
  name: "analyst",
  instructions: "Count with the shell.",
  model,
  defaultManifest: new Manifest({ entries: { "data/rows.csv": { type: "file", content: "a\nb\nc\n" } } }),
});
const client = new E2BSandboxClient({ timeout: 120, env: { WHERE: "from the client" } });
const { finalOutput } = await run(agent, "How many rows are there?", { sandbox: { client } });
assert.match(heard[0], /3.*total: 42/s);
assert.match(heard[1], /total: 42.*from the client/s);
assert.match(finalOutput, /total: 42/);
console.log("done");
process.exit(0);
