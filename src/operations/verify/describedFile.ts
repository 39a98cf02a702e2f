/** Describes the columns and pages of a data file or index file, from its metadata alone. */

import type { DataFileMetadata, DataPage } from "../../file/container/reader.js";
import type { Field } from "../../format/file.js";
import type { DataFile } from "../../format/table.js";
import { formatFieldPath } from "../../ident.js";
import type { DescribedColumn, DescribedPage } from "../../namespace/storage.js";

/** Pages of a column that are listed. */
const MAX_PAGES = 1000;
/** Encodings inside of each other that are named. */
const MAX_DEPTH = 8;

/** Members of encodings that are no encodings of values. */
const NOT_NAMED: ReadonlySet<string> = new Set([
  ...["repCompression", "defCompression", "validity", "offsets", "runLengths", "indices"],
  ...["legacy", "nested", "withinRow", "unknown"],
]);

/** Returns the encoding of a page: the names of the encodings of its values, outermost first. */
function encodingText(layout: object): string {
  const names: string[] = [];
  let current: object | null = layout;
  while (current !== null && names.length < MAX_DEPTH) {
    const entry = Object.entries(current).find(([name, member]) => !NOT_NAMED.has(name) && isMessage(member));
    if (entry === undefined) break;
    if (!STRUCTURAL.has(entry[0])) names.push(entry[0]);
    current = entry[1] as object;
  }
  return names.length === 0 ? "unknown" : `${names.join("(")}${")".repeat(names.length - 1)}`;
}

const isMessage = (member: unknown): boolean =>
  typeof member === "object" && member !== null && !ArrayBuffer.isView(member) && !Array.isArray(member);

/** Members that lead to an encoding and are none. */
const STRUCTURAL: ReadonlySet<string> = new Set([
  ...["valueCompression", "values", "innerLayout", "array", "noNulls", "someNulls", "items", "data"],
  ...["compression", "value", "bytes", "buffer", "inner", "dictionaryItems"],
]);

const bytesOfPage = ({ bufferRanges }: DataPage): number =>
  bufferRanges.reduce((sum, { length }) => sum + length, 0);

/** Returns the columns of a file with their pages. @param names names by the number of the column */
export function describedColumns(
  { columns }: DataFileMetadata,
  names: ReadonlyMap<number, string>,
): DescribedColumn[] {
  return columns.map(({ pages }, index) => {
    const described = pages.slice(0, MAX_PAGES).map(
      (page): DescribedPage => ({
        firstRow: page.rowStart,
        rows: page.rowCount,
        bytes: bytesOfPage(page),
        encoding: encodingText(page.layout),
      }),
    );
    return {
      name: names.get(index) ?? `column ${index}`,
      bytes: pages.reduce((sum, page) => sum + bytesOfPage(page), 0),
      pageCount: pages.length,
      encodings: [...new Set(pages.map(({ layout }) => encodingText(layout)))],
      pages: described,
    };
  });
}

/** Returns the names of a data file's columns by their numbers. @param fields of the version */
export function namesOfColumns(fields: readonly Field[], file: DataFile): Map<number, string> {
  const paths = pathsOf(fields);
  const names = new Map<number, string>();
  for (const [index, fieldId] of file.fields.entries()) {
    const column = file.columnIndices[index] ?? index;
    const path = paths.get(fieldId);
    if (column >= 0 && path !== undefined) names.set(column, path);
  }
  return names;
}

/** Returns the names of the columns of a file that has its own schema, as index files have. */
export function namesInFile({ descriptor, columns }: DataFileMetadata): Map<number, string> {
  const fields = descriptor.schema?.fields ?? [];
  const paths = pathsOf(fields);
  const parents = new Set(fields.map(({ parentId }) => parentId));
  const leaves = fields.filter(({ id }) => !parents.has(id));
  // Files of 2.0 have columns for structs and lists, too.
  const named = leaves.length === columns.length ? leaves : fields;
  return new Map(named.map(({ id, name }, index) => [index, paths.get(id) ?? name]));
}

function pathsOf(fields: readonly Field[]): Map<number, string> {
  const byId = new Map(fields.map((field) => [field.id, field]));
  const segmentsOf = (field: Field, depth = 0): string[] => {
    const parent = depth < 100 ? byId.get(field.parentId) : undefined;
    return parent === undefined ? [field.name] : [...segmentsOf(parent, depth + 1), field.name];
  };
  return new Map(fields.map((field) => [field.id, formatFieldPath(segmentsOf(field))]));
}
