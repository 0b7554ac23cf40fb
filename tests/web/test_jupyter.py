"""adminkit's spawner in a real JupyterHub on a real Slurm: what is offered, refused, watched, and kept from users."""

from __future__ import annotations

import pwd
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cluster.harness.cluster import Cluster
from tests.support.builders import job, make_trace
from tests.web import hub as harness
from tests.web.hub import Hub, hub_on, login, server_environment, server_process

if TYPE_CHECKING:
    from tests.web.browser import Browser

pytestmark = pytest.mark.web

GPUS = 8
#: What can be chosen in the form that is shown, and what is said of it.
OFFERS = """return Object.fromEntries([...document.querySelectorAll(".adminkit-offer")].map(row =>
    [row.dataset.key, [!row.querySelector("input").disabled, row.querySelector(".adminkit-when").innerText]]))"""


@pytest.fixture(scope="module")
def hub(hub_cluster: Cluster) -> Iterator[Hub]:
    with hub_on(hub_cluster, patience=6.0) as running:
        yield running


@pytest.fixture
def clean(hub: Hub) -> Iterator[Hub]:
    """The hub without servers, before and after."""
    yield hub
    hub.held.unlink(missing_ok=True)
    for user in harness.USERS:
        if hub.server(user):
            hub.end(user)
    hub.cluster.run("scancel", "--state=PENDING,RUNNING", "-u", "backup")
    hub.until("no jobs to be left", lambda: not hub.cluster.ask("squeue", "-h", "-t", "PD,R,CG"))


@contextmanager
def taken(hub: Hub, gpus: int) -> Iterator[int]:
    """A job of somebody's that has so many GPUs for ten minutes."""
    job = hub.cluster.submit("sleep 600", "-p", "gq", f"--gpus={gpus}", "-t", "10", user="backup")
    hub.cluster.wait(job, "RUNNING")
    try:
        yield job
    finally:
        hub.cluster.run("scancel", str(job))
        hub.cluster.wait(job)


# --- starting and refusing


def test_a_server_starts_and_ends(clean: Hub) -> None:
    told = clean.spawn("games", "one")
    assert told.status in (201, 202), told
    clean.until("the server to be ready", lambda: clean.ready("games"))
    job = clean.job("games")
    shown = clean.cluster.ask("scontrol", "show", "job", str(job))
    assert "UserId=games(" in shown
    assert "Requeue=0" in shown
    assert "TimeLimit=00:10:00" in shown
    clean.end("games")
    assert clean.cluster.wait(job)[0].startswith("CANCELLED")


@pytest.mark.parametrize(
    ("gpus_taken", "profile", "said"),
    [(0, "nine", "no node has that much"), (7, "two", "busy"), (8, "one", "busy"), (1, "eight", "busy")],
)
def test_what_cannot_start_is_refused_in_a_second_and_submits_nothing(
    clean: Hub, gpus_taken: int, profile: str, said: str
) -> None:
    def jobs() -> list[str]:
        return clean.cluster.ask("squeue", "-h", "-t", "all", "-n", "jupyter", "-o", "%i").split()

    def refused() -> None:
        before = jobs()
        told = clean.spawn("games", profile)
        assert told.status == 409, told
        assert said in told.message
        assert told.seconds < 5, "Slurm's own answer is in it; the bar of a second is make bench's"
        assert jobs() == before

    if gpus_taken:
        with taken(clean, gpus_taken):
            refused()
    else:
        refused()


@pytest.mark.parametrize("options", ["one; id", "../x", "", None, 3, ["one"], {"a": 1}])
def test_options_are_a_key_or_nothing(clean: Hub, options: Any) -> None:
    told = clean.spawn("games", options, gpus=8, cmd="id", script="#!/bin/sh", qos="x")
    assert told.status == 400, told
    assert "There is no profile" in told.message


def test_only_the_key_of_the_options_counts(clean: Hub) -> None:
    """Stock batchspawner puts every option that a user sends into the script."""
    told = clean.spawn("games", "one", cmd="touch /tmp/nobody", gpus=8, homedir="/", prologue="id", options="-p gq")
    assert told.status in (201, 202), told
    clean.until("the server to be ready", lambda: clean.ready("games"))
    shown = clean.cluster.ask("scontrol", "show", "job", "-o", str(clean.job("games")))
    assert "gres/gpu=1" in shown


def test_of_two_users_one_gets_the_last_gpu(clean: Hub) -> None:
    """Three times over; in soak twenty."""
    with taken(clean, GPUS - 1), ThreadPoolExecutor(2) as at_once:
        for _ in range(3):
            told = list(at_once.map(lambda user: clean.spawn(user, "one"), ("games", "news")))
            assert sorted(one.status in (201, 202) for one in told) == [False, True], told
            lost = next(one for one in told if one.status == 409)
            assert "It cannot start" in lost.message
            winner = ("games", "news")[0 if told[0].status != 409 else 1]
            clean.until("the winner's server", lambda user=winner: clean.ready(user))
            clean.end(winner)
            clean.until("no jobs", lambda: not clean.cluster.ask("squeue", "-h", "-n", "jupyter", "-t", "PD,R,CG"))


# --- limits

#: For two hours; the hub has seen who needs one.
LONG = """
[long]
partition = "gq"
gpus = "1"
mem = "1G"
time = "120"
"""
FIELDS = """return Object.fromEntries([...document.querySelectorAll(".adminkit-time")].map(one =>
    [one.parentNode.dataset.key,
     [one.querySelector("input").value, one.querySelector(".adminkit-learnt").innerText]]))"""


def test_a_limit_is_proposed_from_one_s_own_servers_and_what_is_typed_wins(clean: Hub, browser: Browser) -> None:
    ours = {"cluster": clean.cluster.name, "job_name": "jupyter", "queue": "gq", "cpus": 1, "state": "CANCELLED"}
    games = {"user": "games", "uid": pwd.getpwnam("games").pw_uid}
    runs = [job(1440 * day, **games, **ours, elapsed=3000, time_limit=7200) for day in range(1, 13)]
    make_trace(clean.private / "trace.db", runs)
    driver = browser.driver

    def limit_of_its_job() -> str:
        clean.until("the server to be ready", lambda: clean.ready("games"))
        shown = clean.cluster.ask("scontrol", "show", "job", "-o", str(clean.job("games")))
        clean.end("games")
        return shown.split("TimeLimit=")[1].split()[0]

    def submit(typed: str | None) -> None:
        login(browser, clean, "games")
        clean.until("the limit", lambda: driver.execute_script(FIELDS)["long"][0] == "01:00:00", 60)
        field = driver.find_element("css selector", "[data-key=long] .adminkit-time input")
        if typed is not None:
            field.clear()
            field.send_keys(typed)
        driver.execute_script("document.querySelector('input[value=long]').click()")
        driver.execute_script("document.querySelector('#spawn_form button[type=submit]:not([name])').click()")

    with clean.with_settings(trace=str(clean.private / "trace.db")), clean.offering(LONG):
        login(browser, clean, "news")
        time.sleep(12)  # the form has asked again
        assert driver.execute_script(FIELDS)["long"] == ["02:00:00", "at most 02:00:00"], "no runs of theirs"
        submit(None)
        assert limit_of_its_job() == "01:00:00"
        submit("45")
        assert limit_of_its_job() == "00:45:00"
        submit("121")
        text = "return document.body.innerText"
        clean.until("the refusal", lambda: "is longer than the 02:00:00" in driver.execute_script(text), 30)
        assert driver.execute_script(FIELDS)["long"][0] == "121", "what was typed is kept"
        assert [one for one in browser.accessibility() if "btn-jupyter" not in one] == []
        assert clean.spawn("games", "long").status in (201, 202)
        assert limit_of_its_job() == "02:00:00", "programs are proposed nothing"
        assert clean.spawn("games", "long", time="1; id").status == 400


# --- watching


def test_a_job_that_dies_at_once_is_told_with_its_log(clean: Hub) -> None:
    home = clean.homes / "www-data"
    home.joinpath("runtime").write_text("in the way of a folder")
    try:
        told = clean.spawn("www-data", "one")
        assert told.status == 409, told
        assert "ended before the server responded: it ended with an error" in told.message
        assert "exists but is not a directory" in told.message
    finally:
        home.joinpath("runtime").unlink()


def test_a_job_that_waits_too_long_is_withdrawn_with_slurm_s_reason(clean: Hub) -> None:
    """It had room when it was asked for, and was held since."""
    clean.held.touch()
    try:
        told = clean.spawn("news", "one")
    finally:
        clean.held.unlink()
    assert told.status == 409, told
    assert "it was withdrawn. Slurm's reason: JobHeldUser" in told.message
    assert clean.cluster.ask("squeue", "-h", "-u", "news", "-t", "PD,R") == ""
    assert clean.spawn("news", "one").status in (201, 202), "nothing of it is left"


def test_the_kernel_of_a_profile_is_that_of_a_new_notebook(clean: Hub) -> None:
    with clean.offering("[ir]\nkernel = 'ir'\npartition = 'gq'\nmem = '1G'\ntime = '10'\n"):
        clean.spawn("games", "ir")
    clean.until("the server to be ready", lambda: clean.ready("games"))
    token = server_environment(clean.job("games"), clean.cluster)["JUPYTERHUB_API_TOKEN"]
    assert clean.ask("GET", "/kernelspecs", token=token, of="/user/games").body["default"] == "ir"


def test_a_profile_with_an_image_is_refused_in_place_of_a_start_without_it(clean: Hub) -> None:
    with clean.offering("[image]\nimage = 'docker://a'\npartition = 'gq'\ntime = '10'\n"):
        told = clean.spawn("games", "image")
    assert (told.status, "a container image, and this hub starts none" in told.message) == (409, True), told
    assert clean.cluster.ask("squeue", "-h", "-u", "games", "-t", "PD,R") == ""


def test_a_profile_with_an_image_starts_in_it(clean: Hub) -> None:
    """With Charliecloud, which needs no daemon and no rights: the image has a file that the host has not."""
    image = clean.folder / "image"
    for name in ("usr", "etc", "tmp", "proc", "sys", "dev", "home", "var", "mnt"):
        (image / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (image / name).symlink_to(f"usr/{name}")
    for name in ("passwd", "group", "hosts", "resolv.conf"):
        (image / "etc" / name).touch()
    (image / "etc/of-the-image").write_text("here")
    words = ["ch-run", "-b", "/usr:/usr", "{image}", "--"]
    with clean.with_settings(container=words):
        with clean.offering(f"[image]\nimage = '{image}'\npartition = 'gq'\nmem = '1G'\ntime = '10'\n"):
            assert clean.spawn("games", "image").status in (201, 202)
        clean.until("the server to be ready", lambda: clean.ready("games"))
        server, _ = server_process(clean.job("games"), clean.cluster)
        assert Path(f"/proc/{server}/root/etc/of-the-image").read_text() == "here"
        clean.end("games")


def test_a_job_that_waits_is_told_its_place(clean: Hub) -> None:
    """Somebody submitted past the hub after it was let in: a job that runs, and one of a higher priority that waits."""
    clean.held.touch()
    with clean.with_settings(patience=100.0), ThreadPoolExecutor(1) as pool:
        clean.spawn("news", "one")
        clean.held.unlink()
        job, progress = clean.job("news"), pool.submit(clean.progress, "news")
        with taken(clean, 8):
            waits = [clean.cluster.submit("sleep 1", "-p", "gq", "--gpus=1", "-t", "1", user="backup") for _ in "ab"]
            clean.cluster.ask("scontrol", "update", f"JobId={waits[0]}", "Nice=-1000")
            clean.cluster.ask("scontrol", "update", f"JobId={waits[1]}", "Nice=1000")
            clean.cluster.ask("scontrol", "release", str(job))
            time.sleep(15)  # a snapshot stands for ten seconds
        clean.until("the server to be ready", lambda: clean.ready("news"))
        said = progress.result(60)
    assert any("It is number 2 of 3 waiting in gq." in one for one in said), said
    assert not any(" that wait" in one for one in said if "JobHeldUser" in one), "held, it has no place"


def test_a_server_that_is_ended_is_noticed_and_said_in_the_form(clean: Hub, browser: Browser) -> None:
    clean.spawn("games", "one")
    clean.until("the server to be ready", lambda: clean.ready("games"))
    job = clean.job("games")
    with (clean.homes / f"games/.jupyterhub-{job}.log").open("a") as log:
        log.write("MemoryError: <b>too much</b>\n")
    clean.cluster.ask("scancel", str(job))
    noticed = clean.until("the hub to notice", lambda: not clean.server("games"))
    assert noticed < 20, "it asks every two seconds"
    login(browser, clean, "games")
    text = browser.driver.execute_script("return document.body.innerText")
    assert "Your last server is gone: its job was cancelled." in text
    assert "MemoryError: <b>too much</b>" in text, "as text"


def test_no_answer_of_slurmctld_is_no_end_of_a_server(clean: Hub, browser: Browser) -> None:
    clean.spawn("games", "one")
    clean.until("the server to be ready", lambda: clean.ready("games"))
    clean.cluster.stop_ctld()
    try:
        told = clean.spawn("news", "one")
        assert told.status == 503, told
        assert "Slurm is not responding" in told.message
        login(browser, clean, "news")
        shown = "return !document.getElementById('adminkit-problem').hidden"
        clean.until("the form to say so", lambda: browser.driver.execute_script(shown), 30)
        assert clean.ready("games"), "it runs"
    finally:
        clean.cluster.start_ctld()
    clean.until("the form to know again", lambda: browser.driver.execute_script(OFFERS)["one"][1] == "now", 90)


# --- the form


@pytest.mark.parametrize(
    ("gpus_taken", "free"),
    [(0, {"one", "two", "eight"}), (6, {"one", "two"}), (7, {"one"}), (8, set())],
)
def test_the_form_offers_what_can_start(clean: Hub, browser: Browser, gpus_taken: int, free: set[str]) -> None:
    def offered() -> bool:
        offers = browser.driver.execute_script(OFFERS)
        assert set(offers) == {"one", "two", "eight", "nine"}
        is_never = offers["nine"][1].startswith("never")  # else not known yet, on a busy machine
        return is_never and {key for key, (may, _) in offers.items() if may} == free

    login(browser, clean, "games")
    if gpus_taken:
        with taken(clean, gpus_taken):
            clean.until("the form to be refreshed", offered, 30)  # by itself
    else:
        clean.until("the form to be refreshed", offered, 30)


def test_somebody_was_faster_and_the_nearest_is_a_button(clean: Hub, browser: Browser) -> None:
    login(browser, clean, "games")
    driver = browser.driver
    clean.until("room for eight", lambda: driver.execute_script(OFFERS)["eight"][0], 30)
    driver.execute_script("document.querySelector('input[value=eight]').click()")
    with taken(clean, 7):
        driver.execute_script("document.querySelector('#spawn_form button[type=submit]:not([name])').click()")
        text = "return document.body.innerText"
        clean.until("the refusal", lambda: "It cannot start" in driver.execute_script(text), 30)
        click = "const found = document.querySelector('#adminkit button[name=profile]'); found?.click(); return !!found"
        clean.until("the button", lambda: driver.execute_script(click))  # below it in the page
        clean.until("the smaller server", lambda: clean.ready("games"))
        shown = clean.cluster.ask("scontrol", "show", "job", "-o", str(clean.job("games")))
        assert "gres/gpu=1" in shown


def test_a_drained_node_is_said(clean: Hub, browser: Browser) -> None:
    node = clean.cluster.ask("sinfo", "-h", "-o", "%n").split()[0]
    clean.cluster.ask("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")
    try:
        login(browser, clean, "games")
        clean.until("the form to know", lambda: "drained" in browser.driver.execute_script(OFFERS)["one"][1], 30)
    finally:
        clean.cluster.ask("scontrol", "update", f"NodeName={node}", "State=RESUME")


def test_reasons_are_japanese_on_the_japanese_page(clean: Hub, browser: Browser) -> None:
    login(browser, clean, "games", language="ja")
    with taken(clean, 8):

        def shown() -> dict[str, list[Any]]:
            found: dict[str, list[Any]] = browser.driver.execute_script(OFFERS)
            return found

        clean.until("the reason", lambda: "十分な大きさの 1 ノード: 使用中 1" in shown()["one"][1], 30)
        assert "それだけの大きさのノードはありません" in shown()["nine"][1]


@pytest.mark.parametrize(("width", "language", "legend"), [(360, "en", "What do you want"), (1440, "ja", "何を開始")])
def test_the_form_suits_phones_keyboards_and_both_languages(
    clean: Hub, browser: Browser, width: int, language: str, legend: str
) -> None:
    login(browser, clean, "games", width=width, language=language)
    from selenium.webdriver.common.keys import Keys

    driver = browser.driver
    assert legend in driver.execute_script("return document.querySelector('#adminkit legend').innerText")
    assert driver.execute_script("return document.getElementById('adminkit').scrollWidth") <= width
    clean.until("all to be free", lambda: driver.execute_script(OFFERS)["eight"][0], 30)
    driver.find_element("css selector", "input[value=one]").send_keys(Keys.ARROW_DOWN)
    assert driver.execute_script("return document.querySelector('input[name=profile]:checked').value") in (
        "two",
        "eight",
    )
    ours = [one for one in browser.accessibility() if "btn-jupyter" not in one]  # the hub's own button
    assert ours == []
    assert not driver.execute_script(
        "return [...document.querySelectorAll('#adminkit script')].filter(s => s.text).length"
    )


# --- what users could try


def test_a_server_tells_its_port_and_nothing_else(clean: Hub) -> None:
    """Stock batchspawner sets whatever attribute is named, exec_prefix too, which the hub runs as root in a shell."""
    clean.spawn("games", "one")
    clean.until("the server to be ready", lambda: clean.ready("games"))
    token = server_environment(clean.job("games"), clean.cluster)["JUPYTERHUB_API_TOKEN"]
    before = clean.server("games")
    for body, status in [
        ({"exec_prefix": "touch /tmp/adminkit-owned;"}, 400),
        ({"port": 8888, "as_user": ["sh", "-c"]}, 400),
        ({"port": "8888"}, 400),
        ({"port": 22}, 400),
        ({"port": True}, 400),
        ([], 400),
        ({"port": 8888}, 409),
    ]:
        assert clean.ask("POST", "/batchspawner", body, token).status == status, body
    assert clean.ask("POST", "/batchspawner", {"port": 8888}).status == 403, "no server has the service's token"
    assert clean.ask("POST", "/batchspawner", {"port": 8888}, "0" * 32).status in (401, 403)
    assert clean.server("games")["url"] == before["url"]
    assert clean.ready("games")


def test_a_server_gets_none_of_the_hub_s_secrets(clean: Hub) -> None:
    clean.spawn("games", "one")
    clean.until("the server to be ready", lambda: clean.ready("games"))
    found = server_environment(clean.job("games"), clean.cluster)
    assert found["ADMINKIT_TEST"] == "1", "what the operator gives it"
    assert "ADMINKIT_SECRET" not in found
    assert not [name for name in found if name.startswith("CONFIGPROXY")]


def test_offers_are_for_who_is_logged_in(clean: Hub) -> None:
    """Others are sent to the page of the login."""
    with clean.open("/hub/adminkit/offers") as answer:
        assert answer.url.startswith(f"http://127.0.0.1:{clean.port}/hub/login")
    with clean.open("/hub/adminkit/form.js") as answer:
        assert answer.headers["Content-Type"].startswith("text/javascript")
