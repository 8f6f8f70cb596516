// Output of a cell, of a command and of a background command arrives while they run, not at their end.
import { strict as assert } from "node:assert";
import { Sandbox } from "@e2b/code-interpreter";

const sandbox = await Sandbox.create();

// Each part answers before the program goes on: it waits for a file that only we write.
const wait = (name) => `\nimport os, time\nwhile not os.path.exists('${name}'): time.sleep(0.02)\n`;
const seen = [];
const cell = await sandbox.runCode(`print("first", flush=True)${wait("go1")}from IPython.display import display, Markdown\ndisplay(Markdown("**second**"))${wait("go2")}print("third")\n"fourth"`, {
  onStdout: async ({ line }) => {
    seen.push(line.trim());
    if (line.includes("first")) await sandbox.files.write("go1", "");
  },
  onResult: async (result) => {
    seen.push(result.markdown ?? result.text);
    if (result.markdown) await sandbox.files.write("go2", "");
  },
});
assert.deepEqual(seen, ["first", "**second**", "third", "fourth"]);
assert.equal(cell.text, "fourth");

let said = "";
const echo = await sandbox.commands.run("while read -r line; do echo \"heard $line\"; done; echo over >&2", {
  background: true,
  stdin: true,
  onStdout: async (text) => {
    said += text;
    if (text.includes("one")) await sandbox.commands.sendStdin(echo.pid, "two\n");
    if (text.includes("two")) await sandbox.commands.closeStdin(echo.pid);
  },
});
await sandbox.commands.sendStdin(echo.pid, "one\n");
const { stdout, stderr, exitCode } = await echo.wait();
assert.deepEqual([said, stdout, stderr, exitCode], ["heard one\nheard two\n", "heard one\nheard two\n", "over\n", 0]);
await sandbox.kill();
console.log("done");
