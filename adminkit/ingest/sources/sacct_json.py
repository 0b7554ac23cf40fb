"""`sacct --json` as the text that sacct -P would give: the same rows by the same parser. 23.02 to 26.05 differ in how
they write a number (7, or {"set": true, "infinite": false, "number": 7}), a state (a word or a list) and an exit.

A file may be larger than memory: one job is decoded at a time.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final

from adminkit.errors import UsageError
from adminkit.ingest.sources.sacct_fields import columns_for
from adminkit.ingest.sources.text import Layout

#: Between columns: no text of a user's may hold it, so none makes a column or a row.
DELIMITER: Final = "\x1f"
#: The columns of the text, free text last.
FIELDS: Final = tuple(
    """JobID JobIDRaw Cluster Submit User Group Account Partition QOS State Reason ExitCode DerivedExitCode Priority
    Flags Restarts Eligible Start End ElapsedRaw Suspended TimelimitRaw ReqCPUS ReqTRES NNodes AllocTRES NodeList
    NTasks TotalCPU MaxRSS TRESUsageInTot ConsumedEnergyRaw AdminComment SubmitLine JobName""".split()
)
#: What the JSON calls a flag -> what the text does.
_FLAGS: Final = {
    "STARTED_ON_SUBMIT": "SchedSubmit", "STARTED_ON_SCHEDULE": "SchedMain", "STARTED_ON_BACKFILL": "SchedBackfill",
    "START_RECEIVED": "StartReceived",
}  # fmt: skip
#: Flags of a state: where a list has one the text has it in place of the state below, in this order.
_STATE_FLAGS: Final = (
    "COMPLETING", "STAGE_OUT", "CONFIGURING", "RESIZING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT",
    "STOPPED", "REVOKED", "RESV_DEL_HOLD", "SIGNALING",
)  # fmt: skip
#: The tasks of an array as 22.05 writes them.
_BITS: Final = re.compile("0x[0-9A-Fa-f]+")
_CHUNK: Final = 1 << 20
#: Characters of one job with its steps.
_MOST: Final = 1 << 28
_HINT: Final = "sacct -P writes text, which is read one line at a time: sacct -a -X -D -P --format=…"


def is_json(head: bytes) -> bool:
    """Whether a source that begins so may be sacct's JSON."""
    return head.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{")


def layout() -> Layout:
    """How to read what JsonText gives."""
    return Layout(columns_for(FIELDS), DELIMITER, has_cluster=True)


class JsonText:
    """A stream of text, from one of JSON of which `head` was read already."""

    def __init__(self, stream: IO[bytes], head: bytes) -> None:
        self._rows = _lines(_jobs(_text(stream, head)))

    def read(self, size: int = -1) -> bytes:
        """About `size` bytes; b"" at the end. Raises UsageError for what is not sacct's JSON."""
        parts, length = [], 0
        while size < 0 or length < size:
            row = next(self._rows, None)
            if row is None:
                break
            parts.append(row)
            length += len(row)
        return b"".join(parts)


def _text(stream: IO[bytes], head: bytes) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    yield decoder.decode(head)
    while chunk := stream.read(_CHUNK):
        yield decoder.decode(chunk)


def _jobs(chunks: Iterator[str]) -> Iterator[Any]:
    """The members of the list "jobs", wherever it stands in the outermost object."""
    text, decoder = "", json.JSONDecoder()
    for chunk in chunks:
        text += chunk
        if (at := text.find('"jobs"')) >= 0 and (begin := text.find("[", at)) >= 0:
            break
    else:
        raise UsageError('this JSON has no list "jobs", so it is not sacct\'s', _HINT)
    text = text[begin + 1 :]
    while not (text := text.lstrip(" \t\r\n,")).startswith("]"):
        try:
            job, end = decoder.raw_decode(text)
        except ValueError:  # the rest of this job is to come
            text = _longer(text, chunks)
        else:
            yield job
            text = text[end:]


def _longer(text: str, chunks: Iterator[str]) -> str:
    """`text` with what follows, twice as much at least, so that a long job is not tried too often."""
    parts, length = [text], len(text)
    while length <= 2 * len(text) and (chunk := next(chunks, "")):
        parts.append(chunk)
        length += len(chunk)
    if len(parts) == 1 or length > _MOST:
        raise UsageError("this JSON ends within its list of jobs, or one of its jobs cannot be read", _HINT)
    return "".join(parts)


def _lines(jobs: Iterator[Any]) -> Iterator[bytes]:
    for job in jobs:
        one = _Part(job if isinstance(job, dict) else {})
        row = _job(one)
        yield _line(row)
        for step in one.list("steps"):
            yield _line(_step(_Part(step), row))


def _line(row: Mapping[str, str]) -> bytes:
    cells = (row.get(name, "").replace(DELIMITER, "\ufffd").replace("\0", "\ufffd") for name in FIELDS)
    return (DELIMITER.join(cells) + "\n").encode("utf-8", "replace")


class _Part:
    """An object of the JSON; what is missing or of another kind is unknown."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def at(self, path: str) -> Any:
        value = self.value
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def list(self, path: str) -> list[Any]:
        found = self.at(path)
        return found if isinstance(found, list) else []

    def text(self, path: str) -> str:
        """A name or a number as text; the first one of a list."""
        value = self.at(path)
        if isinstance(value, list):
            value = value[0] if value else None
        return "" if value is None or isinstance(value, dict | bool) else str(value)

    def state(self, path: str) -> str:
        """A word, or the one of a list that the text has: of PENDING, REQUEUED the second."""
        words = [str(word) for word in self.list(path)]
        return next((flag for flag in _STATE_FLAGS if flag in words), self.text(path))

    def number(self, path: str, unlimited: str = "", unset: str = "") -> str:
        return _number(self.at(path), unlimited, unset)

    def moment(self, path: str) -> str:
        """Epoch seconds; 0 stands for none."""
        found = self.number(path)
        return found if found != "0" else "Unknown"

    def seconds(self, path: str) -> str:
        """A duration in seconds and microseconds."""
        whole = self.number(f"{path}.seconds")
        return f"{whole}.{int(self.number(f'{path}.microseconds') or 0):06d}" if whole else ""

    def exit(self, path: str, succeeded: bool = False) -> str:
        """An exit as text. Trap: 22.05 writes 0 for every exit without a signal, so of its 0 only success is known."""
        code = self.number(f"{path}.return_code")
        signal = self.number(f"{path}.signal.id") or self.number(f"{path}.signal.signal_id") or "0"
        if code == "0" and signal == "0" and not succeeded and not isinstance(self.at(f"{path}.return_code"), dict):
            return ""
        return f"{code or 0}:{signal}" if code or signal != "0" else ""

    def tres(self, path: str, mem: str = "M") -> str:
        """TRES as text. `mem`: the unit of memory in the JSON."""
        found = []
        for one in map(_Part, self.list(path)):
            name, count = one.text("name"), one.number("count")
            if count and not count.startswith("-"):
                kind = one.text("type")
                found.append(f"{kind}{f'/{name}' if name else ''}={count}{mem if kind == 'mem' else ''}")
        return ",".join(found)


def _number(value: Any, unlimited: str = "", unset: str = "") -> str:
    if isinstance(value, dict):
        if value.get("infinite"):
            return unlimited
        return _number(value.get("number")) if value.get("set") else unset
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return unset
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _job_id(job: _Part, raw: str) -> str:
    """JobID as sacct prints it: 123, 123_4, 123_[5-9], 123+1."""
    array, task, tasks = job.number("array.job_id"), job.number("array.task_id"), _tasks(job)
    het, offset = job.number("het.job_id"), job.number("het.job_offset")
    if array not in ("", "0"):
        return f"{array}_{task}" if task else f"{array}_[{tasks}]" if tasks else raw
    return f"{het}+{offset}" if het not in ("", "0") and offset else raw


def _tasks(job: _Part) -> str:
    """The tasks that wait, 1-3,7%2; 22.05 writes bits in their place, 0x8e."""
    found, most = job.text("array.task"), job.number("array.limits.max.running.tasks")
    if not _BITS.fullmatch(found):
        return found
    ones = re.finditer("1+", f"{int(found, 16):b}"[::-1])
    ranges = [f"{one.start()}-{one.end() - 1}" if len(one[0]) > 1 else str(one.start()) for one in ones]
    return ",".join(ranges) + (f"%{most}" if most not in ("", "0") else "")


def _limit(job: _Part) -> str:
    """Trap: 22.05 has null for a limit of the queue's and for none at all, so it is unknown."""
    return job.number("time.limit", unlimited="UNLIMITED", unset="Partition_Limit") if job.at("time.limit") else ""


def _state(job: _Part) -> str:
    """With the uid of who cancelled; the JSON has a name, of which root's is known everywhere."""
    state, by = job.state("state.current"), job.text("kill_request_user")
    uid = "0" if by == "root" else by
    return f"{state} by {uid}" if state == "CANCELLED" and uid.isdecimal() else state


def _job(job: _Part) -> dict[str, str]:
    raw = job.number("job_id")
    flags = ",".join(_FLAGS.get(str(flag), str(flag)) for flag in job.list("flags") if flag != "CLEAR_SCHEDULING")
    state = _state(job)
    return {
        "JobID": _job_id(job, raw), "JobIDRaw": raw, "Cluster": job.text("cluster"),
        "Submit": job.moment("time.submission"), "User": job.text("user") or job.text("association.user"),
        "Group": job.text("group"), "Account": job.text("account"), "Partition": job.text("partition"),
        "QOS": job.text("qos"), "State": state,
        "Reason": job.text("state.reason"), "ExitCode": job.exit("exit_code", succeeded=state == "COMPLETED"),
        "DerivedExitCode": job.exit("derived_exit_code"), "Priority": job.number("priority"), "Flags": flags,
        "Restarts": job.number("restart_cnt"), "Eligible": job.moment("time.eligible"),
        "Start": job.moment("time.start"), "End": job.moment("time.end"), "ElapsedRaw": job.number("time.elapsed"),
        "Suspended": job.number("time.suspended"),
        "TimelimitRaw": _limit(job),
        "ReqCPUS": job.number("required.CPUs"), "ReqTRES": job.tres("tres.requested"),
        "NNodes": job.number("allocation_nodes"), "AllocTRES": job.tres("tres.allocated"),
        "NodeList": job.text("nodes"), "TotalCPU": job.seconds("time.total"),
        "AdminComment": job.text("comment.administrator"), "SubmitLine": job.text("submit_line"),
        "JobName": job.text("name"),
    }  # fmt: skip


def _step(step: _Part, job: Mapping[str, str]) -> dict[str, str]:
    # 22.05 has `batch` or 0, later releases 16.batch or an object.
    name = step.text("step.id.step_id") or step.text("step.id").rpartition(".")[2]
    state = step.state("state")
    most = _Part({"most": [one for one in step.list("tres.requested.max") if _Part(one).text("type") == "mem"]})
    usage = [one for one in step.list("tres.requested.total") if _Part(one).text("type") in ("mem", "fs")]
    return {
        "JobID": f"{job['JobID']}.{name.lower()}", "JobIDRaw": job["JobIDRaw"], "Cluster": job["Cluster"],
        "Submit": job["Submit"], "State": state,
        "ExitCode": step.exit("exit_code", succeeded=state == "COMPLETED"),
        "Start": step.moment("time.start"), "End": step.moment("time.end"), "ElapsedRaw": step.number("time.elapsed"),
        "NNodes": step.number("nodes.count"), "NTasks": step.number("tasks.count"),
        "AllocTRES": step.tres("tres.allocated"), "TotalCPU": step.seconds("time.total"),
        "MaxRSS": most.tres("most", mem="").removeprefix("mem="),
        "TRESUsageInTot": _Part({"total": usage}).tres("total", mem=""),
        "ConsumedEnergyRaw": step.number("statistics.energy.consumed"), "JobName": step.text("step.name"),
    }  # fmt: skip
