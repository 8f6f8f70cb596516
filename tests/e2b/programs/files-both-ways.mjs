// Files go in and come out: text, bytes, many at once, a large stream, and by signed addresses that a browser could use.
import { strict as assert } from "node:assert";
import { createHash } from "node:crypto";
import { FileNotFoundError, FileType, Sandbox } from "e2b";

const sandbox = await Sandbox.create();
const hash = (bytes) => createHash("sha256").update(bytes).digest("hex");
await sandbox.files.write([
  { path: "project/src/main.py", data: "print(open('project/data/table.bin', 'rb').read()[:2])" },
  { path: "project/README", data: "read me" },
  { path: "project/data/table.bin", data: new Uint8Array([1, 2, 255, 0]).buffer },
]);
assert.equal((await sandbox.commands.run("python3 project/src/main.py")).stdout, "b'\\x01\\x02'\n");

async function walk(directory) {
  const found = [];
  for (const entry of await sandbox.files.list(directory)) found.push(...(entry.type === FileType.DIR ? await walk(entry.path) : [entry.path]));
  return found.sort();
}
assert.deepEqual(await walk("/home/user/project"), ["/home/user/project/README", "/home/user/project/data/table.bin", "/home/user/project/src/main.py"]);
assert.deepEqual((await sandbox.files.list("project", { depth: 3 })).filter((entry) => entry.type === FileType.FILE).length, 3);

const large = Buffer.alloc(9_000_000, "0123456789abcdef");
await sandbox.files.write("large.bin", new Blob([large]).stream(), { useOctetStream: true });
assert.equal((await sandbox.commands.run("sha256sum < large.bin")).stdout.split(" ")[0], hash(large));
const parts = [];
for await (const part of await sandbox.files.read("large.bin", { format: "stream" })) parts.push(part);
assert.equal(hash(Buffer.concat(parts)), hash(large));
assert.equal((await sandbox.files.read("large.bin", { format: "blob" })).size, large.length);

const form = new FormData();
form.append("file", new Blob(["from a form"]), "ignored.txt");
assert.equal((await fetch(await sandbox.uploadUrl("inbox/letter.txt", { useSignatureExpiration: 60 }), { method: "POST", body: form })).status, 200);
assert.equal(await (await fetch(await sandbox.downloadUrl("inbox/letter.txt"))).text(), "from a form");

await sandbox.files.rename("inbox/letter.txt", "archive/2026/letter.txt");
assert.equal(await sandbox.files.exists("inbox/letter.txt"), false);
await sandbox.files.remove("archive");
await assert.rejects(sandbox.files.read("archive/2026/letter.txt"), FileNotFoundError);
await sandbox.kill();
console.log("done");
