"""adminkit policy …: what the rules at submission are, and what they would do. Nothing here changes anything."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adminkit import config
from adminkit.cli import options, policy_input
from adminkit.cli.group import group
from adminkit.cli.policy_input import PolicyFile, Tables
from adminkit.cli.progress import progress
from adminkit.errors import UsageError, unknown_word
from adminkit.render.format import plural
from adminkit.render.say import put, say
from adminkit.render.sink import Way, emit
from adminkit.reports.answer import job_filter
from adminkit.reports.spec import ReportOptions
from adminkit.stats.replay import one_cluster
from adminkit.stats.select import check_words
from adminkit.trace.connect import reader
from adminkit.trace.location import find_trace
from adminkit.trace.sight import whose
from adminkit.units import Moment, moment, parse_when

if TYPE_CHECKING:
    from adminkit.render.report import Report

app = group("Check, try and install the rules that apply at submission.")


@app.command()
def check(
    policy: PolicyFile = None,
    site: options.SiteFile = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """List what is wrong with the policy, and where. Exit code 1 if there are errors.

    Example: adminkit policy check --policy policy.toml
    """
    from adminkit.policy.extend_checks import lead_clashes
    from adminkit.policy.load import examine
    from adminkit.reports.policy import check_lines, check_report

    path = policy_input.policy_path(policy)
    queues, note = policy_input.queue_limits(site)
    loaded, problems = examine(path, queues)
    problems += [] if loaded is None else lead_clashes(loaded, policy_input.signal_lead(loaded, site))
    wrong = [one for one in problems if not one.note]
    verdict = (
        f"{path}: {len(wrong)} to correct"
        if wrong
        else f"{path}: {plural(len(loaded.rules) if loaded else 0, 'rule')}, nothing wrong"
    )
    notes = [*note, verdict]
    _say(check_report(problems, notes), check_lines(problems, notes), format, output)
    if wrong:
        raise typer.Exit(1)


@app.command()
def explain(
    policy: PolicyFile = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Explain the policy in plain sentences.

    Example: adminkit policy explain --policy policy.toml
    """
    from adminkit.policy.explain import explain as sentences
    from adminkit.reports.policy import explain_lines, explain_report

    path, loaded = policy_input.load(policy)
    rows = sentences(loaded)
    _say(explain_report(rows, [f"policy {path}"]), explain_lines(rows), format, output)


@app.command("try")
def try_(
    policy: PolicyFile = None,
    site: options.SiteFile = None,
    user: Annotated[str | None, typer.Option("--user", "-u", metavar="NAME", help="The submitting user.")] = None,
    account: Annotated[str | None, typer.Option("--account", "-A", metavar="NAME", help="As for sbatch.")] = None,
    qos: Annotated[str | None, typer.Option("--qos", "-q", metavar="NAME", help="As for sbatch.")] = None,
    queue: Annotated[
        str | None, typer.Option("--queue", "--partition", "-p", metavar="NAME,…", help="As for sbatch.")
    ] = None,
    limit: Annotated[
        str | None, typer.Option("--time", "-t", metavar="TIME", help="As for sbatch: 90 is minutes.")
    ] = None,
    time_min: Annotated[str | None, typer.Option("--time-min", metavar="TIME", help="As for sbatch.")] = None,
    nodes: Annotated[
        int | None, typer.Option("--nodes", "-N", min=1, metavar="N", help="Nodes of the job; 1 by default.")
    ] = None,
    cpus: Annotated[int | None, typer.Option("--cpus", min=1, metavar="N", help="CPUs of the whole job.")] = None,
    gpus: Annotated[int | None, typer.Option("--gpus", "-G", min=0, metavar="N", help="GPUs of the whole job.")] = None,
    gpu_type: Annotated[str | None, typer.Option("--gpu-type", metavar="NAME", help="The type of the GPUs.")] = None,
    gres: Annotated[
        str | None, typer.Option("--gres", metavar="LIST", help="As for sbatch: gpu:a100_3g.20gb:1, shard:4.")
    ] = None,
    mem: Annotated[
        str | None, typer.Option("--mem", metavar="SIZE", help="As for sbatch: memory per node; 0 means all of it.")
    ] = None,
    exclusive: Annotated[bool, typer.Option("--exclusive", help="As for sbatch: whole nodes.")] = False,
    features: Annotated[str | None, typer.Option("--constraint", "-C", help="As for sbatch.")] = None,
    name: Annotated[str | None, typer.Option("--job-name", "-J", help="As for sbatch.")] = None,
    srun: Annotated[
        bool, typer.Option("--srun", help="The job is submitted with srun or salloc, not with sbatch.")
    ] = False,
    ckpt: Annotated[bool, typer.Option("--ckpt", help="The job can resume from a checkpoint.")] = False,
    extend: Annotated[
        str | None, typer.Option("--extend", metavar="auto|off", help="ADMINKIT_EXTEND in the job's environment.")
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="WHEN", help="The time of submission: 2027-04-01, now.")
    ] = None,
    tables: Tables = None,
    lua: policy_input.Lua = policy_input.Release.LUA51,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Show what would happen to a job, and what its user would read. Runs the same Lua code as slurmctld; needs no
    Slurm.

    Example: adminkit policy try --partition gq --time 72:00:00
    """
    from adminkit.fit.request import parse_mem
    from adminkit.lua.runtime import Decider
    from adminkit.policy.compile import policy_table, policy_text
    from adminkit.policy.gpu_parts import shares_of_site
    from adminkit.policy.request import Typed, typed_request, with_lease
    from adminkit.reports.policy import try_lines, try_report

    typed = Typed(
        user, account, qos, (queue or "").replace(",", " ").split(), limit, time_min, nodes, cpus, gpus, gpu_type,
        features, name, not srun, ckpt, None if mem is None else parse_mem(mem), exclusive, gres,
        extend,
    )  # fmt: skip
    path, loaded = policy_input.load(policy)
    cluster = policy_input.site(loaded, site, [user] if user and tables else [])
    now, settings = int(time.time()), config.load().gpus
    for name in typed.queues:
        if cluster.queue(name) is None:
            wrong = unknown_word("queue", name, [one.name for one in cluster.queues])
            say(f"note: {wrong.message}; {wrong.hint}")
    shares = shares_of_site(cluster.nodes, settings)
    request = typed_request(typed, cluster.uids.get(user or ""), now if at is None else parse_when(at, now), shares)
    table_of = policy_table(loaded, cluster, now, gpus=settings)
    table = policy_text(table_of)
    points, hints, needs = policy_input.tables(tables)
    decider = Decider(table.encode(), points, hints, policy_input.LUAS[lua], soft_limits=needs)
    decision = decider.decide(with_lease(request, table_of, now))
    if gpus and not nodes and decision.verdict != "reject":
        say(
            "note: where a rule or the power budget counts its GPUs, slurmctld limits this job to"
            f" {plural(gpus, 'node')}, and refuses it if its CPUs need more; say how many it takes: -N"
        )
    _say(try_report(decision, [f"policy {path}"]), try_lines(decision), format, output)


@app.command()
def replay(
    policy: PolicyFile = None,
    site: options.SiteFile = None,
    db: options.Database = None,
    queue: options.Queues = None,
    user: options.Users = None,
    account: options.Accounts = None,
    cluster: options.Clusters = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: options.AsOf = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="WHEN",
            help="Apply the rules that are in force at WHEN. Default: those in force at --as-of, if that is given,"
            " else all rules, regardless of their dates.",
        ),
    ] = None,
    tables: Tables = None,
    lua: policy_input.Lua = policy_input.Release.LUA51,
    simulate: Annotated[
        bool,
        typer.Option(
            "--simulate",
            help="Instead of counting jobs, simulate how the policy changes waits, as `simulate scenarios` does.",
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="With --simulate: show numbers even if calibration gives no basis for them.")
    ] = False,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Show what the policy would have done to past jobs in the trace. Installs nothing.

    Example: adminkit policy replay --since 30d
    """
    from adminkit.policy.replay import replay_trace
    from adminkit.reports.policy import replay_report, rules_at_note
    from adminkit.slurm.site_file import load_site

    when, settings = moment(as_of, time.time()), config.load()
    path, loaded = policy_input.load(policy)
    if simulate:
        filters = {
            "--queue": queue, "--user": user, "--account": account, "--at": at,
            "--lua": lua is not policy_input.Release.LUA51,
        }  # fmt: skip
        if given := next((name for name, value in filters.items() if value), None):
            raise UsageError(
                f"--simulate does not accept {given}: it covers all jobs and all rules", f"leave out {given}"
            )
        _simulate(path, site, db, cluster, since, until, when, force, Way(format.value, output))
        return
    if force:
        raise UsageError("--force needs --simulate", "leave out --force")
    file, way = find_trace(db, settings.db), Way(format.value, output)
    options = ReportOptions((), queue or (), user or (), account or (), cluster or (), since, until)
    filter = job_filter(options, settings, when.now)
    rules_at = when.as_of if at is None else parse_when(at, when.now)
    with reader(file, when.as_of) as trace, progress("replaying") as tick:
        filter = one_cluster(trace, check_words(trace, replace(filter, users=whose(user, file))))
        described = load_site(site) if site else None
        needs = policy_input.tables(tables)[2]
        replayed = replay_trace(
            trace, loaded, described, filter, rules_at, policy_input.LUAS[lua], lambda n, of: tick(n, of, n), needs
        )
    rules = [*(rule.name for rule in loaded.rules), *(["routing"] if "routing" in replayed.counts.rules else [])]
    notes = [f"policy {path}", rules_at_note(rules_at), f"{replayed.counts.requests} different requests"]
    emit(replay_report(replayed, filter, str(file), rules, notes).dated(when.as_of), way)


def _simulate(
    path: Path,
    site: Path | None,
    db: Path | None,
    cluster: list[str] | None,
    since: str | None,
    until: str | None,
    when: Moment,
    force: bool,
    way: Way,
) -> None:
    """The answer to a scenario of this policy."""
    from adminkit.cli.simulate_scenarios import Place, policy_answer
    from adminkit.slurm.site_file import load_site

    if len(cluster or ()) > 1:
        raise UsageError("a policy is for one cluster", "name one: --cluster")
    place = Place(db, next(iter(cluster or ()), None), since, until, path, when)
    emit(policy_answer(path, load_site(site) if site else None, place, force).dated(when.as_of), way)


@app.command()
def diff(
    policy: PolicyFile = None,
    installed: Annotated[
        Path | None,
        typer.Option(
            "--installed",
            metavar="DIR",
            help="The folder of the installed policy.lua. Default: the folder adminkit next to slurm.conf.",
        ),
    ] = None,
    site: options.SiteFile = None,
    format: options.FormatOption = options.Format.TABLE,
    output: options.Output = None,
) -> None:
    """Show what the policy file would change, rule by rule. Compares it with the installed policy.

    Example: adminkit policy diff --policy policy.toml
    """
    from adminkit.lua.runtime import load_table
    from adminkit.policy.compile import policy_table
    from adminkit.policy.diff import differences
    from adminkit.reports.policy import diff_lines, diff_report
    from adminkit.slurm.controller import controller

    path, loaded = policy_input.load(policy)
    folder = installed or (controller().folder or Path("/etc/slurm")) / "adminkit"
    table = load_table(folder / "policy.lua")
    changes = differences(table, policy_table(loaded, policy_input.site(loaded, site), 0, gpus=config.load().gpus))
    notes = [f"policy {path}", f"installed {folder / 'policy.lua'}, generation {table.get('generation', 'unknown')}"]
    _say(diff_report(changes, notes), diff_lines(changes), format, output)


def _say(report: Report, lines: str, format: options.Format, output: Path | None) -> None:
    """Lines for people, the report for everything else."""
    if format is options.Format.TABLE and output is None:
        put(lines, end="")
    else:
        emit(report, Way(format.value, output))
