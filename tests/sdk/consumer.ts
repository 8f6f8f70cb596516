// A program of somebody who installed the package: what it uses has types, and what it must not do is an error of the compiler.
import { BelljarError, Client, type Event, type Result, type RunFields } from "belljar";

const client = new Client();
const fields: RunFields = { timeout_s: 5, files: { in: "x", raw: new Uint8Array([0, 255]) }, collect: ["out"] };
const result: Result = await client.run("open('out', 'wb').write(open('raw', 'rb').read())", fields);
const size: number | undefined = result.collected[0]?.content?.length;
const status: "running" | "success" | "error" | "timeout" | "memory_exceeded" | "refused" | "cancelled" = result.status;

function text(event: Event): string {
  switch (event.kind) {
    case "stdout":
    case "stderr":
      return event.data.text;
    case "progress":
      return `${event.data.done} of ${event.data.total ?? "?"}`;
    case "approval":
      return event.data.call;
    case "result":
      return event.data.stdout;
    default:
      return "";
  }
}

let said = "";
for await (const event of client.stream("print('hello')")) if (event.kind === "stdout") said += text(event);

async function work(): Promise<string> {
  await using session = await client.session({ idle_s: 60 });
  await session.run("x = 1");
  return session.id;
}
const ended = await client.getSession(await work()).catch((error: unknown) => (error instanceof BelljarError ? error.code : "open"));

export async function misused() {
  // @ts-expect-error: no such field
  await client.run("1", { tiemout_s: 5 });
  // @ts-expect-error: not a number
  await client.run("1", { timeout_s: "5" });
  // @ts-expect-error: no such language
  await client.run("1", { language: "cobol" });
  // @ts-expect-error: a session has no code
  await client.session({ code: "1" });
  // @ts-expect-error: no such route
  await client.call("GET /v1/nothing");
  // @ts-expect-error: no such part of a query
  await client.call("GET /v1/runs", { query: { lmit: 1 } });
  // @ts-expect-error: an answer has no such member
  (await client.call("GET /v1/stats")).me;
  for await (const event of client.stream("1")) {
    // @ts-expect-error: only some events have text
    event.data.text;
  }
}

console.log(status, size, JSON.stringify(said), ended);
