/** Chromium with the package, whose pages have their own storage. */

import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { type Bundle, bundleForBrowsers, bundleProgram } from "./bundle.js";
import { type BundleServer, ISOLATED, serveBundle } from "./bundleServer.js";
import { startChromium } from "./chromium.js";

export interface TestBrowser {
  /** Address of the files of the bundle. */
  readonly url: string;
  /** Returns the code of a file of the bundle. */
  codeOf(name: string): string | undefined;
  /** Opens a page with the package's names as globals: `tiltyard`, `disks` and `arrow`. */
  open(context?: BrowserContext, path?: string): Promise<Page>;
  newContext(): Promise<BrowserContext>;
}

const PAGE = `<!doctype html><meta charset="utf-8"><title>tiltyard</title><script type="module">
  globalThis.tiltyard = await import("/index.js");
  globalThis.disks = await import("/disks.js");
  globalThis.conformance = await import("/conformance.js");
  globalThis.isReady = true;
</script>`;

/**
 * Starts Chromium for the tests of a file.
 * @param programs modules by name, each with the package bundled for it alone: `/<name>/program.js`
 */
export function sharedBrowser(programs: Readonly<Record<string, string>> = {}): TestBrowser {
  let browser: Browser;
  let server: BundleServer;
  const bundle = new Map<string, Bundle extends ReadonlyMap<string, infer File> ? File : never>();
  beforeAll(async () => {
    for (const [name, file] of await bundleForBrowsers()) bundle.set(name, file);
    for (const [program, code] of Object.entries(programs)) {
      for (const [name, file] of await bundleProgram(code)) bundle.set(`${program}/${name}`, file);
    }
    server = await serveBundle({ "/": PAGE, [ISOLATED]: PAGE, "/empty": "<!doctype html>" }, bundle);
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser.close();
    server.close();
  });
  return {
    get url() {
      return server.url;
    },
    codeOf: (name) => bundle.get(name)?.code,
    newContext: () => browser.newContext(),
    async open(context, path = "/") {
      const page = await (context ?? (await browser.newContext())).newPage();
      page.on("pageerror", (error) => console.error(error));
      await page.goto(server.url + path);
      await page.waitForFunction("globalThis.isReady");
      return page;
    },
  };
}

/** Runs the body of an async function in a page; its value must be JSON. */
export const run = <T>(page: Page, body: string): Promise<T> =>
  page.evaluate(`(async () => { ${body} })()`) as Promise<T>;
