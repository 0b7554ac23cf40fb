"""The maps that come with adminkit, on rows as the data sets publish them; Philly's on the real file too."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adminkit.cli.main import main

PHILLY = """timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,11cb48
2017-09-29 07:58:32,860662.0,8,6885296.0,6c71a0
"""
#: In the shape of the published sample: jobs of made-up people. The third never started, and the last is a task of the
#: same array.
EAGLE = """job_id,user,account,partition,qos,wallclock_req,nodes_req,processors_req,gpus_req,mem_req,submit_time,\
start_time,end_time,run_time,state,name,work_dir,submit_line
532401,user0901,account0901,partition001,normal,172800.0,10,360,0,0.0,2019-01-02 08:55:55,2019-01-02 08:55:56,\
2019-01-03 12:39:41,99825.0,COMPLETED,name00000901,work_dir00000901,submit_line00000901
532402,user0902,account0901,partition008,normal,1800.0,1,36,2,0.0,2019-01-02 09:00:00,2019-01-02 09:00:10,\
2019-01-02 09:30:15,1805.0,TIMEOUT,name00000902,work_dir00000902,submit_line00000902
532403,user0902,account0901,partition008,high,1800.0,1,36,0,0.0,2019-01-02 09:00:00,,\
2019-01-02 09:10:00,0.0,CANCELLED,name00000902,work_dir00000902,submit_line00000902
532403,user0902,account0901,partition008,high,1800.0,1,36,0,0.0,2019-01-02 09:00:00,2019-01-02 09:00:05,\
2019-01-02 09:01:05,60.0,COMPLETED,name00000902,work_dir00000902,submit_line00000902
"""
PM100 = """derived_ec,eligible_time,end_time,group_id,job_id,job_state,num_cores_req,num_cores_alloc,num_gpus_req,\
num_gpus_alloc,num_nodes_req,num_nodes_alloc,mem_req,mem_alloc,partition,priority,qos,run_time,start_time,\
state_reason,submit_time,time_limit,user_id
0:0,2020-05-04 07:00:05+00:00,2020-05-04 09:00:10+00:00,25200,901,COMPLETED,32,128,4,4,1,1,230,230,1,100000,2,7200,\
2020-05-04 07:00:10+00:00,None,2020-05-04 07:00:00+00:00,1440,901
0:0,2020-05-04 07:00:05+00:00,2020-05-05 07:00:10+00:00,25200,902,TIMEOUT,32,128,0,0,1,1,230,230,1,100000,2,86400,\
2020-05-04 07:00:10+00:00,TimeLimit,2020-05-04 07:00:00+00:00,4294967295,901
"""
#: The example of the data set's own page, and one without an end.
HELIOS = """job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
1425511,uXBbc,vcJkd,1,1,1,COMPLETED,2020-06-09 18:41:01,2020-06-09 18:41:01,2020-06-10 04:55:09,36848,0
1425512,uVMrF,vchbv,4,16,1,FAILED,2020-06-09 18:41:27,2020-06-09 18:41:37,2020-06-09 18:45:46,249,10
"""


@pytest.fixture(autouse=True)
def plain(no_settings: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def jobs(columns: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect("t.db")) as db:
        return db.execute(f"SELECT {columns} FROM job ORDER BY job_id_raw").fetchall()


@pytest.mark.parametrize(
    ("name", "text", "columns", "becomes"),
    [
        ("philly", PHILLY, "cluster, job_id_raw, queue, submit_time, elapsed, gpus, start_time, state",
         [("philly", 1, "11cb48", 1507532515, 66, 1, None, None),
          ("philly", 2, "6c71a0", 1506671912, 860662, 8, None, None)]),
        ("eagle", EAGLE, "job_id_raw, job_id, user, account, queue, qos, state, elapsed, time_limit, req_cpus,"
         " req_gpus, start_time - submit_time, end_time - start_time",
         [(1, "532401", "user0901", "account0901", "partition001", "normal", "COMPLETED", 99825, 172800, 360, 0, 1,
            99825),
          (2, "532402", "user0902", "account0901", "partition008", "normal", "TIMEOUT", 1805, 1800, 36, 2, 10, 1805),
          (3, "532403", "user0902", "account0901", "partition008", "high", "CANCELLED", 0, 1800, 36, 0, None, None),
          (4, "532403", "user0902", "account0901", "partition008", "high", "COMPLETED", 60, 1800, 36, 0, 5, 60)]),
        ("pm100", PM100, "cluster, job_id_raw, user, queue, qos, state, reason, time_limit, limit_kind, gpus, cpus,"
         " submit_time, eligible_time - submit_time, elapsed",
         [("marconi100", 901, "user901", "partition1", "qos2", "COMPLETED", None, 86400, "finite", 4, 128,
           1588575600, 5, 7200),
          ("marconi100", 902, "user901", "partition1", "qos2", "TIMEOUT", "TimeLimit", None, "unlimited", 0, 128,
           1588575600, 5, 86400)]),
        ("helios", HELIOS, "cluster, job_id_raw, user, queue, state, req_gpus, req_cpus, start_time - submit_time,"
         " elapsed, end_time - start_time, time_limit",
         [("venus", 1425511, "uXBbc", "vcJkd", "COMPLETED", 1, 1, 0, 36848, 36848, None),
          ("venus", 1425512, "uVMrF", "vchbv", "FAILED", 4, 16, 10, 249, 249, None)]),
    ],
)  # fmt: skip
def test_a_data_set_is_read_by_its_map(name: str, text: str, columns: str, becomes: list[tuple[object, ...]]) -> None:
    Path("jobs.csv").write_text(text)
    words = ["--cluster", "venus"] if name == "helios" else []
    assert main(["import", "jobs.csv", "--db", "t.db", "--map", name, *words]) == 0
    assert jobs(columns) == becomes
    assert main(["import", "jobs.csv", "--db", "t.db", "--map", name, *words]) == 0
    assert len(jobs("1")) == len(becomes)


def test_the_real_philly_trace_is_read_whole(capsys: pytest.CaptureFixture[str]) -> None:
    found = sorted(Path(os.environ.get("ADMINKIT_TRACES") or "/nonexistent").rglob("philly-2017.csv.xz"))
    if not found:
        pytest.skip("not run: no philly-2017.csv.xz under $ADMINKIT_TRACES")
    for new in (82_247, 0):
        assert main(["import", str(found[0]), "--db", "t.db", "--map", "philly"]) == 0
        assert f"read 82247, new {new}, changed 0, unchanged {82_247 - new}, rejected 0" in capsys.readouterr().out
    assert jobs("count(*), count(DISTINCT queue), min(submit_time), max(submit_time), sum(gpus > 1)") == [
        (82_247, 15, 1504521041, 1513929731, 5620)
    ]
