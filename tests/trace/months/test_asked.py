"""What of an archive a statement may read: a window only where the statement says so beyond doubt."""

from __future__ import annotations

from typing import Any

import pytest

from adminkit.trace.months.asked import EVER, Asked, asked

_SINCE, _UNTIL = EVER
_GIVEN = {"since": 100, "until": 200, "no": None, "text": "100"}


@pytest.mark.parametrize(
    ("sql", "expected", "why"),
    [
        ("SELECT 1 FROM queue", None, "another table"),
        ("PRAGMA table_info(job)", None, "no rows"),
        ("SELECT count(*) FROM main.job", None, "what SQLite has"),
        ("SELECT count(*) FROM job", (_SINCE, _UNTIL), "all of them"),
        ("SELECT * FROM run WHERE end_time >= :since", (100, _UNTIL), "a bound"),
        ("select * from run where end_time >= :since and end_time < :until", (100, 200), "two, in small letters"),
        ("SELECT * FROM run WHERE end_time >= :since AND end_time <= :until", (100, 201), "with the last moment"),
        (
            "SELECT a FROM (SELECT a FROM run WHERE end_time >= 150 UNION ALL SELECT b FROM run WHERE end_time < 170)",
            EVER,
            "two SELECTs side by side",
        ),
        (
            "SELECT (SELECT 1 FROM run WHERE end_time >= 150 AND end_time < 170), (SELECT 1 FROM job"
            " WHERE end_time > 160 AND end_time < :until)",
            (150, 200),
            "two windows",
        ),
        ("SELECT 1 FROM run WHERE a IN step AND end_time >= 5", EVER, "a table without FROM"),
        ("SELECT 1 FROM job AS run WHERE end_time >= 5", EVER, "another name"),
        ("WITH run AS (SELECT * FROM job WHERE end_time >= 5) SELECT 1 FROM run WHERE end_time >= 9", EVER, "WITH"),
        ("SELECT * FROM job AS j WHERE j.end_time > 7 AND (a OR b)", (7, _UNTIL), "another condition is an OR"),
        ("SELECT * FROM run WHERE submit_time >= :since AND submit_time < :until", (100, _UNTIL), "it ends later"),
        ("SELECT * FROM run WHERE +end_time >= :since GROUP BY a ORDER BY end_time", (100, _UNTIL), "not an index"),
        ("SELECT a, 'x OR y' FROM run WHERE end_time >= :since AND queue = 'a'", (100, _UNTIL), "texts do not count"),
        ("SELECT * FROM run WHERE end_time >= :since OR a", EVER, "one of two"),
        ("SELECT * FROM run WHERE NOT end_time >= :since", EVER, "the opposite"),
        ("SELECT * FROM run WHERE a BETWEEN 1 AND end_time >= :since", EVER, "of BETWEEN"),
        ("SELECT * FROM run WHERE end_time >= :since + 1", EVER, "more than a value"),
        ("SELECT * FROM run WHERE end_time >= :no", EVER, "an unknown value"),
        ("SELECT * FROM run WHERE end_time >= :text", EVER, "a text, which is above all numbers"),
        ("SELECT * FROM run WHERE start_time IS NULL AND end_time >= -5", EVER, "no number that is known here"),
        ("SELECT * FROM run, queue WHERE end_time >= :since", EVER, "two tables"),
        ("SELECT * FROM run JOIN queue WHERE end_time >= :since", EVER, "two tables"),
        ("SELECT (SELECT 1 FROM job) FROM run WHERE end_time >= :since", EVER, "a second SELECT"),
        ("SELECT (SELECT max(a) FROM job WHERE end_time >= :since) FROM queue", (100, _UNTIL), "an inner one"),
        (
            "SELECT 1 FROM (SELECT a FROM run WHERE (b OR c) AND end_time >= :since LIMIT -1)",
            (100, _UNTIL),
            "an inner one",
        ),
        ("SELECT 1 FROM (SELECT a FROM run) WHERE end_time >= :since", EVER, "the condition of an outer one"),
        ("SELECT * FROM run WHERE end_time >= :since UNION SELECT * FROM queue", EVER, "two SELECTs"),
        ("SELECT * FROM run WHERE a /* OR */ AND end_time >= :since", (100, _UNTIL), "a comment"),
        ("SELECT * FROM run -- WHERE a OR\n WHERE end_time >= :since", (100, _UNTIL), "a comment"),
        ("SELECT * FROM [run] WHERE end_time >= :since", (100, _UNTIL), "another way to quote"),
        ('SELECT * FROM "run" WHERE end_time >= :since', (100, _UNTIL), "a name in quotes"),
        ("SELECT 'it''s' FROM run WHERE end_time >= :since", (100, _UNTIL), "a quote in a text"),
        ("SELECT CASE WHEN a OR b THEN 1 END FROM run WHERE end_time >= :since", (100, _UNTIL), "CASE"),
        ("SELECT 1 FROM run WHERE CASE WHEN a AND end_time >= :since AND b THEN 1 END", EVER, "within CASE"),
        ("SELECT 1 FROM run WHERE CASE WHEN a AND end_time >= :since AND b THEN 1", EVER, "CASE without END"),
        ("SELECT 1 FROM run WHERE end_time IS NULL AND a", (_UNTIL, _UNTIL), "no archived run is open"),
        ("SELECT 1 FROM run WHERE a AND (b OR end_time IS NULL)", EVER, "one of two"),
        ("SELECT 1 FROM window WHERE pass = 'job'", None, "a text"),
        ("SELECT step.x FROM main.run WHERE a IN (SELECT 1 FROM main.step)", None, "what SQLite has of both"),
        ("SELECT step.step FROM main.step", None, "a column of that name"),
        ("SELECT a FROM temp.run WHERE end_time >= :since", (100, _UNTIL), "a reader's own view"),
        (
            "SELECT '' AS \"it's\" FROM job WHERE 'x' = \"'\"",
            EVER,
            "quotes that do not belong together",
        ),
        ("SELECT \"a' FROM run WHERE end_time >= :since AND 'b\" FROM job", EVER, "quotes in quotes"),
    ],
)
def test_a_window_is_recognised_or_everything_is_read(sql: str, expected: Any, why: str) -> None:
    found = asked(sql, _GIVEN)
    assert (found and (found.since, found.until)) == expected, why


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM job", Asked(True, False)),
        ("SELECT * FROM trace", Asked(True, False)),
        ("SELECT * FROM step", Asked(False, True)),
        ("SELECT * FROM run", Asked(True, True)),
        ("SELECT * FROM job JOIN main.step", Asked(True, False)),
        ("SELECT * FROM all_step JOIN JOB", Asked(True, True)),
    ],
)
def test_runs_and_steps_are_read_where_they_are_named(sql: str, expected: Asked) -> None:
    assert asked(sql, ()) == expected


@pytest.mark.parametrize(
    ("sql", "number"),
    [
        ("SELECT * FROM job WHERE cluster = 'a' AND job_id_raw = 7", 7),
        ("SELECT * FROM step AS s WHERE s.job_id_raw = :since", 100),
        ('SELECT * FROM [job] WHERE "job_id_raw" = :text AND queue = :no', 100),
        ("SELECT * FROM job WHERE job_id_raw = 7 OR a", None),
        ("SELECT * FROM job WHERE NOT job_id_raw = 7", None),
        ("SELECT * FROM job WHERE job_id_raw = 7 + 1", None),
        ("SELECT * FROM job WHERE job_id_raw = :no", None),
        ("SELECT * FROM job WHERE job_id_raw = 99999999999999999999", None),
        ("SELECT * FROM job, step WHERE job_id_raw = 7", None),
        ("SELECT (SELECT 1 FROM job) FROM job WHERE job_id_raw = 7", None),
        ("SELECT (SELECT 1 FROM job WHERE job_id_raw = 7) FROM step WHERE job_id_raw = 7", 7),
        ("SELECT (SELECT 1 FROM job WHERE job_id_raw = 8) FROM step WHERE job_id_raw = 7", None),
    ],
)
def test_a_number_of_a_job_is_recognised_or_all_are_read(sql: str, number: int | None) -> None:
    found = asked(sql, _GIVEN)
    assert found and found.number == number
