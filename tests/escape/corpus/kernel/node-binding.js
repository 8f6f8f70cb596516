// id: kernel-node-binding
// category: kernel
// profile: open
// threat: JavaScript that goes below node's modules: internal bindings, native code, the debugger, new code in memory
// expect: success error
// require: contained
const fs = require('fs');
const tries = {
  spawn: () => new (process.binding('spawn_sync').spawn)({ file: '/bin/mount', args: ['mount', '-t', 'tmpfs', 'x', '/mnt'], stdio: [] }),
  mount: () => require('child_process').execFileSync('unshare', ['-Urm', 'sh', '-c', 'mount -t proc proc /mnt && ls /mnt/1/root'], { stdio: 'pipe' }),
  setuid: () => { process.setuid(0); if (process.getuid() === 0 && fs.readFileSync('/etc/shadow')) console.log('ESC' + 'APED: root'); },
  chroot: () => fs.readdirSync('/proc/1/root@CANARY_DIR@'),
  native: () => { fs.writeFileSync('/tmp/a.node', Buffer.alloc(4096)); process.dlopen({ exports: {} }, '/tmp/a.node'); },
  debug: () => process._debugProcess(1),
  core: () => fs.writeFileSync('/proc/sys/kernel/core_pattern', '|/tmp/x'),
  memory: () => fs.readSync(fs.openSync('/dev/mem'), Buffer.alloc(16), 0, 16, 0),
};
for (const [name, act] of Object.entries(tries)) {
  let seen = '';
  try { seen = String(act()); } catch (e) { seen = e.code || e.message; }
  console.log('contained', name, seen.slice(0, 40).replace(/\s+/g, ' '));
}
if (fs.existsSync('@CANARY_FILE@')) console.log('ESC' + 'APED:', fs.readFileSync('@CANARY_FILE@', 'utf8'));
