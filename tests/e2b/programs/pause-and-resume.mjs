// A sandbox sleeps between two users' turns, with its variables, files and environment, and wakes by its id.
import { strict as assert } from "node:assert";
import { Sandbox } from "@e2b/code-interpreter";

const first = await Sandbox.create({ envs: { STAGE: "draft" }, timeoutMs: 60_000 });
await first.runCode("notes = ['bought milk']\nimport os, threading");
await first.files.write("plan.txt", "paint the fence");
const id = first.sandboxId;
await first.pause();
assert.equal((await Sandbox.getInfo(id)).state, "paused");
assert.equal(await first.isRunning(), false);

const second = await Sandbox.connect(id, { timeoutMs: 30_000 });
assert.equal((await second.runCode("notes.append('fed the cat'); ', '.join(notes)")).text, "bought milk, fed the cat");
assert.equal(await second.files.read("plan.txt"), "paint the fence");
assert.equal((await second.commands.run("echo $STAGE")).stdout, "draft\n");

// Left alone it pauses by itself, and wakes when somebody wants something of it.
const lazy = await Sandbox.create({ timeoutMs: 1000, lifecycle: { onTimeout: "pause", autoResume: true } });
await lazy.runCode("kept = 'still here'");
while ((await Sandbox.getInfo(lazy.sandboxId)).state !== "paused") await new Promise((later) => setTimeout(later, 100));
assert.equal((await lazy.runCode("kept")).text, "still here");
assert.equal((await lazy.getInfo()).state, "running");
await Promise.all([second.kill(), lazy.kill()]);
console.log("done");
