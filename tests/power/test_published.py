"""What others published, ElasticFlow's tables and Zeus' files (both Apache-2.0), under $ADMINKIT_TRACES."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from adminkit.power.curves import points_of
from adminkit.power.files import Given, Read, read
from adminkit.power.scaling import model
from adminkit.recommend.gpus import Known, advise
from adminkit.reports.recommend_gpus import sentence
from adminkit.stats.power_curve import curves
from adminkit.trace.connect import reader, writer
from adminkit.trace.power_curve import store
from tests.support.builders import make_trace
from tests.support.swf import public


def published(name: str) -> Path:
    path = public(name)
    if path is None:
        pytest.skip(f"not run: no {name} under $ADMINKIT_TRACES")
    return path


def what(path: Path) -> Read:
    with path.open("rb") as file:
        return read(file, path.name, Given())


def test_a_model_of_a_table_of_throughput_is_off_by_a_twentieth_in_the_median(tmp_path: Path) -> None:
    """Every point of every table left out once, each with the weight of one."""
    folder, errors, tables = published("throughputs_A100_bert.csv").parent, [], []
    path = make_trace(tmp_path / "t.db")
    with writer(path) as db:
        for file in sorted(folder.glob("throughputs_*.csv")):
            found = what(file)
            assert found.broken == [] and found.rows
            store(db, file.name, found.rows, 0)
    with reader(path) as db:
        for curve in curves(db):
            points = points_of(curve)
            for place, one in enumerate(points):
                rest = model([*points[:place], *points[place + 1 :]])
                assert rest is not None
                errors.append(abs(one.seconds / rest.seconds(one.gpus, one.batch) - 1))
            fitted = model(points)
            assert fitted is not None and fitted.error is not None
            tables.append(fitted.error.median)
    assert len(errors) == 138 and median(errors) < 0.055
    assert sorted(tables)[8] < 0.11 and max(tables) > 0.4, "NCF on T4 is like no model"


def test_zeus_pair_of_resnet18_takes_a_third_less_energy_on_one_gpu() -> None:
    known = []
    for name in ("V100+resnet18+gpu0.csv", "V100+resnet18+gpu0,1.csv"):
        known += [Known(one.gpus, one.seconds, one.joules) for _, one in what(published(name)).rows if one.cap == 250.0]
    advice = advise(known, 2, 0.05)
    assert advice is not None
    assert sentence(advice, 0.05) == "ask for 1 GPU instead of 2: about the same time (4 % less), 31 % less energy"


@pytest.mark.parametrize(
    ("name", "rows", "model_named"),
    [("zeus-summary_power_v100.csv", 476, "shufflenetv2"), ("zeus-summary_power_a40.csv", 453, "shufflenetv2")],
)
def test_zeus_summaries_are_read_whole(name: str, rows: int, model_named: str) -> None:
    found = what(published(name))
    assert (len(found.rows), found.broken) == (rows, [])
    assert any(model_named in one.model for _, one in found.rows)
    assert {one.gpu for _, one in found.rows} == {name.rpartition("_")[2].removesuffix(".csv")}
