"""What the page of all reports says in its own words. Placeholders are str.format's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from adminkit.messages import template, texts_in

_WORDS: Final[Mapping[str, str]] = {
    "title": template("Report on {clusters}"),
    "no_cluster": template("no cluster"),
    "clusters": template("clusters"),
    "window": template("window"),
    "from_until": template("{since} until {until}"),
    "queue": template("queues"),
    "as_of": template("as of"),
    "made": template("made"),
    "database": template("database"),
    "for_operators": template("This page names users. It is for operators, and for people to whom operators show it."),
    "contents": template("Contents"),
    "full_stop": template("."),
    "findings": template("What to do"),
    "findings_question": template(
        "What could be better, what it costs, and the command that shows more or makes the change."
    ),
    "no_findings": template("Nothing was found that could be better."),
    "too_little": template("Too little to judge yet: no queue has {least} jobs that count in this window."),
    "elsewhere": template("There are {number} findings about single jobs and weeks in the last seven days: {command}"),
    "both": template("{first} {then}"),
    "month": template("{year}-{month:02}"),
    "unsized.gpus": template("Hours of {jobs} jobs with an unknown number of GPUs are CPU-hours."),
    "unsized.both": template("No hours are known for {jobs} jobs with an unknown number of GPUs and CPUs."),
    "stake_note": template(
        "Hours of different findings overlap: do not add them up. CPU-hours count only jobs without GPUs."
    ),
    "at_stake": template("{hours} at stake"),
    "more_findings": template("{number} more"),
    "good": template("What goes well"),
    "changed": template("What changed"),
    "changed_question": template(
        "The last month compared with the previous month, the same month last year, and earlier months."
    ),
    "month_is": template("now is {month}; before is {before}; months are in UTC"),
    "month_until": template("{month} until {day}"),
    "more": template("{cluster}{measure}: {now}, more than in any of the {months} earlier months ({low} to {high})."),
    "less": template("{cluster}{measure}: {now}, less than in any of the {months} earlier months ({low} to {high})."),
    "as_usual": template("No number is outside the range of the {months} earlier months."),
    "few_months": template("Fewer than {least} earlier months are known, so it is not known yet what is usual."),
    "moments": template("Rules and limits that were introduced, numbered as in the charts"),
    "see_moments": template(
        "Numbers in the charts: rules and limits that were introduced, listed under “What changed”."
    ),
    "rules": template("{day}: rules ({what})"),
    "points": template("{day}: points for short limits ({what})"),
    "soft_limits": template("{day}: soft limits ({what})"),
    "letters": template("{day}: the first letter to a user of {cluster}"),
    "limits": template("{day}: {queue}: maximum {maximum_before} → {maximum}, default {default_before} → {default}"),
    "unlimited": template("none"),
    "more_moments": template("and {number} earlier entries"),
    "measure.jobs_a_day": template("Jobs per day"),
    "measure.accuracy": template("Accuracy, the mean of elapsed / limit"),
    "measure.used_fraction": template("Used fraction of what was reserved"),
    "measure.unused_gpu_hours_a_day": template("Unused GPU-hours per day"),
    "measure.unused_cpu_hours_a_day": template("Unused CPU-hours per day, of jobs without GPUs"),
    "measure.wait_median": template("Median wait in the queue"),
    "measure.wait_p95": template("Wait that 95 % of jobs stay below"),
    "measure.failed_share": template("Share of runs that failed"),
    "panel.accuracy": template("Accuracy and used fraction"),
    "panel.unused": template("Unused hours per day"),
    "panel.wait": template("Waits for the queue"),
    "panel.jobs": template("Jobs per day"),
    "panel.failed": template("Runs that failed"),
    "line.accuracy": template("accuracy"),
    "line.used_fraction": template("used fraction"),
    "line.unused_gpu_hours_a_day": template("GPU-hours"),
    "line.unused_cpu_hours_a_day": template("CPU-hours"),
    "line.wait_median": template("median"),
    "line.wait_p95": template("95 %"),
    "line.jobs_a_day": template("jobs"),
    "line.failed_share": template("failed"),
    "counted": template("What was counted"),
    "fact.answer": template("answer"),
    "fact.database": template("database"),
    "fact.as of": template("as of"),
    "fact.clusters": template("clusters"),
    "fact.window": template("window"),
    "fact.filters": template("filters"),
    "fact.jobs": template("jobs"),
    "fact.left out": template("left out"),
    "fact.note": template("note"),
    "table": template("The table: {rows} rows"),
    "numbers": template("As a table"),
    "rows_more": template("{number} more rows: {command}"),
    "not_by_queue": template("All queues: this report cannot be filtered by queue."),
    "nothing": template("Nothing recorded yet"),
    "failed": template("This report failed"),
    "failures": template("{number} of the reports failed: {names}"),
    "outside_before": template(
        "No job ended in this window. Jobs in the trace ended between {first} and {last}: --as-of"
        " {after} shows the days before it."
    ),
    "outside_after": template(
        "No job ended in this window. Jobs in the trace ended between {first} and {last}: --until"
        " {after} includes all of them."
    ),
    "empty": template("The trace has no job that ended."),
    "title.accuracy": template("Accuracy of time limits"),
    "question.accuracy": template("How much of the time that jobs ask for do they use?"),
    "title.parallelism": template("Parallelism"),
    "question.parallelism": template("How parallel are the jobs, and who uses the hours?"),
    "title.restarts": template("Jobs in several pieces"),
    "question.restarts": template("Do jobs that checkpoint resume, and what do restarts cost?"),
    "title.feedback": template("The effect of letters"),
    "question.feedback": template("Do users ask for better limits after a letter?"),
    "title.soft-limits": template("Soft limits"),
    "question.soft-limits": template("Do soft limits hold, and whom did they delay?"),
    "title.extensions": template("More time"),
    "question.extensions": template("Which jobs were given more time, and what did it save?"),
    "title.states": template("How jobs ended"),
    "question.states": template("How many jobs succeed, and how do the other jobs end?"),
    "title.users": template("Users"),
    "question.users": template("Who runs jobs, and whose limits get better or worse?"),
    "title.wait": template("Waits"),
    "question.wait": template("How long do jobs wait, and does a shorter limit start sooner?"),
    "title.efficiency": template("Efficiency"),
    "question.efficiency": template("How much do jobs use of their CPUs, memory and GPUs?"),
    "title.energy": template("Energy"),
    "question.energy": template("How much electricity do jobs use, and how much of that goes to idle GPUs?"),
    "title.io": template("Waits for files"),
    "question.io": template("Which jobs hold GPUs while they wait for files?"),
    "title.frameworks": template("Frameworks"),
    "question.frameworks": template("What do the jobs run?"),
    "title.names": template("Job names"),
    "question.names": template("Which programs use the hours, by the names of their jobs?"),
    "title.arrivals": template("Arrivals"),
    "question.arrivals": template("When do jobs arrive, and how evenly?"),
    "title.utilization": template("Utilization"),
    "question.utilization": template("How much of the nodes' capacity was in use?"),
    "title.idle": template("Idle GPUs at this moment"),
    "question.idle": template("Which running jobs hold GPUs without using them?"),
    "title.waste": template("Waste"),
    "question.waste": template("What was reserved and not used, and what was idle while jobs waited?"),
}


@cache
def words_in(language: str) -> Mapping[str, str]:
    """The words by name, in that language."""
    return texts_in(_WORDS, language)
