// The loop of a coding agent: a model writes code, sees what became of it, and mends it. The model is a script.
import { strict as assert } from "node:assert";
import { Sandbox } from "@e2b/code-interpreter";

const drafts = [
  { when: /^task/, code: "def median(values):\n    return sorted(values)[len(values) / 2]\nmedian([3, 1, 2])" },
  { when: /TypeError/, code: "def median(values):\n    return sorted(values)[len(values) // 2]\nprint(median([3, 1, 2, 10]))" },
  { when: /^said: 3/, code: "while True:\n    pass" }, // a mistake of another kind
  { when: /took too long/, code: "import statistics\nstatistics.median([3, 1, 2, 10])" },
];
const model = (heard) => drafts.find((draft) => draft.when.test(heard))?.code;

const sandbox = await Sandbox.create();
const heard = ["task: the median of some numbers"];
for (let code = model(heard[0]); code && heard.length < 10; code = model(heard.at(-1))) {
  try {
    const done = await sandbox.runCode(code, { timeoutMs: code.startsWith("while") ? 1000 : 20_000 });
    heard.push(done.error ? `${done.error.name}: ${done.error.value}` : done.text ? `answer: ${done.text}` : `said: ${done.logs.stdout.join("")}`);
  } catch (error) {
    heard.push(`it took too long (${error.constructor.name})`);
  }
}
assert.deepEqual(heard.slice(1), ["TypeError: list indices must be integers or slices, not float", "said: 3\n", "it took too long (TimeoutError)", "answer: 2.5"]);
assert.equal((await sandbox.runCode("median([5, 4, 6])")).text, "5"); // what it defined is still there
await sandbox.kill();
console.log("done");
