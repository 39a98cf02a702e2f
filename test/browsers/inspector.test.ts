/** The inspector in Chromium: each view, by mouse and keyboard, on large, odd and hostile tables. */

import { mkdir } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import type { DirectoryNamespace } from "tiltyard";
import type { InspectorOptions } from "tiltyard/inspector";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeTempDir } from "../support/tempDir.js";
import { accessibilityFaults } from "./support/accessibility.js";
import { built, openBuiltNamespace } from "./support/builtPackage.js";
import { openPage, startChromium } from "./support/chromium.js";
import { copyGoldenTables, makeHostileTables, makeLargeTable } from "./support/inspectedTables.js";
import { VIEW_STEPS } from "./support/viewSteps.js";

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
const ROWS = Number(process.env.INSPECTOR_ROWS ?? "200000");
/** Directory of the pictures in the documentation; null unless they are asked for. */
const PICTURES = process.env.SCREENSHOTS === undefined ? null : join(CHECKOUT, "docs", "images", "inspector");

let browser: Browser;
let ns: DirectoryNamespace;
const servers: Server[] = [];

async function serve(namespace: DirectoryNamespace, options: InspectorOptions = {}): Promise<string> {
  const { inspectorHandler } = await built<typeof import("tiltyard/inspector")>("inspector");
  const { toNodeListener } = await built<typeof import("tiltyard/rest")>("rest");
  return listen(createServer(toNodeListener(inspectorHandler(namespace, options))));
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  servers.push(server);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

let origin: string;
beforeAll(async () => {
  browser = await startChromium(["--host-resolver-rules=MAP rebound.example 127.0.0.1"]);
  ns = await openBuiltNamespace(await makeTempDir());
  await makeLargeTable(ns, ROWS);
  await makeHostileTables(ns);
  origin = await serve(ns);
  if (PICTURES !== null) await mkdir(PICTURES, { recursive: true });
});
afterAll(async () => {
  await browser?.close();
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await ns?.close();
});

/** Pictures besides those of wide, light pages. */
const FURTHER_PICTURES = ["rows-dark", "storage-narrow"];

async function takePicture(page: Page, name: string): Promise<void> {
  if (PICTURES === null || (name.includes("-") && !FURTHER_PICTURES.includes(name))) return;
  await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}

/** Steps that bring a view into the state that its picture shows. */
const VIEWS: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  ...VIEW_STEPS,
  map: async (page) => {
    await page.waitForSelector("canvas");
    await page.getByLabel("Colour", { exact: true }).selectOption("cluster");
    await page.waitForSelector(".legend li");
    await page.getByLabel("UMAP").check();
    await page.waitForFunction(() => !document.querySelector("output")?.textContent?.includes("%"));
    await page.locator("canvas").focus();
    await page.keyboard.press("ArrowRight");
    await page.waitForSelector(".tip div");
  },
  indexes: async (page) => {
    await page.getByRole("button", { name: "Measure recall against time" }).click();
    await page.waitForSelector(".chart canvas");
    await page.getByRole("button", { name: "Measure recall against time", disabled: false }).waitFor();
  },
  jobs: (page) => page.waitForSelector(".jobs li"),
};

const LOOKS = [
  { name: "", options: {} },
  { name: "-dark", options: { colorScheme: "dark" as const } },
  { name: "-narrow", options: { viewport: { width: 390, height: 800 } } },
];

describe.each(Object.entries(VIEWS))("the view %s", (view, act) => {
  it.each(LOOKS)("works and breaks no rule of accessibility ($name)", async ({ name, options }) => {
    const { page, complaints } = await openPage(browser, options);
    await page.goto(`${origin}/#/${view}/events`);
    await act(page);
    expect(await accessibilityFaults(page)).toEqual([]);
    const width = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(width).toBeLessThanOrEqual(0);
    await takePicture(page, `${view}${name}`);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});

describe("the grid", () => {
  it("shows the last row of a large table after a jump, and moves by single rows", async () => {
    const { page, complaints } = await openPage(browser);
    const started = Date.now();
    await page.goto(`${origin}/#/rows/events`);
    await page.waitForSelector(".cell:not(:has(.pending))");
    const firstRows = Date.now() - started;
    const paint = await page.evaluate(
      () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
    );
    const rowCount = await ns.countTableRows({ id: ["events"] });
    await page.getByRole("grid").focus();
    const jumped = Date.now();
    await page.keyboard.press("Control+End");
    const last = page.locator(`#cell-${rowCount - 1}-29`);
    await last.waitFor();
    await page.waitForFunction(
      (id) => document.getElementById(id)?.textContent !== "",
      `cell-${rowCount - 1}-29`,
    );
    const jump = Date.now() - jumped;
    await page.keyboard.press("ArrowUp");
    expect(await page.getByRole("grid").getAttribute("aria-activedescendant")).toBe(
      `cell-${rowCount - 2}-29`,
    );
    await page.getByPlaceholder("row number").fill(String(Math.floor(rowCount / 2)));
    await page.keyboard.press("Enter");
    const middle = page.locator(`#cell-${Math.floor(rowCount / 2)}-29`);
    await middle.waitFor();
    await page.mouse.move(700, 500);
    const before = await page.locator(".row-number").first().textContent();
    await page.mouse.wheel(0, 60);
    await page.waitForFunction((text) => document.querySelector(".row-number")?.textContent !== text, before);
    const after = await page.locator(".row-number").first().textContent();
    const numberOf = (text: string | null) => Number(text?.replaceAll(",", ""));
    expect(numberOf(after) - numberOf(before)).toBe(2);
    const scroll = await scrollTimes(page);
    console.log(
      JSON.stringify({
        rows: rowCount,
        firstPaintMs: paint,
        firstRowsMs: firstRows,
        jumpMs: jump,
        ...scroll,
      }),
    );
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("filters with completion, sorts, and shows the place of an error", async () => {
    const { page } = await openPage(browser);
    await page.goto(`${origin}/#/rows/events`);
    const filter = page.getByRole("combobox");
    await filter.pressSequentially("cit");
    await page.getByRole("option", { name: /^city/ }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await filter.pressSequentially(" = 'sil");
    await page.getByRole("option", { name: /silver/ }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    const expected = await ns.countTableRows({ id: ["events"], filter: "city = 'silver'" });
    await page.getByText(`${expected.toLocaleString("en")} rows of`).waitFor();
    await page.getByRole("button", { name: "Show the plan" }).click();
    await page.getByText("No index serves this query").waitFor();
    await page.locator(".grid-plan .metrics").first().waitFor();
    await page.getByRole("button", { name: "Hide the plan" }).click();
    await page.getByRole("button", { name: "id", exact: false }).first().click();
    await page.getByText("sorted by").waitFor();
    await filter.fill("city ==== 3");
    await page.keyboard.press("Enter");
    await page.locator(".failure pre", { hasText: "^" }).waitFor();
    await page.context().close();
  });

  it("opens and closes a row by keyboard, and returns the focus", async () => {
    const { page, complaints } = await openPage(browser);
    await page.goto(`${origin}/#/rows/hostile`);
    await page.waitForSelector(".cell:not(:has(.pending))");
    await page.getByRole("grid").focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.getByText("only its beginning is shown").waitFor();
    await page.keyboard.press("Escape");
    await page.waitForSelector(".drawer", { state: "detached" });
    expect(await page.evaluate(() => document.activeElement?.getAttribute("role"))).toBe("grid");
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});

/** Scrolls through some hundred rows, and returns how long frames took. */
const scrollTimes = (
  page: Page,
): Promise<{ readonly medianFrameMs: number; readonly slowestFrameMs: number }> =>
  page.evaluate(async () => {
    const grid = document.querySelector(".grid") as HTMLElement;
    const frames: number[] = [];
    let last = performance.now();
    for (let step = 0; step < 90; step++) {
      grid.dispatchEvent(new WheelEvent("wheel", { deltaY: 90, cancelable: true, bubbles: true }));
      grid.scrollTop += 1;
      await new Promise(requestAnimationFrame);
      const now = performance.now();
      frames.push(now - last);
      last = now;
    }
    frames.sort((left, right) => left - right);
    return { medianFrameMs: frames[45], slowestFrameMs: frames[frames.length - 1] };
  });

describe("hostile tables", () => {
  it("show as text, whatever they hold", async () => {
    const { page, complaints } = await openPage(browser);
    await page.goto(`${origin}/#/rows/hostile`);
    await page.waitForSelector(".cell:not(:has(.pending))");
    for (const view of ["schema", "storage", "versions", "rows"]) {
      await page.goto(`${origin}/#/${view}/hostile`);
      await page.waitForSelector(".view *");
    }
    await page.waitForSelector(".cell:not(:has(.pending))");
    await page.locator("#cell-0-0").dblclick();
    await page.getByText("<script>window.attacked").first().waitFor();
    expect(await page.locator("#cell-0-2").textContent()).toContain("\\u202eevil\\u202c");
    for (const name of await page.getByRole("treeitem").allTextContents()) expect(name).not.toBe("");
    await page.getByRole("treeitem", { name: /<img src=x/ }).click();
    await page.getByRole("heading", { name: /<img src=x/ }).waitFor();
    expect(await page.evaluate(() => (globalThis as { attacked?: unknown }).attacked)).toBeUndefined();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it.each([
    ["empty", "This version has no rows"],
    ["declared", "This table has no rows yet"],
    ["none", "table none does not exist"],
  ])("the table %s explains itself", async (name, text) => {
    const { page } = await openPage(browser);
    await page.goto(`${origin}/#/rows/${name}`);
    await page.getByText(text).first().waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.context().close();
  });
});

describe("tables of the reference", () => {
  it("show in every view without a complaint", async () => {
    const root = await makeTempDir();
    const names = await copyGoldenTables(root);
    const golden = await openBuiltNamespace(root);
    const address = await serve(golden);
    const { page, complaints } = await openPage(browser);
    const failures: string[] = [];
    for (const name of names) {
      for (const view of ["rows", "schema", "map", "versions", "storage", "indexes", "search"]) {
        await page.goto(`${address}/#/${view}/${name}`);
        await page.waitForSelector(".view > *");
        await page.waitForSelector(".busy, .pending", { state: "detached" });
        const failure = await page.locator(".failure").allTextContents();
        if (failure.length > 0) failures.push(`${name} ${view}: ${failure.join()}`);
      }
    }
    expect(failures).toEqual([]);
    expect(complaints).toEqual([]);
    await page.context().close();
    await golden.close();
  });
});

describe("others", () => {
  const token = "a token for the browser test";

  it("get no session without the token, or with a used one", async () => {
    const address = await serve(ns, { token });
    const { page } = await openPage(browser);
    await page.goto(`${address}/?token=${encodeURIComponent(token)}`);
    await page.waitForSelector(".entry");
    expect(page.url()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]{48}\//);
    await page.reload();
    await page.waitForSelector(".entry");
    const { page: stranger } = await openPage(browser);
    const used = await stranger.goto(`${address}/?token=${encodeURIComponent(token)}`);
    expect(used?.status()).toBe(401);
    // The address of the session in a list of processes or a history is of no use without its cookie.
    expect((await stranger.goto(page.url()))?.status()).toBe(401);
    const cookies = await page.context().cookies(address.replace(/:\d+$/, ":9"));
    expect(cookies).toEqual([]);
    await page.context().close();
    await stranger.context().close();
  });

  it("do not reach the page by a name that resolves to this machine", async () => {
    const { page } = await openPage(browser);
    const answer = await page.goto(`${origin.replace("127.0.0.1", "rebound.example")}/`);
    expect(answer?.status()).toBe(421);
    await page.context().close();
  });

  it("can't call, frame or show the page from another origin", async () => {
    const writable = await serve(ns, { write: true });
    const attack = createServer((_, response) => {
      response.setHeader("content-type", "text/html");
      response.end(`<iframe src="${writable}/"></iframe><img id="i" src="${writable}/api/image?of={}">`);
    });
    const { page } = await openPage(browser);
    await page.goto(await listen(attack));
    const outcomes = await page.evaluate(async (target) => {
      const body = JSON.stringify({ id: ["events"], version: 1, tag: "stolen" });
      const tries = [
        { method: "POST", headers: { "content-type": "application/json" }, body },
        { method: "POST", headers: { "content-type": "text/plain" }, body },
        { method: "POST", body, mode: "no-cors" as const },
        { method: "GET" },
      ];
      const results = await Promise.allSettled(tries.map((init) => fetch(`${target}/api/createTag`, init)));
      return results.map((result) => (result.status === "rejected" ? "rejected" : result.value.type));
    }, writable);
    expect(outcomes).toEqual(["rejected", "rejected", "rejected", "rejected"]);
    const framed = page.frames().find((frame) => frame !== page.mainFrame());
    expect(await framed?.locator(".app").count()).toBe(0);
    expect((await ns.listTableTags({ id: ["events"] })).tags).not.toHaveProperty("stolen");
    await page.context().close();
  });

  it("may change tables with write, after a question", async () => {
    const writable = await serve(ns, { write: true });
    const { page, complaints } = await openPage(browser);
    await page.goto(`${writable}/#/versions/hostile`);
    await page.getByRole("button", { name: "Tag", exact: true }).first().click();
    await page.getByLabel("Name of the tag").fill("seen");
    await page.keyboard.press("Enter");
    await page.locator(".chip.tag", { hasText: "seen" }).waitFor();
    await page.goto(`${writable}/#/versions/empty`);
    await page.getByRole("button", { name: "Restore" }).click();
    await page.getByRole("group", { name: "Restore" }).getByRole("button", { name: "Restore" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".version").length === 3);
    expect(await ns.countTableRows({ id: ["empty"] })).toBe(1);
    expect(complaints).toEqual([]);
    await page.context().close();
  });
});
