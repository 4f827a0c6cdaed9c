#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Takes the place of ssh between the nodes of the test bed, for mpirun and pdsh.

    ssh [OPTION...] HOST COMMAND...     stdin, stdout, stderr and exit status as with ssh: 255
                                        when the node cannot be reached or dies meanwhile
    ssh --serve                         what runs on each node

The client sends the command, a line, and then its stdin. The server sends frames: a byte for the
stream (1, 2: output; 0: the exit status), four for the length, the bytes.
"""
import os
import socket
import socketserver
import struct
import subprocess
import sys
import threading

PORT = 22
FRAME = struct.Struct("!BI")
WITH_VALUE = "BbcDEeFIiJLlmOopQRSWw"  # options of ssh that take a value
KEPT = ("PATH", "HOME", "USER", "LANG")  # as after a login, and no more


def keep_alive(connection):
    """A node without power is noticed within some seconds."""
    for option, value in ((socket.TCP_KEEPIDLE, 2), (socket.TCP_KEEPINTVL, 1), (socket.TCP_KEEPCNT, 3)):
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


class Command(socketserver.StreamRequestHandler):
    def handle(self):
        self.lock = threading.Lock()
        keep_alive(self.request)
        command = self.rfile.readline().decode().rstrip("\n")
        child = subprocess.Popen(["/bin/sh", "-c", command], cwd="/", stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                 env={name: os.environ[name] for name in KEPT if name in os.environ})
        pumps = [threading.Thread(target=self.send_output, args=(stream, pipe))
                 for stream, pipe in ((1, child.stdout), (2, child.stderr))]
        threading.Thread(target=self.take_input, args=(child.stdin,), daemon=True).start()
        for pump in pumps:
            pump.start()
        for pump in pumps:
            pump.join()
        status = child.wait()
        self.send(0, bytes([status if status >= 0 else 128 - status]))

    def send(self, stream, data):
        try:
            with self.lock:
                self.request.sendall(FRAME.pack(stream, len(data)) + data)
            return True
        except OSError:
            return False  # the client is gone

    def send_output(self, stream, pipe):
        while (data := os.read(pipe.fileno(), 65536)) and self.send(stream, data):
            pass
        pipe.close()

    def take_input(self, pipe):
        try:
            while data := self.rfile.read1(65536):
                pipe.write(data)
                pipe.flush()
            pipe.close()
        except OSError:
            pass  # the command reads no more


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64


def send_stdin(connection):
    try:
        while data := os.read(0, 65536):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the other end tells why


def operands(args):
    while args and args[0].startswith("-"):
        option = args.pop(0)
        if len(option) == 2 and option[1] in WITH_VALUE:
            args.pop(0)
    return args


def client(host, command):
    connection = socket.create_connection((host.rpartition("@")[2], PORT), timeout=20)
    connection.settimeout(None)
    keep_alive(connection)
    connection.sendall(command.replace("\n", ";").encode() + b"\n")
    threading.Thread(target=send_stdin, args=(connection,), daemon=True).start()
    answer = connection.makefile("rb")
    while len(head := answer.read(FRAME.size)) == FRAME.size:
        stream, size = FRAME.unpack(head)
        data = answer.read(size)
        if stream == 0:
            return data[0]
        os.write(stream, data)
    raise OSError("connection closed")


def main(args):
    if args == ["--serve"]:
        Server(("", PORT), Command).serve_forever()
    host, *command = operands(args)
    try:
        return client(host, " ".join(command))
    except OSError as e:
        print(f"ssh: {host}: {e.strerror or e}", file=sys.stderr)
        return 255


os._exit(main(sys.argv[1:]))  # not held up by the thread that reads stdin
