// One sandbox is prepared once; attempts then branch from it, with its memory, and a snapshot of it is a template.
import { strict as assert } from "node:assert";
import { Sandbox } from "@e2b/code-interpreter";

const base = await Sandbox.create({ metadata: { role: "base" } });
await base.runCode("import random\nmodel = {'weights': [0.5] * 1000}\ntries = []");
await base.files.write("task.txt", "sort the list");

const forks = await base.fork({ count: 3 });
const attempts = forks.map((one) => one.sandbox ?? one);
const answers = await Promise.all(attempts.map(async (sandbox, i) => {
  await sandbox.runCode(`tries.append(${i}); open('answer.txt', 'w').write('attempt ${i} of ' + open('task.txt').read())`);
  return [(await sandbox.runCode("tries, len(model['weights'])")).text, await sandbox.files.read("answer.txt")];
}));
assert.deepEqual(answers, [0, 1, 2].map((i) => [`([${i}], 1000)`, `attempt ${i} of sort the list`]));
assert.equal((await base.runCode("tries")).text, "[]");
assert.equal(await base.files.exists("answer.txt"), false);

const { snapshotId } = await base.createSnapshot();
await base.kill();
const late = await Sandbox.create(snapshotId);
assert.equal((await late.runCode("sum(model['weights'])")).text, "500.0");
assert.equal(await late.files.read("task.txt"), "sort the list");
assert.equal(await Sandbox.deleteSnapshot(snapshotId), true);
await assert.rejects(Sandbox.create(snapshotId));
await Promise.all([late, ...attempts].map((sandbox) => sandbox.kill()));
console.log("done");
