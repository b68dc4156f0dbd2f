"""A proxy before a server that can lose what the server answers, as a network does."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo


@dataclass(slots=True)
class Proxy:
    """Passes everything on, until the reply to a statement that is to be lost: then it hangs up on the client."""

    conninfo: str
    losing: bytes | None = None
    """The statement whose reply is lost, once."""
    lost: threading.Event = field(default_factory=threading.Event)

    def reached(self, sent: bytes) -> bool:
        return self.losing is not None and self.losing in sent


@contextmanager
def proxy_before(conninfo: str) -> Iterator[Proxy]:
    """Yield a proxy on a free loopback port; `conninfo` of it leads to the same database."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = {"host": "127.0.0.1", "hostaddr": "", "port": listener.getsockname()[1]}
        proxy = Proxy(make_conninfo(conninfo, **address))
        threading.Thread(target=_accept, args=(listener, conninfo, proxy), daemon=True).start()
        yield proxy


def _accept(listener: socket.socket, conninfo: str, proxy: Proxy) -> None:
    with suppress(OSError):
        while True:
            client, _ = listener.accept()
            server = _connected(conninfo)
            hung_up = threading.Event()
            for one_way in (_to_server, _to_client):
                arguments = (client, server, proxy, hung_up)
                threading.Thread(target=one_way, args=arguments, daemon=True).start()


def _connected(conninfo: str) -> socket.socket:
    parts = {key: str(value) for key, value in conninfo_to_dict(conninfo).items()}
    if parts["host"].startswith("/"):
        server = socket.socket(socket.AF_UNIX)
        server.connect(str(Path(parts["host"]) / f".s.PGSQL.{parts['port']}"))
        return server
    return socket.create_connection((parts["host"], int(parts.get("port") or 5432)))


def _to_server(client: socket.socket, server: socket.socket, proxy: Proxy, hung_up: threading.Event) -> None:
    with suppress(OSError), server:
        while sent := client.recv(1 << 16):
            if proxy.reached(sent):
                proxy.losing = None
                hung_up.set()
            server.sendall(sent)


def _to_client(client: socket.socket, server: socket.socket, proxy: Proxy, hung_up: threading.Event) -> None:
    with suppress(OSError), client:
        while answered := server.recv(1 << 16):
            if hung_up.is_set():
                # The server has done it and said so; nobody hears.
                proxy.lost.set()
                client.shutdown(socket.SHUT_RDWR)
                return
            client.sendall(answered)
