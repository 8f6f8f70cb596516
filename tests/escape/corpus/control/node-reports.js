// id: control-node-reports
// category: control
// profile: open
// threat: JavaScript that writes messages of its own to the supervisor: an end, a refusal, a result without bounds
// expect: error timeout
// limits: timeout=2
const fs = require('fs');
const frame = (type, body) => {
  const head = Buffer.from([0x42, 0x4a, 1, type, 0, 0, 0, 0]);
  head.writeUInt32LE(body.length, 4);
  return Buffer.concat([head, body]);
};
for (const type of [13, 22, 12, 8, 9, 14, 14, 15, 255])
  try { fs.writeSync(62, frame(type, Buffer.alloc(24, 255))); } catch (e) { break; }
for (;;) ;
