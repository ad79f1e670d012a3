// What is live: a run by server-sent events, and the preview of a study and advice while its form is filled in.
"use strict";

const shown = (element, text) => { if (element && element.textContent !== text) element.textContent = text; };
const by = (name, value) => document.querySelector(`[${name}="${CSS.escape(value)}"]`);

function drawCurve(figure, name, points) {
  if (!name || points.length < 2) return;
  const log = points.every((p) => p > 0) && Math.max(...points) / Math.min(...points) > 100;
  const values = log ? points.map(Math.log10) : points;
  const low = Math.min(...values), span = Math.max(...values) - low || 1;
  const at = values.map((v, i) => `${(10 + 620 * i / (values.length - 1)).toFixed(1)} ${(190 - 180 * (v - low) / span).toFixed(1)}`);
  figure.querySelector("path").setAttribute("d", `M${at.join("L")}`);
  const last = points[points.length - 1].toPrecision(3);
  shown(figure.querySelector("figcaption"), `${name}${log ? " (log scale)" : ""}: ${last} now`);
  figure.querySelector("svg").setAttribute("aria-label", `Curve of the ${name}, ${last} now`);
  figure.hidden = false;
}

function follow(live) {
  const curve = document.getElementById("curve"), points = [];
  const badge = document.getElementById("state");
  let flows = {};
  const source = new EventSource(live.dataset.events);
  source.onmessage = (event) => {
    const now = JSON.parse(event.data);
    if (now.state === "logged out") { source.close(); location.assign("/login"); return; }
    if (now.state && now.state !== badge.dataset.state) { source.close(); location.reload(); return; }
    shown(document.getElementById("says"), now.says || "");
    shown(document.getElementById("step"), now.step || "");
    if (now.rounds) shown(document.getElementById("rounds"), `${now.rounds} ${now.rounds === 1 ? "round" : "rounds"}, ${now.moved} seen here`);
    for (const [name, site] of Object.entries(now.sites || {})) {
      const row = by("data-row", name), place = by("data-site", name);
      const word = site.here ? "there" : `away: silent for ${site.silent} s`;
      const said = (now.answers || {})[name];
      if (place) { place.classList.toggle("away", !site.here); shown(place.querySelector("[data-note]"), said && badge.dataset.state === "waiting" ? said : site.here ? "" : word); }
      if (row) {
        shown(row.querySelector("[data-there]"), badge.dataset.state === "waiting" && said ? said : word);
        shown(row.querySelector("[data-place]"), site.place || "–");
        if (now.sent) shown(row.querySelector("[data-sent]"), now.sent[name] || "–");
      }
    }
    for (const line of document.querySelectorAll("[data-flow]")) {
      const name = line.dataset.flow;
      line.classList.toggle("moves", Boolean(now.flows) && now.flows[name] !== flows[name]);
    }
    flows = now.flows || {};
    document.querySelectorAll("[data-told]").forEach((cell, i) => { if (now.told) shown(cell, now.told[i] ? String(now.told[i]) : "not yet"); });
    if (now.curve) drawCurve(curve, now.curve.name, now.curve.points);
    if (now.point) { points.push(now.point.value); drawCurve(curve, now.point.name, points); }
  };
}

function preview(form) {
  const target = document.getElementById("preview");
  // not form.dataset: a field of the form is called so
  const at = form.getAttribute("data-preview");
  let timer = 0, number = 0;
  const ask = async () => {
    const mine = ++number;
    target.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(at, { method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "error" });
      const text = await answer.text();
      if (mine === number && answer.headers.get("x-fragment")) target.innerHTML = text;
    } catch { /* the page is away for a moment: the next change asks again */ }
    if (mine === number) target.removeAttribute("aria-busy");
  };
  form.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 600); });
  ask();
}

function advise(form, button) {
  const target = document.getElementById("advice");
  button.addEventListener("click", async () => {
    button.disabled = true;
    target.textContent = "Asking every method…";
    try {
      const answer = await fetch(button.dataset.advice, { method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "error" });
      if (answer.headers.get("x-fragment")) target.innerHTML = await answer.text();
    } catch { target.textContent = "The page is away for a moment: try again."; }
    button.disabled = false;
  });
  target.addEventListener("click", (event) => {
    const chosen = event.target.closest("[data-use]");
    if (!chosen) return;
    form.elements.estimator.value = chosen.dataset.use;
    form.elements.params.value = chosen.dataset.params;
    form.dispatchEvent(new Event("input"));
    form.elements.params.focus();
  });
}

const live = document.getElementById("live");
if (live && !["finished", "refused", "expired", "withdrawn", "left"].includes(document.getElementById("state").dataset.state)) follow(live);
const form = document.querySelector("form[data-preview]");
if (form) { preview(form); advise(form, form.querySelector("[data-advice]")); }
