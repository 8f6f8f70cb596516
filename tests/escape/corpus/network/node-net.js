// id: network-node-net
// category: network
// profile: open
// threat: sockets of node, by every module that has some
// expect: success error
// require: contained
// process: a socket is refused before it can be used
const net = require('net'), dgram = require('dgram'), dns = require('dns'), http = require('http');
const reach = (name, options) => new Promise((done) => {
  const socket = net.connect(options, () => { console.log('ESC' + 'APED:', name); socket.destroy(); done(); });
  socket.on('error', (e) => { console.log('contained', name, e.code); done(); });
});
const all = [
  reach('tcp', { host: '127.0.0.1', port: @TCP_PORT@ }), reach('tcp6', { host: '::1', port: @TCP_PORT@ }),
  reach('unix', { path: '@UNIX_SOCKET@' }), reach('abstract', { path: '\0@ABSTRACT_SOCKET@' }),
  reach('outside', { host: '93.184.216.34', port: 80 }),
  fetch('http://127.0.0.1:@TCP_PORT@/').then(() => console.log('ESC' + 'APED: fetch'), () => console.log('contained fetch')),
  dns.promises.resolve4('example.org').then((a) => console.log('ESC' + 'APED:', a), () => console.log('contained dns')),
  new Promise((done) => dgram.createSocket('udp4').send('x', @TCP_PORT@, '93.184.216.34', (e) => { console.log('contained udp', !!e); done(); })),
];
Promise.all(all).then(() => process.exit(0));
