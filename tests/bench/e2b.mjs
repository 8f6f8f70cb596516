// Times of one E2B program after another, in milliseconds, as JSON: {name: [..]}. The environment says where the server is.
import { Sandbox } from "@e2b/code-interpreter";

const rounds = Number(process.argv[2] ?? 20);
const times = { "create": [], "create to first answer": [], "runCode('1+1'), warm": [], "commands.run('true')": [], "fork, 100 MB": [] };
async function timed(name, body) {
  const began = performance.now();
  const value = await body();
  times[name].push(performance.now() - began);
  return value;
}
(await Sandbox.create()).kill(); // connections, and the code of the client
for (let round = 0; round < rounds; round++) {
  const whole = performance.now();
  const sandbox = await timed("create", () => Sandbox.create());
  await sandbox.runCode("1+1");
  times["create to first answer"].push(performance.now() - whole);
  for (let i = 0; i < 5; i++) await timed("runCode('1+1'), warm", () => sandbox.runCode("1+1"));
  for (let i = 0; i < 5; i++) await timed("commands.run('true')", () => sandbox.commands.run("true"));
  await sandbox.kill();
}
const large = await Sandbox.create();
await large.runCode("kept = bytearray(b'x') * 100_000_000");
for (let round = 0; round < rounds / 2; round++) {
  const [fork] = await timed("fork, 100 MB", () => large.fork());
  const copy = fork.sandbox ?? fork;
  if ((await copy.runCode("len(kept)")).text !== "100000000") throw new Error("the fork lacks the memory");
  await copy.kill();
}
await large.kill();

// Memory: of many sandboxes that have run a cell, as their own figures say it.
const many = await Promise.all(Array.from({ length: 20 }, () => Sandbox.create()));
await Promise.all(many.map((sandbox) => sandbox.runCode("1+1")));
const memory = await Promise.all(many.map(async (sandbox) => (await sandbox.getMetrics()).at(-1).memUsed));
await Promise.all(many.map((sandbox) => sandbox.kill()));
console.log(JSON.stringify({ times, memory }));
