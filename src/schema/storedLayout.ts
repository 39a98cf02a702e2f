/**
 * Storage layouts of a table's fields: the layouts of their types, with structs packed if their fields ask
 * for it. Callers pass and get rows as structs that are not packed. Structs of blobs are packed if they are a
 * leaf.
 */

import type { Layout, PackedMember, StructLayout } from "../arrow/columns/column.js";
import { layoutOf } from "../arrow/types/layouts.js";
import { arrowFieldFromLogical } from "../arrow/types/logicalTypes.js";
import { typeInText } from "../arrow/types/type.js";
import { UnsupportedError } from "../errors.js";
import { isPacked, storageOf, type TableField } from "./schema.js";

/**
 * @param leafLayoutOf replaces the layouts of leaves
 * @throws UnsupportedError for a type that files cannot hold
 */
export function storedLayoutOf(
  field: TableField,
  path: string,
  leafLayoutOf: (layout: Layout, field: TableField) => Layout = (layout) => layout,
): Layout {
  const stored = (layout: Layout, field: TableField): Layout => {
    switch (layout.kind) {
      case "list":
      case "sizedList":
        return { ...layout, item: stored(layout.item, field.children[0]) } as Layout;
      case "struct": {
        if (isPacked(field) || storageOf(field) === "blobStructs") {
          return leafLayoutOf({ kind: "packedStruct", children: packedMembers(layout, field, path) }, field);
        }
        const children = layout.children.map((child, index) => ({
          ...child,
          layout: stored(child.layout, field.children[index]),
        }));
        return { ...layout, children };
      }
      default:
        return leafLayoutOf(layout, field);
    }
  };
  return stored(layoutOf(arrowFieldFromLogical(field, path).type, path), field);
}

function packedMembers({ children }: StructLayout, field: TableField, path: string): PackedMember[] {
  return children.map(({ name, nullable, layout }, index) => {
    const child = field.children[index];
    const bits = layout.kind === "fixedSizeList" ? listBits(layout) : 0;
    if (
      (layout.kind === "fixed" || layout.kind === "variable" || layout.kind === "fixedSizeList") &&
      bits % 8 === 0 &&
      storageOf(child) === "values"
    ) {
      return { name, nullable, layout };
    }
    throw new UnsupportedError(
      `column ${path}: member ${name} of type ${typeInText(child.type)} in a packed struct is not supported by this release`,
    );
  });
}

/** Bits of one list of a fixed-size list of booleans; 0 for items of another type. */
function listBits(layout: Extract<Layout, { kind: "fixedSizeList" }>): number {
  if (layout.item.kind === "bits") return layout.dimension;
  return layout.item.kind === "fixedSizeList" ? layout.dimension * listBits(layout.item) : 0;
}
