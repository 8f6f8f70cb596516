// ComputeSDK with its provider for E2B.
import { strict as assert } from "node:assert";
import { e2b } from "@computesdk/e2b";

const provider = e2b({ apiKey: process.env.E2B_API_KEY });
const sandbox = await provider.sandbox.create();
const script = "python3 - <<'END'\nimport pandas as pd\nprint(pd.DataFrame({'a': [1, 2, 3]}).a.sum())\nEND";
const { stdout, exitCode } = await sandbox.runCommand(script);
assert.deepEqual([stdout, exitCode], ["6\n", 0]);
await sandbox.filesystem.mkdir("project");
await sandbox.filesystem.writeFile("project/main.py", "print('from a file')");
assert.equal(await sandbox.filesystem.readFile("project/main.py"), "print('from a file')");
assert.deepEqual((await sandbox.filesystem.readdir("project")).map((entry) => [entry.name, entry.type]), [["main.py", "file"]]);
assert.equal((await sandbox.runCommand("python3 project/main.py")).stdout, "from a file\n");
assert.equal((await sandbox.runCommand("exit 7")).exitCode, 7);
await sandbox.filesystem.remove("project/main.py");
assert.equal(await sandbox.filesystem.exists("project/main.py"), false);
assert.equal((await sandbox.getInfo()).status, "running");
assert.ok((await provider.sandbox.list()).some((one) => one.sandboxId === sandbox.sandboxId));
await sandbox.destroy();
console.log("done");
