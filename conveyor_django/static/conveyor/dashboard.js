// Renews the dashboard while it is in sight; what it shows is made by the server.
"use strict";
{
    const PAUSED = "conveyor.dashboard.paused";
    // Seconds. After failures it looks less often; a look that takes long is not made a burden.
    const PATIENCE = 20;
    const SELDOM = 60;

    const live = document.getElementById("conveyor-live");
    const button = document.getElementById("conveyor-pause");
    const refreshed = document.getElementById("conveyor-refreshed");
    const failed = document.getElementById("conveyor-failed");
    const every = Number(live.dataset.every);

    let paused = remembered();
    let timer = null;
    let busy = false;
    let failures = 0;
    let last = new Date();

    function remembered() {
        try {
            return localStorage.getItem(PAUSED) === "yes";
        } catch {
            // Storage is forbidden: it is not remembered then.
            return false;
        }
    }

    function remember() {
        try {
            localStorage.setItem(PAUSED, paused ? "yes" : "no");
        } catch {
            // As above.
        }
    }

    function show() {
        button.textContent = paused ? "Go on" : "Pause";
        refreshed.textContent = `${paused ? "Paused; " : ""}last refreshed at ${last.toLocaleTimeString()}`;
    }

    // -- what a reader has done to the page stays ------------------------------------------------------------

    function isBeingRead() {
        const selection = document.getSelection();
        return selection !== null && !selection.isCollapsed && live.contains(selection.anchorNode);
    }

    function replace(html) {
        const open = [...live.querySelectorAll("details[open][id]")].map((details) => details.id);
        const focused = placeOf(document.activeElement);
        live.innerHTML = html;
        for (const id of open) {
            document.getElementById(id)?.setAttribute("open", "");
        }
        focused?.()?.focus({ preventScroll: true });
    }

    function placeOf(element) {
        if (element === null || !live.contains(element)) {
            return null;
        }
        const href = element.getAttribute("href");
        if (href !== null) {
            return () => [...live.querySelectorAll("a[href]")].find((link) => link.getAttribute("href") === href);
        }
        const details = element.closest("details[id]");
        const label = element.getAttribute("aria-labelledby");
        if (details !== null) {
            return () => document.getElementById(details.id)?.querySelector("summary");
        }
        return () => (label === null ? null : live.querySelector(`[role="region"][aria-labelledby="${CSS.escape(label)}"]`));
    }

    // -- the loop --------------------------------------------------------------------------------------------

    function later(seconds) {
        clearTimeout(timer);
        timer = null;
        if (!paused && !document.hidden && !busy) {
            timer = setTimeout(refresh, seconds * 1000);
        }
    }

    async function refresh() {
        if (isBeingRead()) {
            later(every);
            return;
        }
        const began = performance.now();
        busy = true;
        try {
            const response = await fetch(live.dataset.url, {
                credentials: "same-origin",
                signal: AbortSignal.timeout(PATIENCE * 1000),
            });
            if (response.redirected) {
                throw new Error("you are logged out; reload the page");
            }
            const html = await response.text();
            if (!response.ok) {
                throw new Error(`the server answered ${response.status}`);
            }
            if (!paused) {
                replace(html);
                last = new Date();
            }
            failures = 0;
            failed.textContent = "";
        } catch (error) {
            failures += 1;
            failed.textContent = `The refresh at ${new Date().toLocaleTimeString()} failed: ${error.message}`;
        }
        busy = false;
        show();
        const took = (performance.now() - began) / 1000;
        later(Math.min(SELDOM, Math.max(every * 2 ** failures, took * 10)));
    }

    button.addEventListener("click", () => {
        paused = !paused;
        remember();
        show();
        later(0);
    });
    document.addEventListener("visibilitychange", () => later(0));
    button.hidden = false;
    show();
    later(every);
}
