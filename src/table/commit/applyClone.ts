/**
 * Makes the first version of a branch: a copy of another branch's version, under the same number. The files
 * stay in their directories. A new base path names the source's own directory. Files that the source has
 * inherited keep their base path.
 */

import { UnsupportedError } from "../../errors.js";
import { BasePath, type Clone, type DataFragment, type Manifest } from "../../format/table.js";
import { encodeIndexSection, indicesOf, type VersionContent } from "../versions/versionContent.js";

const MAX_BASE_ID = 0xffff_ffff;

/** @param source content of the cloned version */
export function cloneVersion(source: VersionContent, clone: Clone): VersionContent {
  const { manifest } = source;
  const id = manifest.basePaths.reduce((next, base) => Math.max(next, base.id + 1), 0);
  if (id > MAX_BASE_ID) throw new UnsupportedError("the table has used up all 2^32 ids of base paths");
  const inherited: Manifest = {
    ...manifest,
    fragments: manifest.fragments.map((fragment) => inheritFragment(fragment, id)),
    basePaths: [
      ...manifest.basePaths,
      BasePath.create({ id, name: clone.refName, isDatasetRoot: true, path: clone.refPath }),
    ],
    branch: clone.branchName,
  };
  const indices = indicesOf(source).map((index) => ({ ...index, baseId: index.baseId ?? id }));
  return { manifest: inherited, indexSectionBytes: encodeIndexSection(indices) };
}

function inheritFragment(fragment: DataFragment, baseId: number): DataFragment {
  const { files, deletionFile } = fragment;
  const inherited: DataFragment = {
    ...fragment,
    files: files.map((file) => ({ ...file, baseId: file.baseId ?? baseId })),
  };
  if (deletionFile !== undefined) {
    inherited.deletionFile = { ...deletionFile, baseId: deletionFile.baseId ?? baseId };
  }
  return inherited;
}
