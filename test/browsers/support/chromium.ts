/** Starts the Chromium of the machine, and watches what its pages complain about. */

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

const NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome.exe"];
const INSTALLED = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
  "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
];

function findChromium(): string {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const candidates = [
    ...(process.env.CHROMIUM === undefined ? [] : [process.env.CHROMIUM]),
    ...folders.flatMap((folder) => NAMES.map((name) => join(folder, name))),
    ...INSTALLED,
  ];
  const path = candidates.find((candidate) => existsSync(candidate));
  if (path === undefined)
    throw new Error("there is no Chromium: install it, or name its program in CHROMIUM");
  return path;
}

export const startChromium = (args: readonly string[] = []): Promise<Browser> =>
  // Containers lack what the sandbox needs. The pages are this repository's.
  chromium.launch({ executablePath: findChromium(), args: ["--no-sandbox", ...args] });

/** A page, and everything that went wrong in it. */
export interface WatchedPage {
  readonly page: Page;
  readonly complaints: string[];
}

/** Opens a page of its own profile. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("dialog", async (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    await dialog.dismiss();
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (/^https?:$/.test(url.protocol) && url.hostname !== "127.0.0.1" && url.hostname !== "localhost") {
      complaints.push(`request to ${url.hostname}`);
    }
  });
  return { page, complaints };
}
