/** The apache-arrow release of the reference. */

import { createRequire } from "node:module";

const requireReference = createRequire(new URL("../reference/package.json", import.meta.url));

export const arrow18 = requireReference("apache-arrow") as typeof import("apache-arrow");
