/** The page of examples/browser, with fewer notes, in Chromium. */

import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { expect, it, onTestFinished } from "vitest";
import { browserModules } from "../../.config/browserModules.mjs";
import { startFileHost } from "../support/fileHost.js";
import { makeTempDir } from "../support/tempDir.js";
import { sharedBrowser } from "./support/browser.js";

const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const browser = sharedBrowser();

/** Bundles the page with the sources in place of the package. */
async function bundlePage(directory: string): Promise<void> {
  const build = await rolldown({
    input: { search: pathOf("examples/browser/search.mjs") },
    platform: "browser",
    logLevel: "silent",
    plugins: [browserModules(pathOf("src"), ".ts")],
    resolve: { alias: { "tiltyard/disks": pathOf("src/disks.ts"), tiltyard: pathOf("src/index.ts") } },
  });
  const { output } = await build.generate({ entryFileNames: "[name].js" });
  await build.close();
  for (const file of output)
    if (file.type === "chunk") await writeFile(join(directory, file.fileName), file.code);
}

it("the page finds notes by words and by vector", async () => {
  const site = await makeTempDir();
  // @ts-expect-error: a program without types
  const { publishNotes } = await import("../../examples/browser/publish.mjs");
  await publishNotes(join(site, "tables"), 3000);
  await copyFile(pathOf("examples/browser/index.html"), join(site, "index.html"));
  await bundlePage(site);
  const host = await startFileHost(site);
  onTestFinished(() => host[Symbol.asyncDispose]());
  const page = await (await browser.newContext()).newPage();
  await page.goto(`${host.url}index.html`);
  for (const kind of ["By words", "By vector"]) {
    await page.getByRole("button", { name: kind }).click();
    await page.getByText(/10 notes, \d+ requests/).waitFor();
    expect(await page.locator("li").first().textContent()).toMatch(/hollow oak .* owl/);
    await page.reload();
  }
});
