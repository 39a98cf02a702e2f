/** Gives property tests without a seed of their own the seed of the run. */

import fc from "fast-check";
import { RUN_SEED } from "./effort.js";

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: RUN_SEED });
