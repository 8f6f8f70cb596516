"""A client of NATS that does what it likes: for strangers who have valid credentials."""
import json
import ssl

from machines import HANG_SECONDS, socket_in


class Bus:
    """As the role of that machine, by its certificate, at its server."""

    def __init__(self, machine, role, server=None):
        place = machine.settings
        context = ssl.create_default_context(cafile=place / "ca.pem")
        context.load_cert_chain(place / f"{role}.pem", place / f"{role}.key")
        plain = socket_in(machine.namespace)
        plain.settimeout(HANG_SECONDS)
        address = (server or machine).address
        plain.connect((address, 4222))
        info = b""
        while not info.endswith(b"\r\n"):
            info += plain.recv(1)  # not a byte of TLS
        self.socket = context.wrap_socket(plain, server_hostname=address)
        self.buffer = b""
        self.errors, self.messages = [], []
        self.send(b"CONNECT " + json.dumps({"verbose": False, "headers": True, "no_responders": True}).encode() + b"\r\n")

    def __enter__(self):
        return self

    def __exit__(self, *rest):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def publish(self, subject, data, reply=""):
        self.send(f"PUB {subject} {reply} {len(data)}\r\n".replace("  ", " ").encode() + data + b"\r\n")

    def subscribe(self, subject, number=1):
        self.send(f"SUB {subject} {number}\r\n".encode())

    def line(self):
        while b"\r\n" not in self.buffer:
            piece = self.socket.recv(65536)
            if not piece:
                raise ConnectionError("the server has closed the connection")
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line.decode()

    def bytes(self, count):
        while len(self.buffer) < count + 2:
            self.buffer += self.socket.recv(65536)
        data, self.buffer = self.buffer[:count], self.buffer[count + 2 :]
        return data

    def flush(self):
        """Until the server has read all of it. Errors and messages that came meanwhile are kept."""
        self.send(b"PING\r\n")
        while (line := self.line()) != "PONG":
            word, _, rest = line.partition(" ")
            if word == "PING":
                self.send(b"PONG\r\n")
            elif word == "-ERR":
                self.errors.append(rest)
            elif word in ("MSG", "HMSG"):
                words = rest.split()
                self.messages.append((words[0], self.bytes(int(words[-1]))))
        return self
