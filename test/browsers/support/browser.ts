/** Chromium with the package, whose pages have their own storage. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { type Bundle, bundleForBrowsers, bundleProgram } from "./bundle.js";
import { startChromium } from "./chromium.js";

export interface TestBrowser {
  /** Address of the files of the bundle. */
  readonly url: string;
  /** Returns the code of a file of the bundle. */
  codeOf(name: string): string | undefined;
  /** Opens a page with the package's names as globals: `tiltyard`, `disks` and `arrow`. */
  open(context?: BrowserContext): Promise<Page>;
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
  let server: Server;
  let url = "";
  const bundle = new Map<string, Bundle extends ReadonlyMap<string, infer File> ? File : never>();
  beforeAll(async () => {
    for (const [name, file] of await bundleForBrowsers()) bundle.set(name, file);
    for (const [program, code] of Object.entries(programs)) {
      for (const [name, file] of await bundleProgram(code)) bundle.set(`${program}/${name}`, file);
    }
    server = createServer((request, response) => {
      const file = bundle.get((request.url ?? "/").slice(1));
      if (request.url === "/") return response.setHeader("content-type", "text/html").end(PAGE);
      if (request.url === "/empty")
        return response.setHeader("content-type", "text/html").end("<!doctype html>");
      if (file === undefined) return response.writeHead(404).end();
      response.setHeader("content-type", "text/javascript").end(file.code);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser.close();
    server.closeAllConnections();
    server.close();
  });
  return {
    get url() {
      return url;
    },
    codeOf: (name) => bundle.get(name)?.code,
    newContext: () => browser.newContext(),
    async open(context) {
      const page = await (context ?? (await browser.newContext())).newPage();
      page.on("pageerror", (error) => console.error(error));
      await page.goto(url);
      await page.waitForFunction("globalThis.isReady");
      return page;
    },
  };
}

/** Runs the body of an async function in a page; its value must be JSON. */
export const run = <T>(page: Page, body: string): Promise<T> =>
  page.evaluate(`(async () => { ${body} })()`) as Promise<T>;
