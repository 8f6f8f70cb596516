// A terminal in the sandbox, as a page with an emulator has it: an editor is used, the window is resized, another page joins.
import { strict as assert } from "node:assert";
import { Sandbox } from "e2b";

const sandbox = await Sandbox.create();
class Page {
  text = "";
  #wake = () => {};
  onData = (data) => {
    this.text += Buffer.from(data).toString("latin1");
    this.#wake();
  };
  async shows(part) {
    while (!this.text.includes(part)) await new Promise((resolve) => (this.#wake = resolve));
  }
}
const page = new Page();
const shell = await sandbox.pty.create({ cols: 80, rows: 24, timeoutMs: 0, onData: page.onData });
const type = (keys) => sandbox.pty.sendInput(shell.pid, Buffer.from(keys));
// A prompt with a number: as with any terminal, what is typed before it may be lost.
await type("PS1='prompt-\\# '; echo $((20 + 1))\r");
await page.shows("21\r\n");
await page.shows("prompt-2 ");
await type("python3 -q\r");
await page.shows(">>> ");
await type("sorted('cab')\r");
await page.shows("['a', 'b', 'c']");
await type("\x04"); // the end of its input
await page.shows("prompt-3 ");
await type("cat > note.txt\r");
await type("first line\rsecond line\r\x04");
await page.shows("prompt-4 ");
await type("wc -l note.txt\r");
await page.shows("2 note.txt");
assert.equal(await sandbox.files.read("note.txt"), "first line\nsecond line\n");

const guest = new Page();
const joined = await sandbox.pty.connect(shell.pid, { onData: guest.onData });
await sandbox.pty.resize(shell.pid, { cols: 100, rows: 30 });
await page.shows("prompt-5 ");
await type("stty size\r");
await Promise.all([page.shows("30 100"), guest.shows("30 100")]);
await joined.disconnect();
assert.ok((await sandbox.commands.list()).some((one) => one.pid === shell.pid && one.cmd === "/bin/bash"));
await page.shows("prompt-6 ");
await type("exit\r");
assert.equal((await shell.wait()).exitCode, 0);
await sandbox.kill();
console.log("done");
