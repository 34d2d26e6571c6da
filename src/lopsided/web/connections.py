"""How many connections the server holds, and how long a client may keep one waiting.

A client that sends half a request keeps a file descriptor, and a server without free descriptors cannot answer. So a
silent client is dropped after a while, and when there are too many connections, the one that has kept the server
waiting longest makes room for the new one. An answer under way is never cut.
"""

import sys
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

SILENT_SECONDS = 30.0
_MOST = 1000
_USUAL_DESCRIPTORS = 1024  # where the system does not say how many there are


def room() -> tuple[int, int]:
    """How many connections are held, and how many are accepted at a time, before one can be dropped: a third and an
    eighth of the descriptors, the rest is for files and jobs."""
    descriptors = _USUAL_DESCRIPTORS
    if sys.platform != "win32":
        import resource

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        descriptors = limit if limit != resource.RLIM_INFINITY else descriptors
    return max(4, min(_MOST, descriptors // 3)), max(2, min(_MOST, descriptors // 8))


class Connection(AutoHTTPProtocol):  # type: ignore[misc]  # h11 or httptools, whichever there is
    """One client."""

    most = _MOST

    def connection_made(self, transport: Any) -> None:
        """Make room where there is none."""
        super().connection_made(transport)
        self.heard = self.begun = self.loop.time()
        self.loop.call_later(SILENT_SECONDS, self._drop_if_silent)
        if len(self.connections) > self.most:
            waiting = [one for one in self.connections if one.waits() and not one.transport.is_closing()]
            min(waiting or [self], key=lambda one: one.begun).transport.abort()

    def data_received(self, data: bytes) -> None:
        """Note when."""
        self.heard = self.loop.time()
        super().data_received(data)

    def send_400_response(self, message: str) -> None:
        """Nothing more goes to a client that broke off its request within a body: the answer of the application, which
        has begun or comes later, would be an error of the protocol and a traceback in the log."""
        if self.cycle is not None:
            begun = self.cycle.response_started
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if begun:
                self.transport.close()
                return
        super().send_400_response(message)

    def _unsupported_upgrade_warning(self) -> None:
        """There is nothing to upgrade to, and no package that a reader of the log should install."""

    def waits(self) -> bool:
        """Is it the client's turn: no request yet, half of one, or an answered one?"""
        return self.cycle is None or self.cycle.response_complete or self.cycle.more_body

    def _drop_if_silent(self) -> None:
        if self.transport.is_closing():
            return
        left = self.heard + SILENT_SECONDS - self.loop.time()
        if left <= 0 and self.waits():
            self.transport.abort()
        else:
            self.loop.call_later(max(left, 1.0), self._drop_if_silent)
