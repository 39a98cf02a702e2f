/** Values of every type: pylance reads ours, and we read pylance's, in every version of data files. */

import type { Table } from "apache-arrow";
import { describe, it } from "vitest";
import { allTypesSpec, makeTable, NULL_PATTERNS } from "../support/generators.js";
import { FILE_VERSIONS, type FileVersion } from "../support/interop.js";
import { MAJORS, openPair } from "./support/pylance.js";

const ROWS = 700;

describe.each(MAJORS)("pylance %i", (major) => {
  const pair = openPair(major);

  const here = async (rows: Table, dataStorageVersion: FileVersion) => {
    const name = pair.freshName();
    await pair.namespaces[dataStorageVersion].createTable({ id: [name] }, rows);
    return name;
  };
  const there = async (rows: Table, dataStorageVersion: FileVersion) => {
    const name = pair.freshName();
    await pair.there("write", name, rows, { data_storage_version: dataStorageVersion });
    return name;
  };

  describe.each(FILE_VERSIONS)("data files %s", (version) => {
    it.each(NULL_PATTERNS)("reads our values of every type, of which %s are null", async (nulls) => {
      const rows = makeTable(allTypesSpec(ROWS, nulls));
      await pair.expectRows(await here(rows, version), rows);
    });

    it.each(
      NULL_PATTERNS,
    )("writes values of every type that we read, of which %s are null", async (nulls) => {
      const rows = makeTable(allTypesSpec(ROWS, nulls));
      await pair.expectRows(await there(rows, version), rows);
    });
  });
});
