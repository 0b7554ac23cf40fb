// Says in JupyterLab 4 and Notebook 7 that an idle server is about to be ended, and saves first. It is a container of
// module federation, as their bootstrap loads it, and uses no module of theirs. What came is never taken for HTML.
"use strict";
(function () {
  const SAVE_ALL = "docmanager:save-all";

  function start(app) {
    const settings = app.serviceManager.serverSettings;
    const url = settings.baseUrl + "adminkit/idle";
    const page = Array.from({ length: 4 }, () => Math.random().toString(36).slice(2, 8)).join("");
    let box = null;
    let last = null; // the answer that the box shows
    let endsAt = null; // milliseconds
    let saving = false;

    async function ask(what) {
      const cookie = document.cookie.match(/(?:^|; )_xsrf=([^;]*)/);
      const headers = { "Content-Type": "application/json" };
      if (cookie) headers["X-XSRFToken"] = cookie[1];
      if (settings.token) headers.Authorization = "token " + settings.token;
      const given = what ? { method: "POST", body: JSON.stringify({ page, what }) } : {};
      const asked = url + "?no_track_activity=1&page=" + page;
      const answer = await fetch(asked, { ...given, headers, cache: "no-store", credentials: "same-origin" });
      return answer.ok && !answer.redirected ? answer.json() : { phase: answer.status === 404 ? "off" : "gone" };
    }

    async function save(then) {
      if (saving) return;
      saving = true;
      try {
        await app.commands.execute(SAVE_ALL);
        if (then) await ask(then);
      } catch (error) {
        console.warn("adminkit: couldn't save", error); // the page's own dialog says why
      } finally {
        saving = false;
      }
    }

    function close() {
      if (box) box.remove();
      box = last = endsAt = null;
    }

    function put(text, button) {
      if (!box) {
        box = document.createElement("div");
        box.id = "adminkit-idle";
        box.setAttribute("role", "alert");
        Object.assign(box.style, {
          position: "fixed", top: "0", left: "0", right: "0", zIndex: "20000", padding: "0.75rem 1rem",
          background: "#5c3a00", color: "#ffffff", font: "1rem sans-serif", overflowWrap: "anywhere",
        });
        document.body.append(box);
      }
      box.replaceChildren(Object.assign(document.createElement("span"), { textContent: text }));
      if (!button) return;
      const keep = Object.assign(document.createElement("button"), { type: "button", textContent: button });
      Object.assign(keep.style, { marginLeft: "1rem", padding: "0.25rem 0.75rem", font: "inherit", cursor: "pointer" });
      keep.addEventListener("click", () => ask("keep").then(show, () => {}));
      box.append(keep);
    }

    function show(answer) {
      const before = last && last.phase;
      if (answer.phase === "gone") {
        if (last && (before === "save" || Date.now() >= endsAt)) put(last.ended, null);
      } else if (answer.phase === "warn" || answer.phase === "save") {
        if (answer.phase === before) return answer.phase === "save" ? void save("saved") : undefined;
        last = answer;
        endsAt = Date.now() + answer.left * 1000;
        put(answer.text.replace("{at}", new Date(endsAt).toLocaleTimeString(answer.language)), answer.keep);
        save(answer.phase === "save" ? "saved" : null);
      } else if (answer.phase !== "end") { // a server that ends may answer while it does: the page has yet to say so
        close();
      }
    }

    async function go() {
      let again = 10;
      try {
        const answer = await ask(null);
        if (answer.phase === "off") return;
        again = answer.again || again;
        show(answer);
      } catch (error) {
        show({ phase: "gone" });
      }
      setTimeout(go, again * 1000);
    }

    go();
  }

  const plugin = { id: "adminkit-idle:plugin", autoStart: true, activate: start };
  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB["adminkit-idle"] = {
    init: () => undefined,
    get: async () => () => ({ __esModule: true, default: plugin }),
  };
})();
