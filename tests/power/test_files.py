"""Files of measurements: what each kind of them says, what is set aside, and what is no such file."""

from __future__ import annotations

import io

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adminkit.errors import AdminkitError
from adminkit.power.files import Given, Read, read
from adminkit.trace.power_curve import Measurement

OWN = "model,gpus,batch,cap,seconds,joules,iterations,gpu\n"
WINDOWS = "start_time,window_name,elapsed_time,gpu0_energy,gpu1_energy\n"
SUMMARY = "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power\n"


def asked(text: str, name: str = "file.csv", **given: object) -> Read:
    return read(io.BytesIO(text.encode("utf-8", "surrogateescape")), name, Given(**given))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "name", "given", "expected", "why"),
    [
        (OWN + "bert,2,64,250,10,2700,100,v100\n", "x.csv", {},
         [Measurement("bert", "v100", 2, 64, 250, 10, 2700, 100)], "every column of ours"),
        ("gpus,seconds,model\n4, 1.5 ,a b\n", "x.csv", {}, [Measurement("a b", "", 4, None, None, 1.5, None, None)],
         "what is needed alone, in another order"),
        (OWN + "bert,2,,,10,,,\n", "x.csv", {"gpu": "a100", "batch": 32},
         [Measurement("bert", "a100", 2, 32, None, 10, None, None)], "what the operator says fills what is empty"),
        ("\ufeffModel,GPUs,Seconds\nbert,1,2\n", "x.csv", {}, [Measurement("bert", "", 1, None, None, 2, None, None)],
         "a spreadsheet's mark, and capitals"),
        (WINDOWS + "1.5,__GlobalPowerLimitOptimizer_250,10.35,1361.5,1402.25\n", "V100+resnet18+gpu0,1.csv", {},
         [Measurement("resnet18", "V100", 2, None, 250, 10.35, 2763.75, None)], "Zeus' optimizer names its windows so"),
        (WINDOWS + "1.5,epoch,10,100,100\n", "log.csv", {"model": "m", "iterations": 500.0},
         [Measurement("m", "", 2, None, None, 10, 200, 500)], "a window of a name of the user's own"),
        (SUMMARY + "cifar100,shufflenetv2,1024,adadelta,100,27.13,106.9\n", "zeus-summary_power_a40.csv", {},
         [Measurement("cifar100/shufflenetv2/adadelta", "a40", 1, 1024, 100, 27.13, 27.13 * 106.9, None)],
         "the kind of GPU stands in the file's name alone; the joules of an epoch are time and mean power"),
        ("global_batch_size,1,2,4\n64,5,8,0\n", "throughputs_A100_vgg16.csv", {},
         [Measurement("vgg16", "A100", 1, 64, None, 0.2, None, 1),
          Measurement("vgg16", "A100", 2, 64, None, 0.125, None, 1)],
         "0 was not run"),
        ("global_batch_size,1,2,4\n64,1.0,2.0,nan\n32,NaN,N/A,4\n", "throughputs_T4_x.csv", {},
         [Measurement("x", "T4", 1, 64, None, 1.0, None, 1), Measurement("x", "T4", 2, 64, None, 0.5, None, 1),
          Measurement("x", "T4", 4, 32, None, 0.25, None, 1)],
         "nan is a missing measurement, and the others of its line count"),
        (OWN + "bert,2,NaN,nan,10,N/A,,a100\n", "x.csv", {},
         [Measurement("bert", "a100", 2, None, None, 10, None, None)], "what was not measured is unknown"),
    ],
)  # fmt: skip
def test_each_kind_of_file(
    text: str, name: str, given: dict[str, object], expected: list[Measurement], why: str
) -> None:
    found = asked(text, name, **given)
    assert [one for _, one in found.rows] == expected, why
    assert found.broken == [], why


@pytest.mark.parametrize(
    ("row", "reason", "why"),
    [
        ("bert,0,,,1,,,", "not a number of GPUs: '0'", "no GPU"),
        ("bert,1.5,,,1,,,", "not a number of GPUs: '1.5'", "half a GPU"),
        ("bert,70000,,,1,,,", "not a number of GPUs: '70000'", "more than anybody has"),
        ("bert,\u0663,,,1,,,", "not a number of GPUs: '\u0663'", "a digit of another script"),
        ("bert,1,,,0,,,", "seconds is not above 0, or is far too large: '0'", "no time"),
        ("bert,1,,,-1,,,", "seconds is not above 0, or is far too large: '-1'", "time that runs back"),
        ("bert,1,,,nan,,,", "seconds is missing", "what is needed was not measured"),
        ("bert,1,,,inf,,,", "not a number: 'inf'", "not a number"),
        ("bert,1,,,1_0,,,", "not a number: '1_0'", "a number as Python alone writes it"),
        (
            "bert,1,,,1,1e4,,",
            "more than 5,000 W per GPU: check that joules are not kilojoules, and seconds not milliseconds",
            "units",
        ),
        (",1,,,1,,,", "the model has no name", "no name"),
        ("b\x1b[31m,1,,,1,,,", "a name of more than 200 characters, or with some that cannot be printed", "escapes"),
        (f"{'b' * 201},1,,,1,,,", "a name of more than 200 characters, or with some that cannot be printed", "long"),
        ("bert,1,,", "4 columns instead of 8", "too few cells"),
    ],
)
def test_a_line_that_cannot_be_read_is_set_aside(row: str, reason: str, why: str) -> None:
    found = asked(f"{OWN}good,1,,,1,,,\n{row}\ngood,2,,,1,,,\n")
    assert [one.gpus for _, one in found.rows] == [1, 2], why
    assert [(line, said) for line, said, _ in found.broken] == [(3, reason)], why


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "file.csv is not a file of measurements: no column gpus, model, seconds"),
        ("model,gpus\n", "no column seconds"),
        ("model,gpus,seconds,energy\n", "file.csv has columns that adminkit does not know: energy"),
        ("\x00\x01\x02", "no column gpus, model, seconds"),
    ],
)
def test_what_is_no_such_file_is_refused(text: str, said: str) -> None:
    with pytest.raises(AdminkitError, match=said):
        asked(text)


def test_a_window_without_a_model_says_what_to_type() -> None:
    found = asked(WINDOWS + "1.5,epoch,10,100,100\n", "log.csv")
    assert [reason for _, reason, _ in found.broken] == ["no model: name it with --model"]


HEADS = [OWN, WINDOWS, SUMMARY, "global_batch_size,1,2\n"]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(HEADS), st.binary(max_size=300))
@example(HEADS[3], b"1,1e-320,1\n")
@example(OWN, b'"bert,1\n')
def test_no_bytes_are_more_than_set_aside(head: str, body: bytes) -> None:
    found = read(io.BytesIO(head.encode() + body), "x.csv", Given(model="m"))
    for _, one in found.rows:
        assert one.gpus >= 1 and 0 < one.seconds < float("inf") and one.model
        assert one.joules is None or 0 < one.joules < float("inf")
