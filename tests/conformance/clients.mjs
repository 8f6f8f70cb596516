// The official SDK clients against the product itself: clients.mjs SDK1 SDK2 BELLJAR URL
//
// SDK1, SDK2: where @modelcontextprotocol/sdk (1.x) and @modelcontextprotocol/client (2.x) are installed. Each way of
// connecting is one line, "ok NAME" or "not ok NAME: why"; the exit status says whether all were good.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import assert from 'node:assert/strict';

const [place1, place2, belljar, url] = process.argv.slice(2);

async function load(place, name) {
    return import(pathToFileURL(createRequire(place + '/').resolve(name)).href);
}

const one = {
    ...(await load(place1, '@modelcontextprotocol/sdk/client/index.js')),
    ...(await load(place1, '@modelcontextprotocol/sdk/client/stdio.js')),
    ...(await load(place1, '@modelcontextprotocol/sdk/client/streamableHttp.js')),
    ...(await load(place1, '@modelcontextprotocol/sdk/client/sse.js')),
};
const two = {
    ...(await load(place2, '@modelcontextprotocol/client')),
    ...(await load(place2, '@modelcontextprotocol/client/stdio')),
};

const transports = {
    stdio: sdk => new sdk.StdioClientTransport({ command: belljar, args: ['mcp'], stderr: 'inherit', env: process.env }),
    http: sdk => new sdk.StreamableHTTPClientTransport(new URL(url + '/mcp')),
    sse: sdk => new sdk.SSEClientTransport(new URL(url + '/sse')),
};

const info = { name: 'conformance', version: '1' };

function connectOne() {
    return new one.Client(info, { capabilities: {} });
}

function connectTwo(mode) {
    return () => new two.Client(info, { capabilities: {}, versionNegotiation: { mode } });
}

// 1.x has the schema of the result between the parameters and the options.
function call(client, isOne, params, options) {
    return isOne ? client.callTool(params, undefined, options) : client.callTool(params, options);
}

async function useAll(client, isOne, isModern) {
    const python = (code, more) => ({ name: 'execute_python_code', arguments: { code, ...more } });
    const { tools } = await client.listTools();
    assert(tools.some(tool => tool.name === 'run_code'));

    const first = await call(client, isOne, python('x = 41; print(x + 1)', isModern ? { session_id: 'new' } : {}));
    assert.equal(first.structuredContent.stdout, '42\n');
    const session = isModern ? { session_id: first.structuredContent.session_id } : {};
    const second = await call(client, isOne, python('x', session));
    assert.match(JSON.stringify(second.structuredContent), /41/);

    const failed = await call(client, isOne, python('1 / 0', session));
    assert.equal(failed.isError, true);
    assert.match(failed.content[0].text, /ZeroDivisionError/);

    const steps = [];
    const slow = python('import time\nfor i in range(8):\n    print(i, flush=True)\n    time.sleep(0.3)', session);
    const done = await call(client, isOne, slow, { onprogress: step => steps.push(step.progress), resetTimeoutOnProgress: true });
    assert.equal(done.structuredContent.stdout.split('\n').length, 9);
    assert(steps.length > 0, 'there was no progress');
    assert.deepEqual(steps, [...new Set(steps)].sort((a, b) => a - b));

    const stop = new AbortController();
    const endless = call(client, isOne, python('while True: pass', { ...session, timeout_s: 50 }), { signal: stop.signal });
    setTimeout(() => stop.abort(), 300);
    await assert.rejects(endless);
    const after = await call(client, isOne, python('print("still here", x)', session));
    assert.equal(after.structuredContent.stdout, 'still here 41\n');

    assert((await client.listPrompts()).prompts.length > 0);
    assert((await client.listResourceTemplates()).resourceTemplates.length > 0);
    await assert.rejects(client.readResource({ uri: 'belljar://sessions/none/files/none' }));
}

let failures = 0;

async function attempt(name, connect, transport, sdk, isModern) {
    const client = connect();
    try {
        await client.connect(transport(sdk));
        await useAll(client, sdk === one, isModern);
        console.log(`ok ${name}`);
    } catch (error) {
        failures++;
        console.log(`not ok ${name}: ${error?.stack ?? error}`);
    }
    await client.close().catch(() => {});
}

for (const [name, transport] of Object.entries(transports)) await attempt(`SDK 1.x, ${name}`, connectOne, transport, one, false);
for (const [name, transport] of Object.entries(transports)) await attempt(`SDK 2.x legacy, ${name}`, connectTwo('legacy'), transport, two, false);
for (const name of ['stdio', 'http']) {
    await attempt(`SDK 2.x auto, ${name}`, connectTwo('auto'), transports[name], two, true);
    await attempt(`SDK 2.x 2026-07-28, ${name}`, connectTwo({ pin: '2026-07-28' }), transports[name], two, true);
}
process.exit(failures ? 1 : 0);
