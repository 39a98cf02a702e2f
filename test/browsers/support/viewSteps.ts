/** Steps in the inspector's page, of a server or of the file. */

import type { Page } from "playwright-core";

/** Waits for rows in the grid. */
export const rowsArrive = (page: Page) => page.waitForSelector(".cell:not(:has(.pending))");

type Steps = (page: Page) => Promise<unknown>;

/** Steps through views of the table `events`, each until it shows something of the table. */
export const VIEW_STEPS: Readonly<Record<string, Steps>> = {
  rows: async (page) => {
    await rowsArrive(page);
    await page.getByRole("button", { name: "Statistics of price" }).click();
    await page.waitForSelector(".histogram");
  },
  schema: (page) => page.getByRole("rowheader", { name: "vector" }).waitFor(),
  search: async (page) => {
    await page.getByPlaceholder("Words to find").fill("silver garden");
    await page.getByPlaceholder("Row id").fill("200");
    await page.keyboard.press("Enter");
    await page.waitForSelector("mark");
    await page.getByRole("button", { name: "Show the plan" }).click();
    await page.waitForSelector(".plan-tree .metrics");
  },
  map: (page) => page.waitForSelector("canvas"),
  versions: async (page) => {
    await page.getByRole("button", { name: "What changed" }).nth(0).click();
    await page.waitForSelector("tr.added");
  },
  storage: async (page) => {
    await page.waitForSelector(".tile");
    await page.waitForFunction(() => !document.querySelector(".cards")?.textContent?.includes("…"));
  },
};
