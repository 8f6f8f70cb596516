// id: resource-node-memory
// category: resource
// profile: open
// threat: memory outside of the JavaScript heap: buffers, shared memory, WebAssembly
// expect: memory_exceeded error
// limits: memory=128 timeout=20
// needs: cgroup
const kept = [];
for (;;) {
  kept.push(Buffer.alloc(4 << 20, 1), new Uint8Array(new SharedArrayBuffer(4 << 20)).fill(1));
  new Uint8Array(kept[kept.push(new WebAssembly.Memory({ initial: 64 })) - 1].buffer).fill(1);
}
