/**
 * Returns the name of a protobuf message without its package, which identifies the type of an index's
 * details. Lance has moved messages between packages: `/lance.table.BTreeIndexDetails` and
 * `/lance.index.pb.BTreeIndexDetails` are one type.
 */
export const messageName = (typeUrl: string): string =>
  typeUrl.slice(Math.max(typeUrl.lastIndexOf("/"), typeUrl.lastIndexOf(".")) + 1);
