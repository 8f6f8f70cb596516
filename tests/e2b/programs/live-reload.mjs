// A build that runs again whenever a source changes, as development servers do: watched from outside, built inside.
import { strict as assert } from "node:assert";
import { FilesystemEventType, Sandbox } from "e2b";

const sandbox = await Sandbox.create();
await sandbox.files.write([
  { path: "site/pages/index.txt", data: "hello" },
  { path: "site/build.py", data: "import pathlib\nfor page in pathlib.Path('pages').glob('*.txt'):\n    pathlib.Path('out', page.stem + '.html').write_text(f'<p>{page.read_text()}</p>')\n" },
]);
await sandbox.files.makeDir("site/out");
const build = () => sandbox.commands.run("python3 build.py", { cwd: "/home/user/site" });
await build();
assert.equal(await sandbox.files.read("site/out/index.html"), "<p>hello</p>");

let changed = () => {};
const seen = [];
const watch = await sandbox.files.watchDir("site/pages", async (event) => {
  seen.push([event.type, event.name]);
  if (event.type === FilesystemEventType.WRITE) changed(event.name);
});
const next = () => new Promise((resolve) => (changed = resolve));
for (const [name, text] of [["index", "good day"], ["about", "who we are"]]) {
  const change = next();
  await sandbox.commands.run(`printf '${text}' > site/pages/${name}.txt`);
  assert.equal(await change, `${name}.txt`);
  await build();
  assert.equal(await sandbox.files.read(`site/out/${name}.html`), `<p>${text}</p>`);
}
assert.ok(seen.some(([type, name]) => type === FilesystemEventType.CREATE && name === "about.txt"));
await watch.stop();
await sandbox.kill();
console.log("done");
