// A package that the program brings along is installed with pip, and used by a cell, a command and a test.
import { strict as assert } from "node:assert";
import { Sandbox } from "@e2b/code-interpreter";

const sandbox = await Sandbox.create();
await sandbox.files.write([
  { path: "greeter/pyproject.toml", data: "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n[project]\nname = 'greeter'\nversion = '1.2'\n" },
  { path: "greeter/greeter.py", data: "def greet(name):\n    return f'Good day, {name}.'\n" },
  // A backend of a few lines, since no index can be reached.
  { path: "greeter/backend.py", data: `import zipfile
def build_wheel(directory, config=None, metadata=None):
    name = "greeter-1.2-py3-none-any.whl"
    with zipfile.ZipFile(f"{directory}/{name}", "w") as wheel:
        wheel.write("greeter.py")
        info = "greeter-1.2.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: greeter\\nVersion: 1.2\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: own\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/RECORD", f"greeter.py,,\\n{info}/METADATA,,\\n{info}/WHEEL,,\\n{info}/RECORD,,\\n")
    return name
` },
]);
const install = await sandbox.runCode("!pip install --no-index --no-build-isolation --disable-pip-version-check ./greeter\nimport greeter\ngreeter.greet('at once')");
assert.equal(install.error, undefined, JSON.stringify(install));
assert.equal(install.text, "Good day, at once.");
assert.match(install.logs.stdout.join(""), /Successfully installed greeter-1.2/);
assert.equal((await sandbox.runCode("import greeter\ngreeter.greet('Ada')")).text, "Good day, Ada.");
assert.equal((await sandbox.commands.run("python3 -c 'import greeter; print(greeter.greet(\"Bo\"))'")).stdout, "Good day, Bo.\n");
await sandbox.kill();
console.log("done");
