"""Durable jobs: programs that the server runs even if it is restarted meanwhile."""
from __future__ import annotations

import uuid
from typing import List, Optional, Unpack

from . import routes
from .fields import JobFields, body
from .methods import Awaiting, Blocking, call
from .transport import Request, Transport
from .types import DurableJob, Result, member, read, read_list, read_result

WAIT_S = 30


class JobsMethods:
    """Durable jobs. Once `submit()` has returned, the job is on the server's disk."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @call
    async def submit(self, code: str, *, key: Optional[str] = None, **fields: Unpack[JobFields]) -> DurableJob:
        """Has a program run, also if the server ends meanwhile. Keep `id` to come back to it.

        key   An idempotency key: the same key is the same job, as long as the server keeps it.
        """
        request = Request(routes.SUBMIT_JOB, json=body(fields, code=code), key=key or str(uuid.uuid4()))
        return read(DurableJob, await self._transport.call(request))

    @call
    async def list(
        self, *, state: Optional[str] = None, before: Optional[str] = None, limit: Optional[int] = None
    ) -> List[DurableJob]:
        """Your jobs, the newest first. `before`: only those older than this id."""
        query = {"state": state, "before": before, "limit": limit}
        return read_list(DurableJob, await self._transport.call(Request(routes.JOBS, query=query)), "jobs")

    @call
    async def get(self, job_id: str, *, wait_s: Optional[float] = None) -> DurableJob:
        """A job as it is now; with `wait_s`, when it is over or after that time (60 at most)."""
        return read(DurableJob, await self._transport.call(Request(routes.JOB, {"job": job_id}, {"wait_s": wait_s})))

    @call
    async def wait(self, job_id: str) -> DurableJob:
        """Waits until a job is over."""
        while True:
            request = Request(routes.JOB, {"job": job_id}, {"wait_s": WAIT_S})
            job = read(DurableJob, await self._transport.call(request))
            if job.is_over:
                return job

    @call
    async def result(self, job_id: str) -> Result:
        """The result of a job that is over. ConflictError: it has none, or not yet."""
        return read_result(await self._transport.call(Request(routes.JOB_RESULT, {"job": job_id})))

    @call
    async def cancel(self, job_id: str) -> bool:
        """Cancels a job. False: it had ended."""
        return member(await self._transport.call(Request(routes.CANCEL_JOB, {"job": job_id}, json={})), "cancelled", bool)

    @call
    async def delete(self, job_id: str) -> None:
        """Deletes a job that is over, with its result."""
        await self._transport.read(Request(routes.DELETE_JOB, {"job": job_id}))


class Jobs(JobsMethods, Blocking):
    pass


class AsyncJobs(JobsMethods, Awaiting):
    pass
