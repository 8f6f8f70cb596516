// LlamaIndex' interpreter tool, which brings an old version of the packages (e2b 1.13): it finds the server by host names only.
import { strict as assert } from "node:assert";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { interpreter } from "@llamaindex/tools";

rmSync("made", { recursive: true, force: true });
mkdirSync("given", { recursive: true });
writeFileSync("given/numbers.csv", "n\n1\n2\n39\n");
const tool = interpreter({ apiKey: process.env.E2B_API_KEY, uploadedFilesDir: "given", outputDir: "made", fileServerURLPrefix: "http://files.example" });
const code = "import pandas as pd\nimport matplotlib.pyplot as plt\nrows = pd.read_csv('numbers.csv')\nplt.plot(rows.n)\nplt.show()\nprint('read')\nint(rows.n.sum())";
const result = await tool.call({ code, sandboxFiles: ["numbers.csv"] });
assert.equal(result.isError, false);
assert.deepEqual([result.text, result.logs.stdout.join("")], ["42", "read\n"]);
assert.deepEqual(result.extraResult.map((extra) => extra.type), ["png"]);
assert.equal(readdirSync("made").length, 1);
console.log("done");
process.exit(0);
