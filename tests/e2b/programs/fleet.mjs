// Sandboxes of several users side by side: told apart by metadata, listed in pages, given more time, ended together.
import { strict as assert } from "node:assert";
import { Sandbox, SandboxNotFoundError } from "e2b";

const users = ["ann", "bob", "cy", "dee"];
const made = await Promise.all(users.map((user, i) => Sandbox.create({ metadata: { fleet: "night & day", user, tier: i < 2 ? "a=1" : "b" }, timeoutMs: 60_000 })));
const answers = await Promise.all(made.map((sandbox, i) => sandbox.commands.run(`echo ${users[i]} > me; sleep 0.1; cat me`)));
assert.deepEqual(answers.map((answer) => answer.stdout.trim()), users);

async function all(query, limit) {
  const pages = Sandbox.list({ query, limit }), found = [];
  while (pages.hasNext) found.push(...(await pages.nextItems()));
  return found;
}
assert.equal((await all({ metadata: { fleet: "night & day" } }, 1)).length, 4);
assert.deepEqual((await all({ metadata: { tier: "a=1" } })).map((one) => one.metadata.user).sort(), ["ann", "bob"]);
assert.equal((await all({ metadata: { fleet: "night & day" }, state: ["paused"] })).length, 0);

const before = (await made[0].getInfo()).endAt;
await Sandbox.setTimeout(made[0].sandboxId, 120_000);
assert.ok((await made[0].getInfo()).endAt - before > 50_000);
const brief = await Sandbox.create({ timeoutMs: 1000 });
while (await brief.isRunning()) await new Promise((later) => setTimeout(later, 100));
await assert.rejects(brief.commands.run("true"), SandboxNotFoundError);

const [figures] = await Sandbox.getMetrics(made[1].sandboxId);
assert.ok(figures.memUsed > 0 && figures.cpuCount >= 1);
assert.deepEqual(await Promise.all((await all({ metadata: { fleet: "night & day" } })).map((one) => Sandbox.kill(one.sandboxId))), [true, true, true, true]);
assert.equal(await Sandbox.kill(made[0].sandboxId), false);
console.log("done");
