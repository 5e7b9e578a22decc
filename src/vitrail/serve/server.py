"""The translation server: LibreTranslate's interface, Vitrail's own, and the page, behind one door."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from starlette.responses import Response

from vitrail import __version__
from vitrail.serve.desk import Desk
from vitrail.serve.directory import Directory
from vitrail.serve.door import Door
from vitrail.serve.entrance import Entrance
from vitrail.serve.libre import libre_routes
from vitrail.serve.limits import Limits
from vitrail.serve.pool import Pool
from vitrail.serve.problems import json_answer
from vitrail.serve.records import Log, Metrics, watching
from vitrail.serve.service import Service
from vitrail.serve.studio import explain_errors, studio_routes
from vitrail.serve.v1 import v1_routes

LOOKED = 1.0  # seconds for which /ready need not look at the folders again


class Server:
    """A server with its models and workers."""

    def __init__(
        self,
        directory: Directory,
        pool: Pool,
        entrance: Entrance,
        limits: Limits,
        log: Log,
        *,
        with_studio: bool = True,
    ) -> None:
        desk = Desk(pool, limits.queue, limits.wait_seconds)
        self.service = Service(directory, pool, desk, limits)
        self.log = log
        self.metrics = Metrics(desk, pool)
        app = _application(self.service, entrance)
        app.get("/ready", summary="Whether the server can translate", responses={503: {"description": "It cannot."}})(
            self._ready
        )
        app.get("/metrics", summary="Numbers for Prometheus", response_class=Response)(self._metrics_page)
        if with_studio:
            app.include_router(studio_routes(directory.shelf, pool))
        explain_errors(app)
        self.door = watching(Door(app, entrance, limits), self.metrics.answered, log.answered)
        self._looked = (float("-inf"), dict[str, str]())
        self._background: set[asyncio.Task[Any]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The workers exist in this block, and load the models at its beginning."""
        async with self.service.pool.running():
            self._begin(self.service.warm_up)
            self.log.event("started", models=", ".join(self.service.directory.models))
            yield
            for task in self._background:
                task.cancel()
            self.log.event("stopped")

    def reload(self) -> None:
        """Look at the model folders again; new requests get the models that are there now."""
        self._begin(self._reload)

    def _begin(self, work: Callable[[], Any]) -> None:
        task = asyncio.ensure_future(work())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _reload(self) -> None:
        directory = self.service.directory
        await asyncio.to_thread(directory.reload)
        self._looked = (float("-inf"), {})
        self.log.event("reloaded", models=", ".join(directory.models), troubles=directory.troubles)
        await self.service.warm_up()

    async def _ready(self) -> Response:
        """503 if the server is shutting down, has no workers yet, or a model folder is missing or damaged."""
        since, troubles = self._looked
        if monotonic() - since > LOOKED:
            troubles = await asyncio.to_thread(self.service.directory.check)
            self._looked = (monotonic(), troubles)
            if self.service.is_warm and self.service.troubles and not troubles:
                self.service.is_warm = False  # the folders are in order again: perhaps they can be loaded now
                self._begin(self.service.warm_up)
        troubles = self.service.troubles | troubles
        if not self.service.is_warm:
            troubles["workers"] = "the models are being loaded"
        elif not self.service.pool.alive:
            troubles["workers"] = "there are none"
        if troubles:
            return json_answer({"status": "not ready", "troubles": troubles}, status=503)
        return json_answer({"status": "ready"})

    async def _metrics_page(self) -> Response:
        return Response(self.metrics.page(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _application(service: Service, entrance: Entrance) -> FastAPI:
    app = FastAPI(
        title="Vitrail",
        version=__version__,
        description="Machine translation. The first routes are LibreTranslate's, those under /v1 are Vitrail's own.",
        docs_url=None,  # they would load scripts from elsewhere
        redoc_url=None,
    )
    if entrance.origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=entrance.origins, allow_methods=["GET", "POST"], allow_headers=["*"]
        )
    app.include_router(libre_routes(service, entrance))
    app.include_router(v1_routes(service))
    return app
