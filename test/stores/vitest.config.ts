/**
 * `npm run test:stores`: tables in buckets of two S3 servers, with LanceDB and pylance beside us. moto comes
 * from PyPI. MinIO is built by Go from its module, or `TILTYARD_MINIO` names its program. `STORE_COMMITS=500`
 * makes the race of writers four times as long.
 */
import { defineConfig } from "vitest/config";
import { settings } from "../../vitest.config.ts";

export default defineConfig({
  ...settings,
  test: {
    ...settings.test,
    include: ["test/stores/**/*.test.ts"],
    globalSetup: ["test/engines/support/checkMachine.ts"],
    // Each file starts servers and processes of its own.
    maxWorkers: 1,
  },
});
