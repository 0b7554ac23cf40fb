"""10,000 letters that are due at once: how long it takes to find and write them, and in how much memory.

And a message of ours against one of Python's email package: why adminkit puts its messages together itself.

`python -m tests.bench.bench_letters DB LETTERS` is the run itself, in a process of its own.
"""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path

from adminkit.config import Config, Feedback
from adminkit.feedback.compose import Composer
from adminkit.feedback.letter import Letter, user_of
from adminkit.feedback.mime import Envelope, build
from adminkit.feedback.plan import plan
from adminkit.feedback.recipients import People
from adminkit.recommend.menu import Offer
from adminkit.trace.outbox import SWITCHED_ON
from adminkit.trace.windows import set_fact
from tests.bench import pairs
from tests.bench.bench_report import trace
from tests.bench.tools import fresh
from tests.conftest import GOLDEN

LETTERS = 10_000
#: No pauses between letters, so that many are due.
SITE = Feedback(
    clusters=("alpha",),
    domain="example.org",
    user_pause=0,
    name_pause=0,
    quiet_days=(),
    max_letters=10**6,
    digest=False,
)


def run(rows: int, folder: Path) -> list[pairs.Ratio]:
    db = fresh(folder / "letters.db")
    with closing(sqlite3.connect(trace(rows, folder))) as source, closing(sqlite3.connect(db)) as copy:
        source.backup(copy)
        copy.execute("UPDATE job SET source = 'slurmdbd'")
        copy.commit()
    peak = pairs.peak_memory([sys.executable, "-m", "tests.bench.bench_letters", str(db), str(LETTERS)]) / 2**20
    print(db.with_suffix(".said").read_text(), end="")
    print(f"peak memory of {LETTERS} letters over {rows} rows: {peak:.0f} MB")
    text, html = ((GOLDEN / "letters" / f"end-en.{kind}").read_text() for kind in ("txt", "html"))
    letter = Letter(*text.removeprefix("Subject: ").split("\n", 1), html)
    what = "1,000 messages of one letter, against email.message"
    return [pairs.compare(what, lambda: _made(_ours, letter), lambda: _made(_theirs, letter), 3.0)]


def _made(make: Callable[[Letter], bytes], letter: Letter) -> float:
    """Seconds for 1,000 of them."""
    started = time.process_time()
    for _ in range(1000):
        make(letter)
    return time.process_time() - started


def _ours(letter: Letter) -> bytes:
    return build(letter, Envelope(("alpha", "4711@1796083200", "end"), ("ada@example.org",), 0, 1_796_083_200), SITE)


def _theirs(letter: Letter) -> bytes:
    message = EmailMessage(policy=SMTP.clone(cte_type="7bit"))
    message["From"], message["To"], message["Subject"] = SITE.sender, "ada@example.org", letter.subject
    message["Message-ID"], message["Auto-Submitted"] = "<end.4711.alpha@example.org>", "auto-generated"
    message.set_content(letter.text)
    message.add_alternative(letter.html, subtype="html")
    return message.as_bytes()


def write(path: Path, letters: int) -> None:
    """Find who is due, write so many letters as whole messages, and say how long each part took."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        (last,) = db.execute("SELECT max(end_time) FROM job").fetchone()
        now = last - 2 * 86_400
        set_fact(db, "alpha", SWITCHED_ON, "0", 0)
        names = dict(db.execute("SELECT DISTINCT uid, user FROM job WHERE uid IS NOT NULL"))
        settings, started = Config(feedback=SITE), time.perf_counter()
        found = plan(db, settings, People(SITE, names.get, {}), path.with_name("no-prefs"), now)
        dues = sorted((one.due for one in found.letters), key=lambda due: (user_of(due) or "", due.run))[:letters]
        planned, worked = time.perf_counter(), time.process_time()
        writer = Composer(db, settings, Offer(), now, dues)
        size = 0
        for due in dues:
            message = build(writer.letter(due), Envelope(due.key, (due.address,), 0, now), SITE)
            size += len(message)
        seconds, busy = time.perf_counter() - planned, time.process_time() - worked
    each = size / max(len(dues), 1) / 1024
    said = f"{len(dues)} of {len(found.letters)} letters due, found in {planned - started:.1f} s"
    said += f"; written in {seconds:.1f} s, {len(dues) / seconds:.0f} letters/s, {each:.1f} KiB each"
    said += f" ({busy:.1f} s of one core, {len(dues) / busy:.0f} letters/s)"
    path.with_suffix(".said").write_text(f"{said}\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
