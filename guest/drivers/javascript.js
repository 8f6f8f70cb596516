// The driver of JavaScript and TypeScript, see guest/driver.h. It runs in node 18 and later.
//
// A program runs as node would run it: as a script with require() and module, as a module if it has import or export or
// its name ends in .mjs. Cells of a session run in V8's REPL mode, where the top level may await and declare a name
// again; the inspector of the own process is the only way to it.
(() => {
    'use strict';
    const fs = require('fs'), path = require('path'), util = require('util'), vm = require('vm');
    const { pathToFileURL } = require('url');
    const Module = require('module');
    const { spawnSync } = require('child_process');
    const { readSync, writeSync } = fs;

    // Numbers of wire/message.h; guest/driver.c checks that they are these.
    const CELLS = 63, REPORT = 62, REPLIES = 58, VERSION = 1;
    const STARTED = 13, RESULT = 14, EXCEPTION = 15, DONE = 22, CALL = 28, REPLY = 29;
    const AUTO_PRINT = 2, STDIN = 8, AS_PRINT = 16, CHECK_ONLY = 512, TYPED = 4096;
    const TEXT_MAX = 1 << 20;

    const [mode, name, script, ...args] = process.argv.slice(1);
    const isSession = mode === 'session';
    const shownName = script || (name && name !== '-c' ? name : '<program>');
    const base = script ? path.dirname(script) : process.cwd();
    const fileName = script || path.join(base, shownName === '<program>' ? 'program.js' : path.basename(name));

    // --- frames ---

    function readFully(length) {
        const data = Buffer.alloc(length);
        for (let at = 0; at < length;) {
            try {
                const n = readSync(CELLS, data, at, length - at, null);
                if (n === 0)
                    return null;
                at += n;
            } catch (error) {
                if (error.code !== 'EINTR' && error.code !== 'EAGAIN')
                    throw error;
            }
        }
        return data;
    }

    function readCell() {
        const head = readFully(8), body = head && readFully(head.readUInt32LE(4));
        if (!body)
            return null;
        let at = 8;
        const text = () => {
            const begin = at + 4;
            at = begin + body.readUInt32LE(at);
            return body.subarray(begin, at);
        };
        const flags = body.readUInt32LE(0), number = body.readUInt32LE(4);
        return { flags, number, code: text().toString(), input: text(), language: text().toString() };
    }

    function number(value) {
        const data = Buffer.alloc(4);
        data.writeUInt32LE(value >>> 0);
        return data;
    }

    function string(value) {
        let data = Buffer.from(value.slice(0, TEXT_MAX));
        if (data.length > TEXT_MAX)
            data = Buffer.from(data.subarray(0, TEXT_MAX - 4).toString().replace(/\uFFFD+$/, ''));
        return Buffer.concat([number(data.length), data]);
    }

    function send(type, ...parts) {
        const body = Buffer.concat(parts);
        const frame = Buffer.concat([Buffer.from([0x42, 0x4a, VERSION, type]), number(body.length), body]);
        for (let at = 0; at < frame.length;) {
            try {
                at += writeSync(REPORT, frame, at);
            } catch (error) {
                if (error.code !== 'EINTR' && error.code !== 'EAGAIN')
                    return; // nobody listens any more
            }
        }
    }

    // --- values ---

    function inspect(value) {
        try {
            return util.inspect(value);
        } catch (error) {
            return '<inspect failed>';
        }
    }

    // What has no form in JSON has none here, rather than a wrong one.
    function json(value) {
        function check(key, item) {
            const raw = this[key], kind = typeof raw;
            if (raw === null || raw === undefined || kind === 'string' || kind === 'boolean' || kind === 'number')
                return item;
            const prototype = kind === 'object' && Object.getPrototypeOf(raw);
            if (Array.isArray(raw) || prototype === Object.prototype || prototype === null)
                return item;
            throw new TypeError('not plain data');
        }
        try {
            const text = JSON.stringify(value, check);
            return text && text.length <= TEXT_MAX ? text : '';
        } catch (error) {
            return '';
        }
    }

    // Timers, servers and the like are what calls happen to return, not what a program wants to say.
    function isWorthTelling(value) {
        const kind = value && value.constructor && value.constructor.name;
        return value !== undefined && value !== 'use strict' && kind !== 'Timeout' && kind !== 'Immediate' &&
               !(value instanceof require('events'));
    }

    function tellResult(value) {
        if (isWorthTelling(value))
            send(RESULT, string(inspect(value)), string(json(value)));
    }

    function echo(value, flags) {
        if (flags & AUTO_PRINT && isWorthTelling(value))
            process.stdout.write((flags & AS_PRINT && typeof value === 'string' ? value : inspect(value)) + '\n');
    }

    const readResult = new vm.Script('typeof result === "undefined" ? undefined : result', { filename: '[eval]' });

    function namedResult() {
        try {
            return readResult.runInThisContext();
        } catch (error) { // declared, and never set
            return undefined;
        }
    }

    // --- errors ---

    const sources = new Map(); // of programs, by the name in stacks: {text, map}

    // A place in what ran, as a place in what was written: file, line and column.
    function original(file, line, column) {
        const source = sources.get(file), entry = source && source.map && source.map.findEntry(line - 1, column - 1);
        if (!entry || entry.originalLine === undefined)
            return [file, line, column];
        return [source.names.get(entry.originalSource) || file, entry.originalLine + 1, entry.originalColumn + 1];
    }

    const PLACE = /(?:file:\/\/)?([^\s()]+|<[^<>()]*>):(\d+):(\d+)\)?$/;

    // A module that is missing: the driver asked for it.
    function withoutDriver(text) {
        return text.replace(/ imported from \S*\[eval\d*\]/g, '');
    }

    // Lines of the program's own: node's, and what is below the driver, say nothing to a reader.
    function tidy(text) {
        const lines = [];
        let isBelow = false;
        for (const line of text.split('\n')) {
            const isFrame = /^\s+at /.test(line);
            if (!isFrame)
                isBelow = false;
            else if (line.includes('[eval]'))
                isBelow = true;
            if (isFrame && (isBelow || /\(?node:/.test(line))) {
                if (line.endsWith(' {')) // properties of the error follow
                    lines[lines.length - 1] += ' {';
                continue;
            }
            const place = isFrame && PLACE.exec(line);
            lines.push(place && sources.has(place[1])
                ? line.slice(0, place.index) + original(place[1], +place[2], +place[3]).join(':') +
                      (line.endsWith(')') ? ')' : '')
                : line);
        }
        return withoutDriver(lines.join('\n'));
    }

    // Where the program was when it failed: the first line of a stack that is its own.
    function placeOf(error) {
        for (const line of typeof error.stack === 'string' ? error.stack.split('\n') : []) {
            const place = /^\s+at /.test(line) && PLACE.exec(line);
            if (place && sources.has(place[1]))
                return original(place[1], +place[2], +place[3]);
        }
        return null;
    }

    // What vm throws for text that is not JavaScript has the place and the line in front of its stack.
    function placeOfSyntax(error) {
        const match = error instanceof SyntaxError && /^(.*):(\d+)\n(.*)\n( *)\^*\n/.exec(error.stack);
        return match && sources.has(match[1]) ? original(match[1], +match[2], match[4].length + 1) : null;
    }

    function excerpt(place) {
        const line = sources.get(place[0]).text.split('\n')[place[1] - 1];
        return line === undefined || line.length > 300 ? `${place[0]}:${place[1]}\n\n`
            : `${place[0]}:${place[1]}\n${line}\n${line.slice(0, place[2] - 1).replace(/[^\t]/g, ' ')}^\n\n`;
    }

    function isError(error) {
        return error instanceof Error || Object.prototype.toString.call(error) === '[object Error]';
    }

    function nameOf(error) {
        return typeof error.name === 'string' && error.name || 'Error';
    }

    // Stacks that a program prints itself end where the driver begins, too.
    Error.prepareStackTrace = (error, frames) => {
        const below = frames.findIndex((frame) => frame.getFileName() === '[eval]');
        const own = below < 0 ? frames : frames.slice(0, below).filter((frame) => !/^node:(?:vm|inspector)$/.test(frame.getFileName()));
        let head = 'Error';
        try {
            head = /^ERR_/.test(error.code) ? `${error.name} [${error.code}]: ${error.message}` : Error.prototype.toString.call(error);
        } catch (failure) { } // of a getter
        return [head, ...own].join('\n    at ');
    };

    // To standard error and to whoever asked for the run. `place`: where it is known better than the stack does.
    function tellError(error, place) {
        let name = 'Uncaught', message = '', text;
        if (isError(error)) {
            const syntax = !place && placeOfSyntax(error);
            place = place || syntax || placeOf(error);
            name = nameOf(error);
            message = withoutDriver(String(error.message));
            text = /\n\s+at /.test(error.stack) || syntax ? tidy(inspect(error)) : `${name}: ${message}`;
            if (syntax)
                text = text.slice(Math.max(text.indexOf('\n\n'), 0)).trimStart();
        } else {
            message = inspect(error);
            text = 'Uncaught ' + message;
        }
        text = (place ? excerpt(place) : '') + text + '\n';
        try {
            writeSync(2, text);
        } catch (failure) {
            process.stderr.write(text);
        }
        send(EXCEPTION, string(name), string(message), string(text), number(place ? place[1] : 0),
             number(place ? place[2] : 0), number(0), number(0));
    }

    class At extends Error { // an error with a place of its own
        constructor(error, place) {
            super(error.message);
            this.error = error;
            this.place = place;
        }
    }

    function tell(error) {
        if (error instanceof At)
            tellError(error.error, error.place);
        else
            tellError(error);
    }

    // --- TypeScript ---

    const isBundled = (code) => /(?:\bfrom|\bimport|\brequire)\s*\(?\s*["']\.{1,2}\//.test(code);

    // esbuild removes the types and says which line has become which. A program that imports files beside it becomes one
    // text with them: node cannot read theirs.
    function strip(code, file, isCell) {
        const keep = { compilerOptions: { importsNotUsedAsValues: 'preserve', preserveValueImports: true, verbatimModuleSyntax: true } };
        const bundle = ['--bundle', '--platform=node', '--packages=external', '--format=esm'];
        const esbuild = spawnSync('esbuild', ['--loader=ts', '--sourcemap=inline', '--log-level=error', '--color=false',
            '--target=node' + process.versions.node.split('.')[0],
            ...isCell ? ['--tsconfig-raw=' + JSON.stringify(keep)] : isBundled(code) ? bundle : []],
            { input: code, encoding: 'utf8', maxBuffer: 256 << 20, cwd: base });
        sources.set(file, { text: code });
        if (esbuild.error || esbuild.status !== 0)
            throw notTypeScript(esbuild, file);
        const mark = '//# sourceMappingURL=data:application/json;base64,';
        const at = esbuild.stdout.lastIndexOf(mark);
        const map = JSON.parse(Buffer.from(esbuild.stdout.slice(at + mark.length), 'base64').toString());
        const names = new Map(map.sources.map((name) => [name, name === '<stdin>' ? file : name]));
        map.sources.forEach((name, i) => names.get(name) !== file && sources.set(name, { text: map.sourcesContent[i] }));
        sources.set(file, { text: code, map: new Module.SourceMap(map), names });
        return esbuild.stdout.slice(0, at);
    }

    function notTypeScript(esbuild, file) {
        const match = /\[ERROR\] (.*)\n\s+(\S.*):(\d+):(\d+):/.exec(esbuild.stderr || '');
        const message = match ? match[1].replace(/^Could not resolve "(.*)"$/, "Cannot find module '$1'") : `esbuild failed: ${esbuild.error ? esbuild.error.message : esbuild.stderr}`;
        const error = new (/^Cannot find module/.test(message) ? Error : SyntaxError)(message);
        error.stack = `${error.name}: ${message}`;
        if (match && match[2] !== '<stdin>')
            try {
                sources.set(match[2], { text: fs.readFileSync(path.resolve(base, match[2]), 'utf8') });
            } catch (failure) {
                return new At(error, null);
            }
        return new At(error, match && [match[2] === '<stdin>' ? file : match[2], +match[3], +match[4] + 1]);
    }

    function readSource(cell, file) {
        if (cell.language === 'typescript')
            return strip(cell.code, file, isSession);
        sources.set(file, { text: cell.code });
        return cell.code;
    }

    // --- the surroundings of a program ---

    const main = new Module(fileName, null);
    main.filename = fileName;
    main.paths = Module._nodeModulePaths(base);
    process.mainModule = main;
    process.argv = [process.execPath, fileName, ...args];
    process.execArgv = [];
    process.title = 'node';
    delete process._eval;
    const ownRequire = Module.createRequire(fileName);

    function hide(key, value) {
        Object.defineProperty(globalThis, key, { value, configurable: true, writable: true, enumerable: false });
    }

    // For text on a command line node has its modules as global names, and it sets `module` once more behind this driver.
    // The names go unread: to read one loads the module, and some warn then.
    function setGlobals() {
        for (const key of isSession || shownName === '<program>' ? [] : Module.builtinModules) {
            const found = Object.getOwnPropertyDescriptor(globalThis, key);
            if (found && found.get && !found.enumerable && key !== 'console' && key !== 'process')
                delete globalThis[key];
        }
        if (!isSession && shownName !== '<program>' && parseInt(process.versions.node) >= 19)
            hide('crypto', require('crypto').webcrypto);
        for (const [key, value] of Object.entries({ require: ownRequire, module: main, exports: main.exports, __filename: fileName, __dirname: base }))
            hide(key, value);
    }

    const emitWarning = process.emitWarning;
    process.emitWarning = (warning, ...rest) => {
        if (!/^VM Modules |^vm\.USE_/.test(String(warning))) // ours: the program has not asked for them
            emitWarning.call(process, warning, ...rest);
    };

    // A session outlives what it imports: a file that has changed since is read anew, under an address of its own.
    const imported = new Map(), required = new Map();

    function stampOf(file) {
        const st = fs.statSync(file, { throwIfNoEntry: false });
        return st ? `${st.mtimeMs}/${st.size}/${st.ino}` : '';
    }

    function addressOf(file) {
        const stamp = stampOf(file), known = imported.get(file) || { stamp, edition: 0 };
        if (known.stamp !== stamp)
            Object.assign(known, { stamp, edition: known.edition + 1 });
        imported.set(file, known);
        return pathToFileURL(file).href + (isSession && known.edition ? `?edition=${known.edition}` : '');
    }

    const requiredFiles = () => Object.keys(Module._cache).filter((file) => path.isAbsolute(file) && !file.includes('/node_modules/'));

    function dropChanged() {
        if (![...required].some(([file, stamp]) => stampOf(file) !== stamp))
            return;
        for (const file of requiredFiles())
            delete Module._cache[file];
        required.clear();
    }

    function noteRequired() {
        for (const file of requiredFiles())
            if (!required.has(file))
                required.set(file, stampOf(file));
    }

    // Names begin at the program's file. node would begin at the driver, which is where the process started.
    function load(specifier) {
        specifier = String(specifier);
        if (/^\.{0,2}\//.test(specifier))
            return import(addressOf(path.resolve(base, specifier)));
        if (base === process.cwd() || /^(node|file|data):/.test(specifier) || Module.builtinModules.includes(specifier))
            return import(specifier);
        return import(specifier).catch((error) => {
            if (error.code !== 'ERR_MODULE_NOT_FOUND')
                throw error;
            return import(pathToFileURL(ownRequire.resolve(specifier)).href);
        });
    }

    // --- REPL mode ---

    const IMPORT = '$$imp$'; // as long as `import`: columns stay the same
    const STEP = Symbol('belljar');
    let inspector = null, taken;

    // Calls visit(at) for each word `import` that is code, and returns the pieces.
    function findImports(code) {
        const found = [], depths = [];
        let depth = 0, last = '', at = 0;
        const template = () => { // behind ` or }
            for (; at < code.length && code[at] !== '`'; at++)
                if (code[at] === '\\') {
                    at++;
                } else if (code[at] === '$' && code[at + 1] === '{') {
                    depths.push(depth++);
                    at += 2;
                    last = '{';
                    return;
                }
            at++;
            last = '`';
        };
        while (at < code.length) {
            const c = code[at], rest = code.slice(at, at + 2);
            if (rest === '//' || (rest === '#!' && at === 0)) {
                at = (code.indexOf('\n', at) + 1 || code.length + 1) - 1;
            } else if (rest === '/*') {
                at = code.indexOf('*/', at + 2) + 2 || code.length;
                at = at < 2 ? code.length : at;
            } else if (c === '"' || c === "'") {
                for (at++; at < code.length && code[at] !== c && code[at] !== '\n'; at++)
                    if (code[at] === '\\')
                        at++;
                at++;
                last = c;
            } else if (c === '`') {
                at++;
                template();
            } else if (c === '}' && depths.length && depths[depths.length - 1] === depth - 1) {
                depths.pop();
                depth--;
                at++;
                template();
            } else if (c === '/' && /^$|[(,=:[!&|?{};+\-*%~^<>]|\b(?:return|typeof|case|in|of|await|void|delete)$/.test(last)) {
                let isClass = false; // a regular expression
                for (at++; at < code.length && code[at] !== '\n' && (isClass || code[at] !== '/'); at++)
                    if (code[at] === '\\')
                        at++;
                    else if (code[at] === '[' || code[at] === ']')
                        isClass = code[at] === '[';
                at++;
                last = '/';
            } else if (/[\w$]/.test(c)) {
                const word = /[\w$]+/y;
                word.lastIndex = at;
                const text = word.exec(code)[0];
                if (text === 'import' && last !== '.')
                    found.push(at);
                at += text.length;
                last = text;
            } else {
                if (c === '{')
                    depth++;
                else if (c === '}')
                    depth--;
                if (!/\s/.test(c))
                    last = c;
                at++;
            }
        }
        return found;
    }

    const CLAUSE = /import\s*(?:([\w$]+)\s*(?:,\s*)?)?(?:\*\s*as\s+([\w$]+)|(\{[^{}]*\}))?\s*(?:from\s*)?(["'])([^"'\n]+)\4/y;

    // A static import is a declaration that awaits. Lines stay where they are.
    function importAsCode(match) {
        const [, byDefault, all, names, , specifier] = match;
        const call = `await ${IMPORT}(${JSON.stringify(specifier)})`;
        const list = names ? names.slice(1, -1).replace(/\s+as\s+/g, ': ') : '';
        if (all)
            return `const ${all} = ${call}` + (byDefault ? `, {default: ${byDefault}} = ${all}` : '');
        if (byDefault || names)
            return `const {${byDefault ? `default: ${byDefault}, ` : ''}${list}} = ${call}`;
        return call;
    }

    function rewriteImports(code) {
        let out = '', done = 0;
        for (const at of findImports(code)) {
            CLAUSE.lastIndex = at;
            const match = CLAUSE.exec(code), isCall = /^import\s*\(/.test(code.slice(at, at + 64));
            if (at < done || (!isCall && !match))
                continue;
            out += code.slice(done, at) + (isCall ? IMPORT : importAsCode(match));
            done = isCall ? at + 6 : at + match[0].length;
        }
        return out + code.slice(done);
    }

    const step = new vm.Script('globalThis[Symbol.for("belljar.step")]()', { filename: '[eval]' });

    // The value behind the inspector's name for it.
    function take(remote) {
        if (!remote || !remote.objectId)
            return remote && 'unserializableValue' in remote ? eval(`(${remote.unserializableValue})`) : remote && remote.value;
        inspector.post('Runtime.callFunctionOn', {
            objectId: remote.objectId, functionDeclaration: 'function () { globalThis[Symbol.for("belljar.take")](this) }' });
        inspector.post('Runtime.releaseObject', { objectId: remote.objectId });
        return taken;
    }

    // Calls done(error, value) once. An interrupt ends a loop and keeps what the program has set.
    function evaluate(code, file, done) {
        if (!inspector) {
            inspector = new (require('inspector').Session)();
            inspector.connect();
            hide(IMPORT, load);
            hide(Symbol.for('belljar.take'), (value) => { taken = value; });
        }
        const settle = (failure, response) => {
            const details = response && response.exceptionDetails;
            if (failure)
                done(new Error(failure.message));
            else if (details)
                done(atSyntax(take(details.exception || response.result), details, file));
            else
                done(null, take(response.result));
        };
        hide(Symbol.for('belljar.step'), () => inspector.post('Runtime.evaluate',
            { expression: `${rewriteImports(code)}\n//# sourceURL=${file}`, replMode: true, awaitPromise: true }, settle));
        step.runInThisContext({ breakOnSigint: isSession, displayErrors: false });
    }

    // The stack of an error in the text itself has no line of it.
    function atSyntax(error, details, file) {
        const isOfText = error instanceof SyntaxError && !placeOf(error) && details.lineNumber >= 0 && details.columnNumber >= 0;
        if (!isOfText)
            return error;
        error.stack = `SyntaxError: ${error.message}`;
        return new At(error, original(file, details.lineNumber + 1, details.columnNumber + 1));
    }

    // --- one program ---

    const isModuleText = (code) => /^\s*(?:import\b(?!\s*\()|export\b)|\bimport\.meta\b/m.test(code);

    function asModule(code) {
        return new vm.SourceTextModule(code, {
            identifier: shownName,
            initializeImportMeta(meta) { meta.url = pathToFileURL(fileName).href; },
            importModuleDynamically: load,
        });
    }

    // V8 does not say where a module is wrong. The same text as a function is wrong at the same place.
    function atModule(error, code) {
        const text = rewriteImports(code).replace(/^(\s*)export(?: default)?\b/gm, '$1');
        try {
            new vm.Script(`(async () => {\n${text}\n})`, { filename: shownName, lineOffset: -1 });
        } catch (other) {
            return placeOfSyntax(other) ? other : error;
        }
        return error;
    }

    async function linked(specifier) {
        const namespace = await load(specifier), keys = Object.keys(namespace);
        return new vm.SyntheticModule(keys, function () {
            for (const key of keys)
                this.setExport(key, namespace[key]);
        });
    }

    async function runModule(module) {
        await module.link(linked);
        await module.evaluate();
        const { namespace } = module;
        return 'result' in namespace ? namespace.result : namespace.default;
    }

    // How the program is to be run: a function that returns its value or a promise of it. Throws what is wrong with it.
    function compile(code, isOneText) {
        const options = { filename: shownName, importModuleDynamically: load };
        if (/\.m[jt]s$/.test(shownName) || isOneText) {
            let module;
            try {
                module = asModule(code);
            } catch (error) {
                throw atModule(error, code);
            }
            return () => runModule(module);
        }
        try {
            const compiled = new vm.Script(code, options);
            return () => compiled.runInThisContext({ displayErrors: false });
        } catch (error) {
            let module;
            try {
                module = asModule(code);
            } catch (other) {
                try { // a script may return
                    const body = vm.compileFunction(code, [], options);
                    return () => body.call(main.exports);
                } catch (another) {
                    throw isModuleText(code) || /^await is only/.test(error.message) ? atModule(other, code) : error;
                }
            }
            if (isModuleText(code))
                return () => runModule(module);
            return () => new Promise((resolve, reject) => evaluate(code, shownName.replace(/\s/g, '_'), // it awaits
                (failure, value) => failure ? reject(failure) : resolve(value)));
        }
    }

    function runProgram(cell) {
        const outcome = { value: undefined, isFailed: false };
        const fail = (error) => {
            if (!outcome.isFailed)
                tell(error);
            outcome.isFailed = true;
            process.exit(1);
        };
        const finish = (value) => {
            outcome.value = value;
            echo(value, cell.flags);
        };
        process.on('uncaughtException', (error) => {
            if (process.listenerCount('uncaughtException') === 1)
                fail(error);
        });
        process.on('exit', (code) => {
            const named = namedResult(), exported = main.exports;
            const isExported = typeof exported !== 'object' || exported === null || Object.keys(exported).length > 0;
            if (!outcome.isFailed && code === 0)
                tellResult(named !== undefined ? named : outcome.value !== undefined ? outcome.value : isExported ? exported : undefined);
        });
        try {
            const run = compile(readSource(cell, shownName), cell.language === 'typescript' && isBundled(cell.code));
            const value = cell.flags & CHECK_ONLY ? undefined : run();
            if (value instanceof Promise)
                value.then(finish, fail);
            else
                finish(value);
        } catch (error) {
            if (process.listenerCount('uncaughtException') === 1 || error instanceof At)
                fail(error);
            process.emit('uncaughtException', error, 'uncaughtException');
        }
    }

    // --- sessions ---

    class Exit extends Error { // of the cell, not of the session
        constructor(code) {
            super(`process.exit(${code === undefined ? '' : code})`);
            this.code = code;
        }
    }

    const later = setImmediate;
    let running = null;
    let isStale = false; // a stopped cell has left something in the event loop, which later cells do not wait for

    // Timers of a cell that is stopped end with it.
    const timers = new Set();
    let timersMany = 1000;

    function watchTimers() {
        const module = require('timers');
        for (const name of ['setTimeout', 'setInterval', 'setImmediate']) {
            const plain = module[name];
            const watched = (...list) => {
                const timer = plain(...list);
                if (timers.size > timersMany) {
                    for (const other of timers)
                        if (other._destroyed)
                            timers.delete(other);
                    timersMany = Math.max(1000, 2 * timers.size);
                }
                timers.add(timer);
                return timer;
            };
            Object.defineProperties(watched, Object.getOwnPropertyDescriptors(plain));
            module[name] = globalThis[name] = watched;
        }
    }

    function stopCell(error, code) {
        for (const timer of timers) {
            clearTimeout(timer);
            clearImmediate(timer);
        }
        timers.clear();
        isStale = process.getActiveResourcesInfo().length > 0;
        running.error = error;
        finishCell(code);
    }

    function finishCell(code) {
        const { cell, error, value, before } = running, named = namedResult();
        running = null;
        if (error instanceof Exit) {
            code = Number(error.code === undefined ? process.exitCode || 0 : error.code) & 255;
        } else if (error !== undefined) {
            code = code || 1;
            tell(error);
        } else {
            const isNamed = named !== undefined && (named !== before || /(?:^|[^.\w$])result\s*=(?!=)/.test(cell.code));
            echo(value, cell.flags);
            tellResult(isNamed ? named : value);
            code = code || Number(process.exitCode || 0) & 255;
        }
        process.exitCode = undefined;
        noteRequired();
        send(DONE, number(code));
        later(nextCell);
    }

    // Lines that somebody types: those who wait for one, by the number of their call.
    const waiting = new Map();
    let lastCall = 0, replies = null, unread = Buffer.alloc(0);

    function takeReplies(data) {
        unread = Buffer.concat([unread, data]);
        while (unread.length >= 8 && unread.length >= 8 + unread.readUInt32LE(4)) {
            const end = 8 + unread.readUInt32LE(4), type = unread[3], body = unread.subarray(8, end);
            const id = type === REPLY && body.readUInt32LE(0), done = waiting.get(id);
            unread = unread.subarray(end);
            waiting.delete(id);
            if (done)
                done(body[8] ? JSON.parse(body.subarray(13)) : null);
        }
        if (!waiting.size)
            replies.unref();
    }

    function askLine(done) {
        if (!running) { // nobody is there to be asked
            done(null);
            return;
        }
        if (!replies) {
            replies = new (require('net').Socket)({ fd: REPLIES, readable: true, writable: false });
            replies.on('data', takeReplies).on('error', () => { });
        }
        replies.ref();
        waiting.set(++lastCall, done);
        send(CALL, number(lastCall), number(0), string('input.line'), string('{}'));
    }

    // It asks when the program has seen the line before, and holds the cell as long as somebody listens.
    function typedLines() {
        let isWanted = false;
        const ask = () => {
            if (!isWanted || stream.isPaused())
                return;
            isWanted = false;
            askLine((line) => stream.push(line));
        };
        const stream = new (require('stream').Readable)({ highWaterMark: 0, read() { isWanted = true; later(ask); } });
        return stream.on('pause', () => replies && replies.unref()).on('resume', () => {
            if (replies && waiting.size)
                replies.ref();
            later(ask);
        });
    }

    // Standard input of a cell is a file. process.stdin is node's only once, so each cell gets its own.
    function giveInput(cell) {
        const file = `${process.env.TMPDIR || "/tmp"}/.stdin-${process.pid}`;
        const hasInput = cell.flags & STDIN;
        let stream = null;
        if (hasInput)
            fs.writeFileSync(file, cell.input);
        fs.closeSync(0);
        fs.openSync(hasInput ? file : '/dev/null', 'r');
        if (hasInput)
            fs.unlinkSync(file);
        Object.defineProperty(process, 'stdin', {
            configurable: true, enumerable: true,
            get: () => stream = stream || (cell.flags & TYPED && !hasInput ? typedLines() : new fs.ReadStream('', { fd: 0, autoClose: false })),
        });
    }

    function interrupted() {
        const error = new Error('the cell was interrupted');
        error.name = 'Interrupted';
        error.stack = 'Interrupted: the cell was interrupted';
        return error;
    }

    // A second interrupt of the cell before, which came late, is dropped on the way to the next one.
    function nextCell() {
        const cell = readCell();
        if (!cell)
            process.reallyExit(0);
        later(() => beginCell(cell));
    }

    function beginCell(cell) {
        const here = running = { cell, before: namedResult(), error: undefined, value: undefined, isSettled: false };
        send(STARTED);
        try {
            dropChanged();
            giveInput(cell);
            const file = `<cell-${cell.number}>`;
            evaluate(readSource(cell, file), file, (error, value) => {
                if (running !== here)
                    return;
                Object.assign(here, { error: error === null ? undefined : error, value, isSettled: true });
                if (value instanceof Promise)
                    value.then((late) => { here.value = late; }, (late) => { here.error = late; });
                if (isStale)
                    later(() => running === here && finishCell(0));
            });
        } catch (error) {
            const isInterrupt = error && error.code === 'ERR_SCRIPT_EXECUTION_INTERRUPTED';
            stopCell(isInterrupt ? interrupted() : error, isInterrupt ? 130 : 1);
        }
    }

    function serve() {
        watchTimers();
        process.exit = (code) => { throw new Exit(code); };
        process.on('uncaughtException', (error) => {
            if (running && process.listenerCount('uncaughtException') === 1)
                stopCell(error, 1);
        });
        process.on('SIGINT', () => {
            if (running)
                stopCell(interrupted(), 130);
        });
        process.on('beforeExit', () => { // nothing is left to wait for
            isStale = false;
            timers.clear();
            if (running && !running.isSettled)
                running.error = new Error('the cell awaits a promise that nothing will settle');
            if (running)
                finishCell(0);
        });
        nextCell();
    }

    process.nextTick(() => {
        setGlobals();
        if (isSession) {
            serve();
        } else {
            const cell = readCell();
            fs.closeSync(CELLS);
            runProgram(cell);
        }
    });
})();
