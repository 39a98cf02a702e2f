/** The class on a disk like an object store, for suites of the class. */

import { DirectoryNamespace } from "../../src/DirectoryNamespace.js";
import type { DirectoryNamespaceOptions } from "../../src/namespace/options.js";
import { directoryStore } from "./directoryStore.js";

const store = directoryStore();

export class StoreNamespace extends DirectoryNamespace {
  /** Lets tests skip what such a disk cannot do. */
  static readonly onStore = true;

  constructor(options: DirectoryNamespaceOptions) {
    super({ ...options, disk: store });
  }
}
