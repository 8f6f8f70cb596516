// id: process-node-threads
// category: process
// profile: open
// threat: worker threads without end, each with a heap of its own
// expect: timeout error memory_exceeded
// limits: pids=32 timeout=1
const { Worker } = require('worker_threads');
for (;;) new Worker('for (;;) ;', { eval: true }).on('error', () => { });
