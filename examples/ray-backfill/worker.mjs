/** A worker of a backfill on Ray: computes the tasks that `runner.py` hands to it. */

import { DirectoryNamespace } from "tiltyard";
import { serveBackfillTasks } from "tiltyard/ray";
import { functions } from "./functions.mjs";

await serveBackfillTasks((root) => new DirectoryNamespace({ root, functions }));
