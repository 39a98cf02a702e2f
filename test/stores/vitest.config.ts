/**
 * `npm run test:stores`: tables in buckets of S3 servers of others, with LanceDB and pylance beside us, and the
 * namespace suite on each server.
 *
 *     STORES=moto,SeaweedFS     servers of the run. Default: these and MinIO, which Go builds in some minutes
 *     SUITE_STORES=SeaweedFS    servers that the namespace suite runs on. Default: those of the run
 *     TILTYARD_MINIO            program of MinIO, if it is not to be built
 *     STORE_COMMITS=125         commits of the race of writers. Default: 500
 *     STORE_KILLS=4             rounds in which writers are killed. Default: 12
 *     TILTYARD_TEST_BUCKET      options of `s3Disk` as JSON: the namespace suite runs on that bucket instead, as in
 *                               npm run test:stores -- --project "namespaces on s3"
 */
import type { TestProjectInlineConfiguration } from "vitest/config";
import { defineConfig } from "vitest/config";
import { project, settings, suiteOn } from "../../vitest.config.ts";
import { type StoreName, SUITE_STORES } from "./support/storeNames.ts";

/** The namespace suite on a server. */
function suiteOnStore(name: StoreName): TestProjectInlineConfiguration {
  const suite = suiteOn("s3");
  return {
    ...suite,
    test: {
      ...suite.test,
      name: `namespaces on ${name}`,
      env: { ...suite.test?.env, SUITE_STORE: name },
      globalSetup: ["test/stores/support/suiteBucket.ts"],
      // After the other tests; a server takes a core.
      maxWorkers: 2,
      sequence: { groupOrder: 1 },
    },
  };
}

export default defineConfig({
  ...settings,
  test: {
    ...settings.test,
    // Each file starts servers and processes of its own.
    maxWorkers: 1,
    projects: [
      project("stores", {
        include: ["test/stores/**/*.test.ts"],
        globalSetup: ["test/engines/support/checkMachine.ts", "test/stores/support/reportStores.ts"],
      }),
      ...(process.env.TILTYARD_TEST_BUCKET === undefined ? SUITE_STORES.map(suiteOnStore) : [suiteOn("s3")]),
    ],
  },
});
