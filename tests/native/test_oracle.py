"""adminkit-ingest agrees with the slow, obvious parser, whatever it is fed."""

from __future__ import annotations

import gzip
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adminkit.ingest.spec import KINDS
from tests.native import helper, oracle
from tests.native.oracle import Format

#: Values of each kind, right and wrong; what is wrong for one kind is put into the others as well.
POOL: dict[str, list[bytes]] = {
    "skip": [b"anything", b""],
    "text": ["gpu-a100", "名前", "aàb", "(null)", ""],  # type: ignore[list-item]
    "admin_comment": [
        *(b"ak1:lim=60,src=e", b"ak1:lim=none,src=d,rules=a+b c|d", b"ak1:lim=inf,src=e", b"ak1:lim=inf,src=e\n"),
        *(b"ak1:lim=9999999999999999999,src=e x", b"ak1:lim=60,src=d", b"ak1:lim=,src=e", b"ak1:lim=60,src=e,rules="),
        *(b"JS1:x", b""),
        *(b"ck1:at=9,heard=3,rq=1,end=more", b"ak1:lim=60,src=e ck1:at=9,heard=0,rq=0 m", b"m ck1:at=9,heard=1,rq=2"),
        *(b"xck1:at=9,heard=1,rq=2", b"ck1:at=9,heard=1,rq=2,end=", b"ck1:at=9,heard=1 ck1:at=8,heard=1,rq=0"),
        *(b"ck1:at=9,heard=1,rq=2\n", b"  ck1:at=9,heard=1,rq=99999999999999999999 ck1:at=8,heard=1,rq=0", b"ck1:at="),
    ],
    "submitted": [
        b"sbatch train.sh", b"sbatch -p gq -t 5 --wrap true", b"/usr/bin/srun -n4 --ckpt-signal=USR1@300 a/torchrun x",
        b"srun -lW 5 ./x", b"sbatch -W x", b"sbatch --wait x", b"srun --wait 5 x", b"salloc", b"scrontab", b"sbatchx y",
        b"sbatch --export=ALL,T=Bearer abc run.sh", b"sbatch --export T=1 -n 1 run.sh", b"sbatch --export=NONE run.sh",
        b"sbatch --ckpt-off a.sh", b"sbatch --export=ADMINKIT_CKPT=USR1@9 --ckpt-off a.sh",
        b"sbatch --token s3cr3t a.sh",
        b"srun --container-image=x python -m torch.distributed.run y", b"sbatch a.sh : b.sh", b"srun : -n1 a : b",
        b"sbatch --wrap=A=1 x", b"sbatch --wrap= x", b"sbatch --", b"sbatch -- -x/y", b"sbatch --wrap", b"srun -k5 x",
        b"srun -- apptainer exec i.sif /opt/bin/deepspeed", b"sbatch " + "名".encode() * 40, b"sbatch \x01a", b"srun -",
        b"sbatch " + b"a " * 300 + b"torchrun", b"sbatch --ckpt-requeue 5 x",
        b"srun --unknown --ckpt-signal=x torchrun",
        b"sbatch\n-n\t1\rx.sh", b"sbatch --export", b"sbatch -n", b"sbatch --export=A=1 --hold x", b"  srun  x/ ",
    ],
    "free": [b"a|b", b"two\nlines", b"x\r\ny", b"bad\xff\xe2\x98utf\xed\xa0\x80", b"", b"\n", b"(null)"],
    "int": [b"0", b"48", b"-1", b"-2", b"-3", b"4294967294", b"18446744073709551614", b"9223372036854775808", b"007"],
    "serial": [
        b"0", b"48", b"-1", b"9223372036854775807", b"9223372036854775808", b"11675168616220727296", b"",
        b"18446744073709551613", b"18446744073709551614", b"18446744073709551616", b"4294967294", b"x",
    ],
    "real": [b"0.25", b"1e6", b"1.", b"-12.5e-3", b"1e999", b"4294967295", b"12345678901234567890.5"],
    "swf": [b"-1", b"-1.0", b"12", b"12.50", b"3e2", b"-7"],
    "time": [
        b"1700000000", b"0", b"2024-03-05T07:00:00", b"2024-03-10 02:30:00", b"2024-11-03T01:30:00", b"None",
        b"2024-02-30T00:00:00", b"1969-12-31T23:59:59", b"1970-01-01T00:00:00", b"253402300800", b"2024-03-05T07:00:60",
    ],
    "epoch": [b"1700000000", b"0", b"", b"4294967295", b"253402300800", b"-1", b"2024-03-05T07:00:00", b"1700000000x0"],
    "seconds": [b"90", b"01:30.250", b"00:01:30", b"1-00:00:00", b"1-24:00:00", b"99:59", b"1-00:00", b"1:2:3", b".5"],
    "cputime": [b"01:30.250", b"223-22:59:36", b"00:00.000000001", b"00:00.0000000001", b"9.5", b"4294967295"],
    "limit": [
        b"2880", b"08:00:00", b"2-00", b"2-00:30", b"15:30", b"UNLIMITED", b"Partition_Limit", b"4294967295",
        b"2147483647", b"0", b"00:00:00", b"INFINITE", b"1-", b"30.5", b"1000000000001",
    ],
    "jobid": [
        b"123", b"123.batch", b"123.0", b"123_4", b"123_4.extern", b"123_[1-3]", b"123_[5-9%2]", b"123_[9201-10000%50",
        b"123_[1-3,7...]", b"123+1", b"123+1.0", b"123.0+1", b"123_", b"123_[]", b"123 ", b"4294967294", b"124.1",
    ],
    "rawid": [b"123", b"123.batch", b"123.", b"x", b"123_4"],
    "state": [b"COMPLETED", b"CANCELLED by 1000", b"CANCELLED by 4294967294", b"CANCELLED by root", b"FOO+"],
    "exit": [b"0:0", b"0:15", b"1", b"1:", b":1", b"0:0:0", b"255:127", b"10:4294967295"],
    "mem": [
        b"1,024K", b"16?", b"99,999,999,999,999,999,999K", b"1,02K",
        b"1024K", b"1.50T", b"0", b"0.01M", b"891.26M", b"16E", b"12B", b"1.0000000001K", b"7E", b"8E",
    ],
    "reqmem": [b"16?n", b"3000Mc", b"4Gn", b"199G", b"0n", b"2147486648Mn", b"2147486448M", b"c", b"1048576", b"1.5Gc"],
    "tres": [
        b"cpu=12,mem=48000M,node=1", b"billing=36,cpu=36,gres/gpu:a100=2,gres/gpu=2,mem=199G,node=3",
        b"gres/gpu:v100=1,gres/gpu:a100_3g.20gb=2", b"cpu=12,mem=168000,node=1", b"mem=2147486648M",
        b"energy=18446744073709551614", b"mem=1,024K,cpu=1",
        b"mem=1,024,gres/gpu=1", b"mem=1,02K", b"cpu=1,energy=18446744073709000000",
        b"cpu=1,", b"cpu", b"=1", b"cpu=x", b"gres/gpu:=1", b"gres/gpu:a=0", b"license/matlab=1,fs/disk=2",
        b"gres/shard=4", b"gres/mps:a=50,gres/mps=70", b"gres/gpu=4,gres/shard:a=8", b"gres/gpu=1,gres/gpu:a=2",
        b"1001=2", b"1=8,1001=2,1002=2", b"1001=x", b"1001=3,1002=1,1004=2", b"1003=4", b"01001=1K", b"1001=1,1001=2",
        b"1005=2", b"gres/gpu=1K", b"gres/gpu", b"gres/gpu:1g.5gb+me=7,gres/gpu:x_2G-10GB=1,gres/gpu=9",
        b"1=8,2=64000,3=18446744073709551614,4=1,5=8,7=18446744073709551615,gres/gpu:a100=1",
        b"2=1,024K,1=3", b"2=64000,1=8",
        b"1=18446744073709551614,2=18446744073709551614", b"9=1,10=x", b"1", b"2=",
        b"gres/gpumem=3G", b"gres/gpu:z=0," + b",".join(b"gres/gpu:%c=1" % c for c in b"iabcdefghjklmnopq"),
    ],
    "gres": [
        b"gpu:2", b"gpu:a100:2(S:0-1)", b"gpu", b"gpu:P100:2(IDX:1,3),hbm:0", b"gpu:0(IDX:N/A)", b"hbm:0",
        b"gres:gpu:2", b"gres:",
        b"7696487:4", b"PER_JOB:gpu:2", b"PER_TASK:gpu:a100:1", b"PER_NODE:gpu:1,gpu:2", b"PER_JOB:gpu,gpu", b"shard:4",
        b"mps:a:50,shard:(null):2(1/4,0/4)", b"gpu:(null):0(IDX:N/A)", b"gpu:1g.10gb", b"gpu:a100=2", b"gpu::2",
        b"gpu:a100", b"gpu:", b"gpu:a:b:c", b"gpu:2(", b"gpu:2)x", b",", b"gpu:tesla:1,gpu:a100:1", b"gres/gpu:1",
    ],
    "usage": [
        b"cpu=15:33:58,energy=0,fs/disk=934556828,gres/gpumem=20500736K,gres/gpuutil=90,mem=1294440K,pages=3310",
        b"1=12345,2=3383296,3=0,6=11087,7=5644288", b"1=18446744073709551614,6=18446744073709551615",
        b"1=00:09", b"2=1K,1=9", b"1006=90,1007=20500736", b"1006=x", b"1003=9",
        b"cpu=00:00.009", b"mem=8E", b"cpu=node7", b"energy=0,fs/disk=1", b"cpu=1,energy=18446744073709000000",
    ],
    "nodelist": [b"n[1-4]", b"None assigned", b"d07n07s02,d13n[03,05,07-08,16]"],
}  # fmt: skip
WORDS = [b"", b"Unknown", b"None", b"INVALID", b"N/A", b"?", b"(null)", b"x", b"-", b"\0"]
VALUES = {kind: [v.encode() if isinstance(v, str) else v for v in values] for kind, values in POOL.items()}
ANY = sorted({value for values in VALUES.values() for value in values} | set(WORDS))
KNOWN = (
    "torchrun=f:torchrun,torch.distributed.run=f:torchrun,deepspeed=f:ds,apptainer=c:appt,--container-image=c:enroot"
)
TRES = "1001:gres/gpu=,1002:gres/gpu:a100=,1003:,1004:gres/shard=,1005:gres/gpu:=,1006:gres/gpuutil=,1007:gres/gpumem="
ZONES = [None, "UTC", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe", "Africa/Casablanca"]

#: Often enough the same bug shows within a few hundred; the sanitizers' build runs fewer.
EXAMPLES = settings(
    max_examples=int(os.environ.get("ADMINKIT_EXAMPLES", "250")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@st.composite
def specs(draw: st.DrawFn) -> str:
    kinds = draw(st.lists(st.sampled_from(sorted(set(KINDS) - {"jobid"})), min_size=0, max_size=7))
    kinds = [kind for place, kind in enumerate(kinds) if kind != "submitted" or kind not in kinds[:place]]
    if draw(st.booleans()) or not kinds:
        kinds.insert(draw(st.integers(0, len(kinds))), "jobid")
    marks = [draw(st.sampled_from(["", "", "", "!", "^", "!^"])) for _ in kinds]
    return ",".join(
        kind + {"skip": "", "jobid": mark.replace("^", "")}.get(kind, mark)
        for kind, mark in zip(kinds, marks, strict=True)
    )


@st.composite
def formats(draw: st.DrawFn) -> Format:
    delimiter = draw(st.sampled_from([b"|", b"|", b"|", "☃".encode(), b";|;", b"\x1f", b"aa", b"space"]))
    return Format(
        delimiter=delimiter,
        ends=delimiter != b"space" and draw(st.booleans()),
        comment=draw(st.sampled_from([b"", b"", b";", b"1"])),
        surplus_ignore=draw(st.integers(0, 4)) == 0,
        timezone=draw(st.sampled_from(ZONES)),
        first_line=draw(st.sampled_from([1, 2, 1000])),
        seal=draw(st.sampled_from([b"", b"", b"x0123456789abcdef", b"0"])),
        known=draw(st.sampled_from(["", KNOWN])),
        tres=draw(st.sampled_from(["", TRES])),
        no_steps=draw(st.integers(0, 4)) == 0,
    )


@st.composite
def texts(draw: st.DrawFn, spec: str, form: Format) -> bytes:
    """Mostly right rows of the spec, with a wrong value, a lost or surplus column, a stray line here and there."""
    pick = random.Random(draw(st.integers(0, 2**32)))
    kinds = [word.rstrip("!^") for word in spec.split(",")]
    for place, kind in enumerate(kinds, 1):
        if kind == "time" and draw(st.integers(0, 3)) == 0:
            form.within[place] = (1_500_000_000, 1_710_000_000)
        if kind == "text" and draw(st.integers(0, 3)) == 0:
            form.wants[place] = b"gpu-a100"
    delimiter = b" " if form.delimiter == b"space" else form.delimiter
    out = []
    for _ in range(draw(st.integers(0, 12))):
        fields = [pick.choice(VALUES[kind]) if pick.random() < 0.93 else pick.choice(ANY) for kind in kinds]
        if form.seal:
            fields = [
                v + form.seal * (pick.random() < 0.9) if k == "time" else v for k, v in zip(kinds, fields, strict=True)
            ]
        mischief = pick.random()
        if mischief < 0.05:
            fields.pop(pick.randrange(len(fields)))
        elif mischief < 0.1:
            fields.insert(pick.randrange(len(fields) + 1), pick.choice(ANY))
        line = delimiter.join(fields) + delimiter * form.ends
        if mischief > 0.95:
            line = line[: pick.randrange(len(line) + 1)]
        out.append(line + pick.choice([b"\n"] * 8 + [b"\r\n", b"\n\n", b"\n;x|y\n", b"\nsacct: error: lost\n"]))
    text = b"".join(out)
    return text if draw(st.booleans()) else text.removesuffix(b"\n")


def agree(data: bytes, spec: str, form: Format) -> None:
    """The program and the oracle say the same; every byte is in a record, broken or blank."""
    expected = oracle.parse(data, spec, form)
    got, counts = helper.dump(data, spec, form)
    assert settled(got) == settled(expected.rows)
    assert {name: counts[name] for name in expected.counts} == expected.counts
    assert counts["bytes_records"] + counts["bytes_broken"] + counts["bytes_blank"] == len(data)


def settled(rows: list[list[Any]]) -> list[list[Any]]:
    """A field that is both malformed and too large may be called either."""
    return [[*row[:2], row[2].replace("too large", "malformed")] if row[0] == "rejected" else row for row in rows]


@EXAMPLES
@given(st.data())
def test_rows_that_look_like_sacct(data: st.DataObject) -> None:
    spec, form = data.draw(specs()), data.draw(formats())
    agree(data.draw(texts(spec, form)), spec, form)


@EXAMPLES
@given(st.data())
def test_rows_with_bytes_changed_lost_and_doubled(data: st.DataObject) -> None:
    spec, form = data.draw(specs()), data.draw(formats())
    text = bytearray(data.draw(texts(spec, form)))
    pick = random.Random(data.draw(st.integers(0, 2**32)))
    for _ in range(data.draw(st.integers(1, 6))):
        at, end = sorted((pick.randrange(len(text) + 1), pick.randrange(len(text) + 1)))
        match pick.randrange(4):
            case 0:
                text[at:at] = bytes([pick.randrange(256)])
            case 1:
                del text[at : at + pick.randrange(1, 4)]
            case 2:
                text[at:at] = text[at : min(end, at + 40)]
            case _:
                text[at:at] = pick.choice([b"\n", b"\r\n", b"\0", b"|", b"\xff", form.delimiter, b"\n\n"])
    agree(bytes(text), spec, form)


@EXAMPLES
@given(
    st.one_of(
        st.binary(max_size=200),
        st.text(alphabet="|\n\r0123456789:-,=. aT\x00_[]+%();\xe9", max_size=200).map(
            lambda text: text.encode("latin-1")
        ),
    ),
    specs(),
    formats(),
)
def test_bytes_that_are_nothing(data: bytes, spec: str, form: Format) -> None:
    agree(data, spec, form)


@EXAMPLES
@given(st.data())
def test_every_kind_alone(data: st.DataObject) -> None:
    """All values of the pool and some strange ones, each in a row of its own, so that each gets its own verdict."""
    kind = data.draw(st.sampled_from(sorted(set(KINDS) - {"skip", "free", "admin_comment"})))
    strange = st.text(alphabet="0123456789.:-,=KMGTcn?+_[]() %egrsputym/aT", max_size=24).map(str.encode)
    values = data.draw(st.lists(st.one_of(st.sampled_from(VALUES[kind]), st.sampled_from(ANY), strange), max_size=60))
    values = [value.replace(b"\x1f", b"").replace(b"\n", b"").replace(b"\r", b"") for value in values]
    zone = data.draw(st.sampled_from(ZONES))
    form = Format(delimiter=b"\x1f", ends=True, timezone=zone, known=KNOWN, tres=TRES)
    agree(b"".join(value + b"\x1f\n" for value in values), kind, form)


@EXAMPLES
@given(st.data())
def test_command_lines(data: st.DataObject) -> None:
    """Words of real ones and bytes of any kind, put together by lot; 16 kB of them now and then."""
    words = sorted({word for line in VALUES["submitted"] for word in line.split()})
    word = st.one_of(
        st.sampled_from(words), st.binary(max_size=12), st.sampled_from([b"--", b"-", b"=", b"'", b'"', b"\\"])
    )
    line = st.builds(
        lambda tool, parts, blank: tool + blank + blank.join(parts),
        st.sampled_from([b"sbatch", b"srun", b"salloc", b"/x/srun", b"scrontab", b"x", b""]),
        st.lists(word, max_size=30), st.sampled_from([b" ", b"  ", b"\t", b"\n", b"\r\n"]),
    )  # fmt: skip
    lines = data.draw(st.lists(line, max_size=12))
    if data.draw(st.integers(0, 9)) == 0:
        lines.append((b"sbatch --comment=" + b"x" * 200 + b" -n1 ") * 80)
    lines = [line.replace(b"\x1f", b"") for line in lines]
    form = Format(delimiter=b"\x1f\x1e", ends=True, known=KNOWN, tres=TRES)
    agree(b"".join(line + b"\x1f\x1e\n" for line in lines), "submitted", form)


@EXAMPLES
@given(st.sampled_from(ZONES[1:]), st.lists(st.integers(86400, 4102444800), min_size=1, max_size=50), st.booleans())
def test_local_times_around_every_change_of_the_clock(zone: str, moments: list[int], near: bool) -> None:
    from datetime import UTC, datetime

    pick = random.Random(moments[0])
    if near:  # October and March nights, a quarter of an hour apart
        year = pick.randrange(1990, 2037)
        start = int(datetime(year, pick.choice((3, 4, 10, 11)), pick.randrange(1, 26), tzinfo=UTC).timestamp())
        moments = [start + 900 * step for step in range(0, 2 * 96)]
    lines = [datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S\n").encode() for moment in moments]
    agree(b"".join(lines), "time", Format(timezone=zone))


def test_records_across_every_boundary_of_buffers_and_chunks() -> None:
    """A megabyte of rows of odd lengths: every 8 KiB chunk and 1 MiB read ends somewhere else in a row."""
    pick = random.Random(3)
    for delimiter in ("|", "☃", "\x1f"):
        lines = []
        for number in range(9000):
            name = "ä" * pick.randrange(3) + "x" * pick.randrange(400) + ("\n" if pick.random() < 0.05 else "")
            lines.append(delimiter.join([str(number), str(1700000000 + number), name, "0:0"]) + delimiter + "\n")
        agree("".join(lines).encode(), "jobid!,time!,free,exit", Format(delimiter=delimiter.encode(), ends=True))


@pytest.mark.parametrize(
    ("data", "spec", "why"),
    [
        (b"1|" + b"x" * (1 << 20) + b"\n2|y\n", "int,text", "a line just too long, a good one after it"),
        (b"1|" + b"x" * ((1 << 20) - 2) + b"\n2|y\n", "int,text", "a line just short enough"),
        (b"1|" + b"x" * ((1 << 20) - 2), "int,text", "the same without a newline"),
        (b"1|" + b"x" * ((1 << 20) - 1), "int,text", "one byte more"),
        (b"1|" + b"x" * (5 << 20) + b"\n2|y\n", "int,text", "a line longer than the buffer"),
        (b"x" * (5 << 20), "int,text", "no line at all"),
        (b"1|a\n" + b"x" * (3 << 20) + b"\n2|b\n", "int,free", "a giant after a record that might go on"),
        (b"1\n" + b"\n" * 4100 + b"2|b|c\n", "free,text,int", "more lines than a record may have"),
        (b"1|b|c\n" + b"more\n" * 4200 + b"2|b|c\n", "int,text,free", "the same for a record that goes on"),
        (b"1|b|c\n" + b"\n" * 4200 + b"2|b|c\n", "int,text,free", "empty lines after such a record are not of it"),
        (b"1|a\n" + b"y" * 700000 + b"\n" + b"z" * 700000 + b"\n2|b\n", "int,free", "together too long"),
        (b"1|a" + b"\nmore|" * 4, "int,text,text,free,text,text", "many short lines"),
        (b"\n" * 100000, "int,text", "nothing"),
        (b"", "int", "less than nothing"),
        (b"|" * 100000 + b"\n1|2\n", "int,free", "a record of delimiters"),
    ],
)  # fmt: skip
def test_giants(data: bytes, spec: str, why: str) -> None:
    agree(data, spec, Format())


def captures() -> list[Path]:
    folder = os.environ.get("ADMINKIT_TRACES")
    return sorted(p for p in Path(folder).rglob("*") if p.is_file()) if folder else []


@pytest.mark.skipif(not captures(), reason="not run: $ADMINKIT_TRACES names no folder of captures")
def test_captures_of_real_clusters_and_the_same_with_holes() -> None:
    """Every capture under $ADMINKIT_TRACES, as it is and with bytes lost."""
    from adminkit.ingest.sources.sacct_fields import columns_for

    tried = 0
    for path in captures():
        packed = path.read_bytes()
        raw = (gzip.decompress(packed) if path.suffix == ".gz" else packed)[:3_000_000]
        first, _, rest = raw.partition(b"\n")
        if not raw or first.startswith(b";"):
            form, spec, rest = (
                Format(delimiter=b"space", comment=b";", surplus_ignore=True),
                ",".join(["swf"] * 18),
                raw,
            )
        else:
            marks = Counter({mark: first.count(mark) for mark in (b"|", "☃".encode(), b",", b";|;")})
            form = Format(delimiter=marks.most_common(1)[0][0], timezone="America/New_York")
            if b"JobID" in first:
                names = first.decode(errors="replace").split(form.delimiter.decode())
                spec = ",".join(column.spec for column in columns_for(names))
            else:
                rest, spec = raw, ",".join(["text"] * first.count(form.delimiter) + ["free"])
        agree(rest, spec, form)
        pick, holed = random.Random(5), bytearray(rest[:200_000])
        for _ in range(200):
            at = pick.randrange(len(holed) + 1)
            del holed[at : at + pick.randrange(4)]
        agree(bytes(holed), spec, form)
        tried += 1
    assert tried
