"""The table of contents of the command line."""

from __future__ import annotations

from adminkit.cli import (
    audit,
    demo,
    doctor,
    feedback,
    feedback_prefs,
    findings,
    import_,
    incentives,
    my,
    policy,
    policy_install,
    policy_refresh,
    recommend,
    report,
    simulate,
    simulate_scenarios,
    site,
    soft_limits,
    sync,
    trace,
)
from adminkit.cli.root import empty

app = empty()
app.add_typer(report.app, name="report")
app.add_typer(trace.app, name="trace")
trace.app.command("audit")(audit.audit)
trace.app.command("restore")(audit.restore)
app.add_typer(incentives.app, name="incentives")
app.add_typer(policy.app, name="policy")
policy.app.command("install")(policy_install.install)
policy.app.command("rollback")(policy_install.rollback)
policy.app.command("refresh")(policy_refresh.refresh)
policy.app.command("status")(policy_install.status)
app.add_typer(simulate.app, name="simulate")
simulate.app.command("scenarios")(simulate_scenarios.scenarios)
app.add_typer(soft_limits.app, name="soft-limits")
app.add_typer(recommend.app, name="recommend")
app.add_typer(feedback.app, name="feedback")
feedback.app.command("prefs")(feedback_prefs.prefs)
app.command("my")(my.my)
app.command("findings")(findings.findings)
app.command("sync")(sync.sync)
app.command("import")(import_.import_)
app.command("site")(site.site)
app.command("demo")(demo.demo)
app.command("doctor")(doctor.doctor)
