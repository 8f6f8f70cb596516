// id: process-node-children
// category: process
// profile: open
// threat: JavaScript that starts detached children, which outlive it and signal everything
// expect: success error
// require: started
const { spawn } = require('child_process');
for (let i = 0; i < 3; i++)
  spawn('bash', ['-c', 'trap "" TERM INT HUP; exec -a @ORPHAN@ sleep 30'], { detached: true, stdio: 'ignore' }).unref();
for (const pid of [1, process.ppid, @VICTIM_PID@])
  for (const signal of ['SIGUSR1', 'SIGTERM', 'SIGKILL'])
    try { process.kill(pid, signal); } catch (e) { }
console.log('started');
