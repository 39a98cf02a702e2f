/**
 * Compares two versions to find out if an append that was planned on the earlier one fits the later one. Then
 * the commits in between need not be read: whatever they were, all that they did is to add fragments.
 */

import { type DataFragment, encodedFragment, Manifest } from "../../format/table.js";
import { isSameBytes } from "../../platform/native.js";
import type { ManifestFile } from "../versions/manifest.js";

/** Members of a manifest that each append changes. */
const CHANGED_BY_APPENDS: Partial<Manifest> = {
  version: 0,
  timestamp: undefined,
  transactionFile: "",
  transactionSection: undefined,
  transactionSection14: undefined,
  indexSection: undefined,
  writerVersion: undefined,
  fragments: [],
  maxFragmentId: undefined,
  nextRowId: 0,
};

/**
 * Returns true if a later version of a table differs from an earlier one only by additional fragments at the
 * end. Columns, settings, indexes and the rows of the earlier fragments are the same then. Returns false for
 * an earlier version without fragments, because nothing shows that its rows were not replaced.
 * @throws CorruptFileError
 */
export function onlyGainedFragments(earlier: ManifestFile, later: ManifestFile): boolean {
  const [before, after] = [earlier.manifest, later.manifest];
  const [indexesBefore, indexesAfter] = [earlier.indexSectionBytes, later.indexSectionBytes];
  return (
    before.fragments.length > 0 &&
    before.fragments.length <= after.fragments.length &&
    before.fragments.every((fragment, index) => isSameFragment(fragment, after.fragments[index])) &&
    isSameBytes(indexesBefore ?? NO_INDEXES, indexesAfter ?? NO_INDEXES) &&
    isSameBytes(encodedRest(before), encodedRest(after))
  );
}

const NO_INDEXES = new Uint8Array(0);

const isSameFragment = (a: DataFragment, b: DataFragment): boolean =>
  a === b || isSameBytes(encodedFragment(a), encodedFragment(b));

/** Encodes what appends leave as it is, besides the fragments. */
const encodedRest = (manifest: Manifest): Uint8Array =>
  Manifest.encode({ ...manifest, ...CHANGED_BY_APPENDS });
