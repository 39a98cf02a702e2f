/** Rules of accessibility that a page breaks, by axe. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

interface BrokenRule {
  readonly id: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Returns the rules that a page breaks, with the elements. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // The page's policy allows no further scripts, and the browser none by the protocol's `script` element.
  await page.evaluate(await readFile(AXE, "utf8"));
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run(): Promise<{ violations: readonly BrokenRule[] }> };
    };
    const { violations } = await axe.run();
    return violations.flatMap(({ id, nodes }) =>
      nodes
        .slice(0, 3)
        .map(
          ({ html, failureSummary = "" }) => `${id}: ${html.slice(0, 160)} ${failureSummary.slice(0, 200)}`,
        ),
    );
  });
}
