/** A worker on Ray, as examples/ray-backfill has it, with the functions of the test. */

import { DirectoryNamespace } from "tiltyard";
import { serveBackfillTasks } from "tiltyard/ray";
import { functions } from "./slowFunctions.mjs";

await serveBackfillTasks((root) => new DirectoryNamespace({ root, functions, workers: 0 }));
