import { expect, it } from "vitest";
import { IndexMetadata, Manifest } from "../../../src/format/table.js";
import { tableStatistics } from "../../../src/table/fragments/tableStatistics.js";
import { reference } from "../../support/reference.js";
import { ipcOf, latestFile, makeReferenceTable } from "../support.js";

it("statistics equal those of the reference", async () => {
  const table = await makeReferenceTable([1]);
  const compare = async () => {
    const { manifest, indexSection } = await latestFile(table.root);
    expect(tableStatistics(manifest, indexSection?.indices ?? [])).toEqual(
      await reference.tableStats(table.uri, "t"),
    );
  };
  await compare();
  for (const count of [50, 20, 1, 40, 30]) {
    await reference.appendTable(table.uri, "t", ipcOf(...Array.from({ length: count }, (_, index) => index)));
    await compare();
  }
  await reference.deleteRows(table.uri, "t", "v = 3");
  await compare();
  await reference.deleteRows(table.uri, "t", "true");
  await compare();
});

it("statistics count index files, and names once, without the format's own", () => {
  const files = [{ path: "a", sizeBytes: 100 }];
  const indices = ["a", "a", "b", "__lance_frag_reuse"].map((name) => IndexMetadata.create({ name, files }));
  const { totalBytes, numIndices } = tableStatistics(Manifest.create(), indices);
  expect([totalBytes, numIndices]).toEqual([400, 2]);
});
