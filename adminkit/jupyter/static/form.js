// Asks the hub every ten seconds what can start, and says so in the form. Nothing that came is taken for HTML.
"use strict";
(function () {
  const form = document.getElementById("adminkit");
  const problem = document.getElementById("adminkit-problem");

  function show(answer) {
    problem.hidden = !answer.problem;
    const offers = new Map(answer.offers.map((one) => [one.key, one]));
    for (const row of form.querySelectorAll(".adminkit-offer")) {
      const one = offers.get(row.dataset.key);
      const input = row.querySelector("input[name=profile]");
      row.hidden = !one;
      input.disabled = !(one && one.free);
      if (input.disabled) input.checked = false;
      const text = row.querySelector(".adminkit-when");
      if (one && text.textContent !== one.when) text.textContent = one.when;
      const limit = row.querySelector(".adminkit-time input");
      if (limit && one && one.limit && limit.value === limit.defaultValue) {
        limit.value = limit.defaultValue = one.limit;
        row.querySelector(".adminkit-learnt").textContent = one.learnt;
      }
    }
  }

  async function ask() {
    try {
      const answer = await fetch(form.dataset.offers, { headers: { "X-XSRFToken": form.dataset.token } });
      if (answer.ok) show(await answer.json());
    } catch (error) {
      problem.hidden = false;
    }
  }

  setTimeout(ask, 1000);
  setInterval(ask, 10000);
})();
