// A table is uploaded, cleaned, summed up and drawn; the chart comes back as numbers and as a picture.
import { strict as assert } from "node:assert";
import { Sandbox } from "@e2b/code-interpreter";

const sandbox = await Sandbox.create();
const rows = ["day,city,visitors"];
for (let day = 1; day <= 20; day++) for (const city of ["Oslo", "Turin"]) rows.push(`2026-03-${String(day).padStart(2, "0")},${city},${day % 7 ? day * (city === "Oslo" ? 2 : 3) : ""}`);
await sandbox.files.write("/home/user/visits.csv", rows.join("\n"));

const look = await sandbox.runCode("import pandas as pd\nvisits = pd.read_csv('/home/user/visits.csv', parse_dates=['day'])\nvisits.head(3)");
assert.deepEqual(look.results[0].data, { day: Array(2).fill("2026-03-01T00:00:00").concat("2026-03-02T00:00:00"), city: ["Oslo", "Turin", "Oslo"], visitors: [2, 3, 4] });
assert.match(look.results[0].html, /<table/);

const clean = await sandbox.runCode("clean = visits.dropna()\nprint(len(visits) - len(clean), 'rows dropped')\nclean.groupby('city').visitors.sum().to_dict()");
assert.equal(clean.logs.stdout.join(""), "4 rows dropped\n");
const totals = clean.results[0].json;
assert.deepEqual(Object.keys(totals), ["Oslo", "Turin"]);

const drawn = await sandbox.runCode(`
import matplotlib.pyplot as plt
sums = clean.groupby("city").visitors.sum()
plt.bar(sums.index, sums.values, label="all")
plt.title("Visitors")
plt.ylabel("visitors (people)")
plt.show()
for city, part in clean.groupby("city"):
    plt.plot(part.day, part.visitors, label=city)
plt.legend()
plt.show()
`);
const [bars, lines] = drawn.results;
assert.deepEqual([bars.chart.type, bars.chart.title, bars.chart.y_unit], ["bar", "Visitors", "people"]);
assert.deepEqual(bars.chart.elements.map((e) => [e.label, e.group, e.value]), [["Oslo", "all", totals.Oslo], ["Turin", "all", totals.Turin]]);
assert.deepEqual([lines.chart.type, lines.chart.x_scale, lines.chart.elements.map((e) => e.label)], ["line", "datetime", ["Oslo", "Turin"]]);
for (const { png } of drawn.results) assert.deepEqual([...Buffer.from(png, "base64").subarray(1, 4)], [0x50, 0x4e, 0x47]);

const wrong = await sandbox.runCode("clean.groupby('town')");
assert.equal(wrong.error.name, "KeyError");
assert.match(wrong.error.traceback, /town/);
await sandbox.kill();
console.log("done");
