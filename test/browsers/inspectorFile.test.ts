/** The inspector without a server, in Chromium: published tables, and folders of this computer. */

import { copyFile, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import type { DirectoryNamespace } from "tiltyard";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type FileHost, startFileHost } from "../support/fileHost.js";
import { makeTempDir } from "../support/tempDir.js";
import { accessibilityFaults } from "./support/accessibility.js";
import { built, INSPECTOR_FILE, openBuiltNamespace } from "./support/builtPackage.js";
import { openPage, startChromium } from "./support/chromium.js";
import { makeHostileTables, makeLargeTable } from "./support/inspectedTables.js";
import { rowsArrive, VIEW_STEPS } from "./support/viewSteps.js";

const ROWS = 20_000;
/** Lets pages of any origin read. */
const SHARED = {
  "access-control-allow-origin": "*",
  "access-control-allow-headers": "*",
  "access-control-expose-headers": "content-range, etag",
};
const FILE_URL = pathToFileURL(INSPECTOR_FILE).href;

let browser: Browser;
let ns: DirectoryNamespace;
let root: string;
/** Host of the tables, with the page beside them. */
let tables: FileHost;
/** Host of nothing but the page. */
let tools: FileHost;

beforeAll(async () => {
  browser = await startChromium();
  root = await makeTempDir();
  ns = await openBuiltNamespace(root);
  await makeLargeTable(ns, ROWS);
  await makeHostileTables(ns);
  await ns.createTable({ id: ["phrases"] }, [{ text: "elle continuait" }, { text: "du pain" }]);
  const french = { indexType: "FTS", language: "French" } as const;
  await ns.waitForJob(await ns.table("phrases").createIndex("text", french));
  const { publishIndex } = await built<typeof import("tiltyard/disks")>("disks");
  await publishIndex(ns, { page: await readFile(INSPECTOR_FILE, "utf8") });
  tables = await startFileHost(root);
  tables.headers = SHARED;
  const toolDirectory = await makeTempDir();
  await copyFile(INSPECTOR_FILE, join(toolDirectory, "inspector.html"));
  tools = await startFileHost(toolDirectory);
});
afterAll(async () => {
  await browser?.close();
  await tables?.[Symbol.asyncDispose]();
  await tools?.[Symbol.asyncDispose]();
  await ns?.close();
});

/** Address of the page on a host of tools, for tables of another host. */
const pageFor = (address: string): string => `${tools.url}inspector.html?root=${encodeURIComponent(address)}`;

/** Origins that a page asks for anything. */
function watchOrigins(page: Page): Set<string> {
  const origins = new Set<string>();
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (protocol.startsWith("http")) origins.add(origin);
  });
  return origins;
}

/** Steps through the views of the table `events`, each until it shows something of the table. */
const VIEWS: Readonly<Record<string, (page: Page) => Promise<unknown>>> = {
  ...VIEW_STEPS,
  indexes: (page) => page.getByText("rows are not covered").first().waitFor(),
  jobs: (page) => page.getByText("No jobs").waitFor(),
};

describe("published tables of another host", () => {
  it.each(Object.entries(VIEWS))("show in the view %s, and only that host is asked", async (view, act) => {
    const { page, complaints } = await openPage(browser);
    const origins = watchOrigins(page);
    await page.goto(`${pageFor(tables.url)}#/${view}/events`);
    await act(page);
    expect(await page.locator(".failure").allTextContents()).toEqual([]);
    expect([...origins].sort()).toEqual([new URL(tables.url).origin, new URL(tools.url).origin].sort());
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("are listed, and hostile names and values show as text", async () => {
    const { page, complaints } = await openPage(browser);
    await page.goto(pageFor(tables.url));
    await page.getByRole("treeitem", { name: /<img src=x/ }).click();
    await page.getByRole("heading", { name: /<img src=x/ }).waitFor();
    await page.getByRole("treeitem", { name: "hostile" }).click();
    await page.waitForFunction(() => document.querySelector("img.thumbnail")?.getAttribute("src"));
    await page.waitForFunction(() => {
      const image = document.querySelector<HTMLImageElement>("img.thumbnail");
      return image?.complete === true && image.naturalWidth > 0;
    });
    expect(await page.locator("#cell-0-2").textContent()).toContain("\\u202eevil\\u202c");
    expect(await page.evaluate(() => (globalThis as { attacked?: unknown }).attacked)).toBeUndefined();
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("are searched in other languages than English", async () => {
    const { page, complaints } = await openPage(browser);
    await page.goto(`${pageFor(tables.url)}#/search/phrases`);
    await page.getByPlaceholder("Words to find").fill("continuer");
    await page.keyboard.press("Enter");
    await page.locator("mark", { hasText: "continuait" }).waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("open by the address of one table, also without an index", async () => {
    const bare = await makeTempDir();
    await cp(join(root, "events.lance"), join(bare, "some", "events.lance"), { recursive: true });
    const host = await startFileHost(bare);
    host.headers = SHARED;
    const { page } = await openPage(browser);
    await page.goto(pageFor(`${host.url}some/events.lance`));
    await page.getByRole("heading", { name: "events" }).waitFor();
    await rowsArrive(page);
    expect(await page.getByRole("treeitem").allTextContents()).toEqual([expect.stringContaining("events")]);
    await page.context().close();
    await host[Symbol.asyncDispose]();
  });

  it("open without a query if the page lies beside them", async () => {
    const { page, complaints } = await openPage(browser);
    await page.goto(`${tables.url}inspector.html`);
    await page.getByRole("treeitem", { name: "events" }).click();
    await rowsArrive(page);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("tell why nothing comes from a host that lets no other page read", async () => {
    const host = await startFileHost(root);
    const { page } = await openPage(browser);
    await page.goto(pageFor(host.url));
    await page.getByText("must send Access-Control-Allow-Origin").first().waitFor();
    await page.context().close();
    await host[Symbol.asyncDispose]();
  });
});

describe("the policy of the page", () => {
  it("refuses requests to every other host, redirects included", async () => {
    const other = await startFileHost(root);
    other.headers = SHARED;
    const { page } = await openPage(browser);
    await page.goto(pageFor(tables.url));
    await page.getByRole("treeitem", { name: "events" }).waitFor();
    const ask = (url: string) =>
      page.evaluate(
        (target) =>
          fetch(target).then(
            () => "answered",
            () => "refused",
          ),
        url,
      );
    expect(await ask(`${tables.url}tiltyard-index.json`)).toBe("answered");
    expect(await ask(`${other.url}tiltyard-index.json`)).toBe("refused");
    tables.misbehave = (_, response) => {
      response.writeHead(302, { location: `${other.url}tiltyard-index.json` }).end();
      return true;
    };
    expect(await ask(`${tables.url}tiltyard-index.json`)).toBe("refused");
    tables.misbehave = null;
    expect(other.requests).toEqual([]);
    await page.context().close();
    await other[Symbol.asyncDispose]();
  });

  it("allows no directory beside the chosen one", async () => {
    const { page } = await openPage(browser);
    await page.goto(pageFor(`${tables.url}events.lance/../sub;a,b/`));
    await page.getByRole("searchbox", { name: "Search tables" }).waitFor();
    const isRefused = await page.evaluate(
      (target) =>
        fetch(target).then(
          () => false,
          () => true,
        ),
      `${tables.url}tiltyard-index.json`,
    );
    expect(isRefused).toBe(true);
    await page.context().close();
  });
});

/** Drops files or folders of this computer on the middle of a page. */
async function drop(page: Page, paths: readonly string[]): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [...paths], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const) {
    await session.send("Input.dispatchDragEvent", { type, x: 300, y: 300, data });
  }
}

/** Opens the page from a file of this computer. */
async function openFilePage(options: Parameters<typeof openPage>[1] = {}, address = FILE_URL) {
  const watched = await openPage(browser, options);
  await watched.page.goto(address);
  const origins = watchOrigins(watched.page);
  await watched.page.getByRole("button", { name: "Choose a folder" }).waitFor();
  return { ...watched, origins };
}

/** Hides what some browsers lack. */
const HIDE_HANDLES = `
  delete globalThis.showDirectoryPicker;
  delete DataTransferItem.prototype.getAsFileSystemHandle;`;

describe("a folder of this computer", () => {
  it.each(["with handles", "without handles"])("opens when it is dropped, %s", async (kind) => {
    // Chromium lists dropped files without handles only for pages of a host.
    const hasHandles = kind === "with handles";
    const address = hasHandles ? FILE_URL : `${tools.url}inspector.html?root=`;
    const { page, complaints, origins } = await openFilePage({}, address);
    if (!hasHandles) await page.evaluate(HIDE_HANDLES);
    await drop(page, [root]);
    await page.getByRole("treeitem", { name: "events" }).click();
    await rowsArrive(page);
    await page.getByRole("tab", { name: "Search" }).click();
    await page.getByPlaceholder("Words to find").fill("silver garden");
    await page.getByPlaceholder("Row id").fill("200");
    await page.keyboard.press("Enter");
    await page.waitForSelector("mark");
    await page.getByRole("tab", { name: "Storage" }).click();
    await page.waitForSelector(".tile");
    await page.getByRole("treeitem", { name: "hostile" }).click();
    await page.getByRole("tab", { name: "Rows" }).click();
    await page.waitForSelector("img.thumbnail");
    expect(await page.evaluate(() => (globalThis as { attacked?: unknown }).attacked)).toBeUndefined();
    expect([...origins]).toEqual([]);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("opens when it is picked in a field for files", async () => {
    const { page, complaints } = await openFilePage();
    await page.evaluate(HIDE_HANDLES);
    const chooser = page.waitForEvent("filechooser");
    await page.getByRole("button", { name: "Choose a folder" }).click();
    await (await chooser).setFiles(root);
    await page.getByRole("treeitem", { name: "events" }).click();
    await rowsArrive(page);
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("opens when the browser's own picker returns it", async () => {
    const { page, complaints } = await openPage(browser);
    await page.goto(`${tools.url}inspector.html?root=`);
    // The private file system stands in for a folder, because tests cannot use the picker.
    await page.evaluate(`globalThis.showDirectoryPicker = () => navigator.storage.getDirectory();`);
    await page.getByRole("button", { name: "Choose a folder" }).click();
    await page.getByText("There are no tables here yet.").waitFor();
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("of a single table opens that table, whatever the folder is called", async () => {
    const folder = join(await makeTempDir(), "<img src=x onerror=alert(1)>");
    await cp(join(root, "events.lance"), folder, { recursive: true });
    const { page, complaints } = await openFilePage();
    for (const path of [join(root, "events.lance"), folder]) {
      await drop(page, [path]);
      const name = path === folder ? "_img_src_x_onerror_alert_1__" : "events";
      await page.getByRole("heading", { name }).waitFor();
      await page.getByText(basename(path), { exact: true }).first().waitFor();
      await rowsArrive(page);
      expect(await page.getByRole("treeitem").count()).toBe(1);
    }
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("shows another table when a second folder is dropped", async () => {
    const other = await makeTempDir();
    await cp(join(root, "hostile.lance"), join(other, "second.lance"), { recursive: true });
    const { page } = await openFilePage();
    await drop(page, [root]);
    await page.getByRole("treeitem", { name: "events" }).click();
    await rowsArrive(page);
    await drop(page, [other]);
    await page.getByRole("treeitem", { name: "second" }).click();
    await page.getByRole("heading", { name: "second" }).waitFor();
    await rowsArrive(page);
    await page.getByRole("link", { name: "Open other tables" }).click();
    await page.getByRole("button", { name: "Choose a folder" }).waitFor();
    await page.context().close();
  });
});

describe("the page without tables", () => {
  it.each([
    ["", {}],
    ["dark", { colorScheme: "dark" as const }],
    ["narrow", { viewport: { width: 390, height: 800 } }],
  ])("breaks no rule of accessibility %s", async (_, options) => {
    const { page, complaints } = await openFilePage(options);
    expect(await accessibilityFaults(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(
      0,
    );
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  it("opens the address that is typed", async () => {
    const { page } = await openFilePage();
    await page.getByLabel("Address of a table").fill(tables.url);
    await page.keyboard.press("Enter");
    await page.getByRole("treeitem", { name: "events" }).waitFor();
    await page.context().close();
  });

  it("says what is wrong with an address or a drop", async () => {
    const directory = await makeTempDir();
    await writeFile(join(directory, "rows.csv"), "id\n1\n");
    await mkdir(join(directory, "empty"));
    const { page } = await openFilePage();
    const address = page.getByLabel("Address of a table");
    for (const [text, message] of [
      ["ftp://example.org/tables", "begins with https: or http:"],
      ["http://[::1]/tables", "cannot name an IPv6 number"],
      ["https://", "is not an address"],
      ["javascript:alert(1)", "begins with https: or http:"],
    ]) {
      await address.fill(text);
      await page.keyboard.press("Enter");
      await page.getByRole("alert").filter({ hasText: message }).waitFor();
    }
    await drop(page, [join(directory, "rows.csv")]);
    await page.getByRole("alert").filter({ hasText: "Drop a folder, not a file." }).waitFor();
    await drop(page, [root, directory]);
    await page.getByRole("alert").filter({ hasText: "Drop one folder" }).waitFor();
    await drop(page, [join(directory, "empty")]);
    await page.getByText("There are no tables here yet.").waitFor();
    await page.context().close();
  });
});
