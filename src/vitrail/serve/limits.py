"""What a server takes, and how long it tries. Each limit has an option of `vitrail serve`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The limits of a server. What is beyond them is refused, with the limit in the answer."""

    body_bytes: int = 2_000_000  # of a request: 413
    texts: int = 128  # in a request: 400
    characters: int = 20_000  # of a text: 400
    queue: int = 10_000  # sentences that wait: 429
    wait_seconds: float = 30.0  # that a sentence would have to wait: 429
    seconds: float = 60.0  # for a request, waiting included: 504
    arrival_seconds: float = 20.0  # for the head of a request, its body, and for its client to read some of the answer
    idle_seconds: float = 30.0  # that a connection may stay open between two requests
    connections: int = 1000  # open at once; beyond it, idle ones are closed. Half of them may wait for an answer
    grace_seconds: float = 30.0  # to finish what is running after SIGTERM
    per_minute: int = 0  # requests of a key or, without keys, of an address: 429; 0: any number

    @property
    def requests(self) -> int:
        """How many may be answered at the same time: the next one gets 429, for which connections have to be left."""
        return max(1, self.connections // 2)
