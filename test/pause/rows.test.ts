/** Changes of rows during other changes. */

import { pauseLoop, type Run, victim } from "./loop.js";
import { CHILD_TABLE, ROOT_TABLE, rowsOf } from "./world.js";

const insert =
  (request: object = {}): Run =>
  (ns, id) =>
    ns.insertIntoTable({ id, ...request }, rowsOf(10));
/** A deletion of rows that no rival appends: it need not see rows that are appended while it runs. */
const remove =
  (request: object = {}): Run =>
  (ns, id) =>
    ns.deleteFromTable({ id, ...request, predicate: "v IN (1, 2)" });
const update =
  (request: object = {}): Run =>
  (ns, id) =>
    ns.updateTable({ id, ...request, predicate: "v IN (1, 3)", updates: [["v", "v + 5000"]] });
/** A merge of rows that no rival adds, for the same reason. */
const merge =
  (request: object = {}): Run =>
  (ns, id) =>
    ns.mergeInsertIntoTable(
      { id, ...request, on: "v", whenMatchedUpdateAll: true, whenNotMatchedInsertAll: true },
      rowsOf(1, 3, 7000),
    );
/** This rival appends the tested rows once more. */
const without = ["publish after a gap"];
const overwrite = insert({ mode: "Overwrite" });
const onBranch = { branch: "dev" };

pauseLoop([
  victim("append, root", ROOT_TABLE, "table", insert()),
  victim("append, child", CHILD_TABLE, "table", insert()),
  victim("append to a known table", ROOT_TABLE, "table", insert(), {
    warmUp: (ns) => insert()(ns, ROOT_TABLE, ""),
  }),
  victim("overwrite, root", ROOT_TABLE, "table", overwrite),
  victim("append to a declared table, root", ROOT_TABLE, "declared", insert()),
  victim("append to a declared table, child", CHILD_TABLE, "declared", insert()),
  victim("overwrite a declared table, child", CHILD_TABLE, "declared", overwrite),
  victim("delete rows, root", ROOT_TABLE, "table", remove(), { without }),
  victim("delete rows, child", CHILD_TABLE, "table", remove(), { without }),
  victim("delete rows of a branch", ROOT_TABLE, "refs", remove(onBranch), { without }),
  victim("update rows, root", ROOT_TABLE, "table", update(), { without }),
  victim("update rows, child", CHILD_TABLE, "table", update(), { without }),
  victim("update rows of a branch", ROOT_TABLE, "refs", update(onBranch), { without }),
  victim("merge rows, root", ROOT_TABLE, "table", merge(), { without }),
  victim("merge rows, child", CHILD_TABLE, "table", merge(), { without }),
  victim("merge rows, declared root", ROOT_TABLE, "declared", merge()),
  victim("merge rows of a branch", ROOT_TABLE, "refs", merge(onBranch), { without }),
  victim("append to a branch, root", ROOT_TABLE, "refs", insert(onBranch)),
  victim("append to a branch, child", CHILD_TABLE, "refs", insert(onBranch)),
]);
