/**
 * `npm run test:engines`: pinned releases of other engines, in `.engines` or where `TILTYARD_ENGINES` says.
 * A test is named after its engine and the operation; the table at the end of a run has a line for each.
 */
import { defineConfig } from "vitest/config";
import { settings } from "../../vitest.config.ts";

const REPORTERS = ["./test/engines/support/engineReporter.ts", "./test/support/summaryReporter.ts"];

export default defineConfig({
  ...settings,
  test: {
    ...settings.test,
    include: ["test/engines/**/*.test.ts"],
    globalSetup: ["test/engines/support/checkMachine.ts"],
    // Each engine takes a core or two, and a gigabyte.
    maxWorkers: 2,
    reporters: process.env.CI === undefined ? ["default", ...REPORTERS] : REPORTERS,
  },
});
