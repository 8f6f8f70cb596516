// A program in the sandbox serves pages; this one fetches them by the host name that getHost() gives.
import { strict as assert } from "node:assert";
import { Sandbox } from "@e2b/code-interpreter";

const sandbox = await Sandbox.create({ timeoutMs: 60_000 });
await sandbox.files.write("app.py", `
import http.server, json

class App(http.server.BaseHTTPRequestHandler):
    visits = 0
    def do_POST(self):
        App.visits += 1
        name = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["name"]
        body = json.dumps({"hello": name, "visits": App.visits}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass

server = http.server.ThreadingHTTPServer(("0.0.0.0", 3000), App)
print("listening", flush=True)
server.serve_forever()
`);
let server;
await new Promise(async (listening) => {
  server = await sandbox.commands.run("python3 app.py", { background: true, timeoutMs: 0, onStdout: () => listening() });
});
const address = `http://${sandbox.getHost(3000)}/greet`;
const post = (name) => fetch(address, { method: "POST", body: JSON.stringify({ name }), headers: { "e2b-traffic-access-token": sandbox.trafficAccessToken } });
assert.deepEqual(await (await post("Ada")).json(), { hello: "Ada", visits: 1 });
assert.deepEqual(await (await post("Grace")).json(), { hello: "Grace", visits: 2 });
assert.equal((await sandbox.commands.list()).find((one) => one.pid === server.pid).args.at(-1), "python3 app.py");
assert.equal(await server.kill(), true);
assert.equal((await post("nobody")).status, 502);
await sandbox.kill();
console.log("done");
