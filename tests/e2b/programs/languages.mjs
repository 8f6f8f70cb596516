// Steps of one job in several languages, each in a context of its own, with files between them.
import { strict as assert } from "node:assert";
import { Sandbox } from "@e2b/code-interpreter";

const sandbox = await Sandbox.create();
const [python, script, shell] = await Promise.all(["python", "javascript", "bash"].map((language) => sandbox.createCodeContext({ language, cwd: "/home/user" })));
const run = async (code, context) => {
  const done = await sandbox.runCode(code, { context });
  assert.equal(done.error, undefined, JSON.stringify(done.error));
  return done;
};
await run("import json\njson.dump([3, 1, 2], open('numbers.json', 'w'))", python);
await run("const fs = require('fs');\nconst numbers = JSON.parse(fs.readFileSync('numbers.json')).sort();\nfs.writeFileSync('sorted.txt', numbers.join('\\n') + '\\n');", script);
assert.equal((await run("paste -sd+ sorted.txt | tee sum.txt", shell)).logs.stdout.join(""), "1+2+3\n");
assert.equal((await run("eval(open('sum.txt').read())", python)).text, "6");
assert.equal((await run("numbers.length", script)).text, "3");
assert.equal((await sandbox.runCode("const n: number = 6; n * 7", { language: "typescript" })).text, "42");
assert.deepEqual((await sandbox.listCodeContexts()).map((context) => context.language).filter((name) => name === "javascript").length, 1);
await run("total = 10", python);
await sandbox.restartCodeContext(python);
assert.equal((await sandbox.runCode("total", { context: python })).error.name, "NameError");
for (const context of [python, script, shell]) await sandbox.removeCodeContext(context);
await sandbox.kill();
console.log("done");
