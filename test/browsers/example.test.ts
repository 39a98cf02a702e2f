/** The pages of examples/browser, with fewer notes, in Chromium. */

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

/** Bundles a page with the sources in place of the package. */
async function bundlePage(directory: string, name: string): Promise<void> {
  const build = await rolldown({
    input: { [name]: pathOf(`examples/browser/${name}.mjs`) },
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
  await bundlePage(site, "search");
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

it("the diary keeps its notes over visits, finds them by words, and undoes a removal", async () => {
  const site = await makeTempDir();
  await copyFile(pathOf("examples/browser/diary.html"), join(site, "index.html"));
  await bundlePage(site, "diary");
  const host = await startFileHost(site);
  onTestFinished(() => host[Symbol.asyncDispose]());
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${host.url}index.html`);
  await page.getByText(/^0 notes/).waitFor();
  for (const text of ["an owl in a hollow oak", "two foxes by the mill"]) {
    await page.getByLabel("New note").fill(text);
    await page.keyboard.press("Enter");
    await page.getByRole("listitem").filter({ hasText: text }).waitFor();
  }
  const second = await context.newPage();
  await second.goto(`${host.url}index.html`);
  await second.getByText(/^2 notes/).waitFor();
  await second.getByLabel("Words to find").fill("fox");
  await second.getByRole("button", { name: "Find" }).click();
  await second.getByText(/^1 notes/).waitFor();
  await second.getByRole("button", { name: "Remove" }).click();
  await second.getByText(/^0 notes/).waitFor();
  await second.getByRole("button", { name: "Undo" }).click();
  await second.getByText(/^1 notes/).waitFor();
  await page.reload();
  await page.getByText(/^2 notes/).waitFor();
});
