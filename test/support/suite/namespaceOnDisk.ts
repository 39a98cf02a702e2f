/** Stands for `tiltyard` in the namespace suite: namespaces are on the disk of the run. */

import { DirectoryNamespace as Engine } from "../../../src/index.js";
import type { DirectoryNamespaceOptions } from "../../../src/namespace/options.js";
import { onSuiteDisk } from "./suiteDisk.js";

export * from "../../../src/index.js";

export class DirectoryNamespace extends Engine {
  constructor(options: DirectoryNamespaceOptions) {
    super(onSuiteDisk(options));
  }
}
