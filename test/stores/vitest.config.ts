/**
 * `npm run test:stores`: tables in buckets of two S3 servers, with LanceDB and pylance beside us. moto comes
 * from PyPI. MinIO is built by Go from its module, or `TILTYARD_MINIO` names its program. `STORE_COMMITS=500`
 * makes the race of writers four times as long. The namespace suite runs on one server: `SUITE_STORE=moto` or
 * `MinIO`, by default MinIO if it is built.
 */
import { defineConfig } from "vitest/config";
import { project, settings, suiteOn } from "../../vitest.config.ts";

const bucketSuite = suiteOn("s3");

export default defineConfig({
  ...settings,
  test: {
    ...settings.test,
    globalSetup: ["test/engines/support/checkMachine.ts"],
    // Each file starts servers and processes of its own.
    maxWorkers: 1,
    projects: [
      project("stores", { include: ["test/stores/**/*.test.ts"] }),
      { ...bucketSuite, test: { ...bucketSuite.test, globalSetup: ["test/stores/support/suiteBucket.ts"] } },
    ],
  },
});
