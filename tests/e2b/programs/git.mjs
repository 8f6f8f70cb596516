// A repository is made, changed on a branch, merged, and pushed to a bare one beside it; the diff comes back.
import { strict as assert } from "node:assert";
import { CommandExitError, Sandbox } from "e2b";

const sandbox = await Sandbox.create();
const git = async (line, cwd = "/home/user/repo") => (await sandbox.commands.run(`git ${line}`, { cwd })).stdout;
await git("init -q --bare -b main store.git", "/home/user");
await git("clone -q store.git repo", "/home/user");
await git("config user.email agent@example.org");
await git("config user.name Agent");
await sandbox.files.write("repo/calc.py", "def add(a, b):\n    return a - b\n");
await git("add -A");
await git("commit -qm 'Add a calculator'");
await git("switch -qc fix");
await sandbox.files.write("repo/calc.py", (await sandbox.files.read("repo/calc.py")).replace("a - b", "a + b"));
assert.match(await git("diff"), /^-\s+return a - b\n\+\s+return a \+ b$/m);
await git("commit -qam 'Add instead of subtracting'");
await git("switch -q main");
await git("merge -q --no-ff --no-edit fix");
await git("push -q origin HEAD:main");
assert.deepEqual((await git("log --format=%s --topo-order --no-merges main", "/home/user/store.git")).trim().split("\n"), ["Add instead of subtracting", "Add a calculator"]);
assert.equal((await sandbox.commands.run("python3 -c 'import calc; print(calc.add(2, 3))'", { cwd: "/home/user/repo" })).stdout, "5\n");
const error = await git("checkout nowhere").catch((thrown) => thrown);
assert.ok(error instanceof CommandExitError && error.exitCode === 1 && error.stderr.includes("nowhere"));
await sandbox.kill();
console.log("done");
