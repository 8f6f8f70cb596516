// id: leak-node-environment
// category: leak
// profile: open
// threat: the environment, arguments, descriptors and memory maps that node has from whoever started it
// expect: success
// require: looked
// process: /proc cannot be listed
const fs = require('fs');
const texts = [JSON.stringify(process.env), JSON.stringify(process.report.getReport())];
for (const pid of fs.readdirSync('/proc').filter((n) => /^\d+$/.test(n)))
  for (const file of ['environ', 'cmdline', 'maps', 'mountinfo'])
    try { texts.push(fs.readFileSync(`/proc/${pid}/${file}`, 'latin1')); } catch (e) { }
for (const fd of fs.readdirSync('/proc/self/fd'))
  try { texts.push(fs.readlinkSync(`/proc/self/fd/${fd}`)); } catch (e) { }
if (texts.join('\n').includes('@CANARY_DIR@')) console.log('ESC' + 'APED: a path of the host');
console.log('looked at', texts.length);
console.log(texts.join('\n').match(/belljar-test-secret-\w+/g) || '');
