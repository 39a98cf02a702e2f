/** Tables and namespaces that are made, dropped and moved during other changes. */

import { readdir } from "node:fs/promises";
import { pauseLoop, type Run, type Victim, victim } from "./loop.js";
import { CHILD_TABLE, ROOT_TABLE, rowsOf, type TableId } from "./world.js";

const create =
  (mode: "Create" | "Overwrite" = "Create"): Run =>
  (ns, id) =>
    ns.createTable({ id, mode }, rowsOf(20));
const declare: Run = (ns, id) => ns.declareTable({ id });
const drop: Run = (ns, id) => ns.dropTable({ id });
const deregister: Run = (ns, id) => ns.deregisterTable({ id });

const NEW_ROOT: TableId = ["new"];
const NEW_CHILD: TableId = ["a", "new"];
const NEW_ELSEWHERE: TableId = ["b", "new"];

const rename = (name: string, id: TableId, newId: TableId): Victim => ({
  name: `rename, ${name}`,
  world: [
    [id, "table"],
    [newId, "absent"],
  ],
  contested: [id, newId],
  run: (ns) =>
    ns.renameTable({ id, newTableName: newId[newId.length - 1], newNamespaceId: newId.slice(0, -1) }),
});

pauseLoop([
  victim("create, root", ROOT_TABLE, "absent", create()),
  victim("create, child", CHILD_TABLE, "absent", create()),
  victim("create or overwrite, child", CHILD_TABLE, "absent", create("Overwrite")),
  victim("create a declared table, root", ROOT_TABLE, "declared", create()),
  victim("create a declared table, child", CHILD_TABLE, "declared", create()),
  victim("create over a table, root", ROOT_TABLE, "table", create("Overwrite")),
  victim("declare, root", ROOT_TABLE, "absent", declare),
  victim("declare, child", CHILD_TABLE, "absent", declare),
  victim("drop, root", ROOT_TABLE, "table", drop),
  victim("drop, child", CHILD_TABLE, "table", drop),
  victim("drop a declared table", ROOT_TABLE, "declared", drop),
  rename("root to root", ROOT_TABLE, NEW_ROOT),
  rename("child to child", CHILD_TABLE, NEW_CHILD),
  rename("child to root", CHILD_TABLE, NEW_ROOT),
  rename("root to child", ROOT_TABLE, NEW_ELSEWHERE),
  victim("deregister, root", ROOT_TABLE, "table", deregister),
  victim("deregister, child", CHILD_TABLE, "table", deregister),
  victim("register, root", ROOT_TABLE, "hidden", (ns, id) => ns.registerTable({ id, location: "t.lance" })),
  {
    name: "register, child",
    world: [
      [NEW_CHILD, "absent"],
      [["c", "kept"], "hidden"],
    ],
    prepare: async (root) => (await readdir(root)).find((name) => name.endsWith("c$kept")) ?? "",
    run: (ns, location) => ns.registerTable({ id: NEW_CHILD, location }),
  },
  victim("create a namespace", CHILD_TABLE, "absent", (ns, id) => ns.createNamespace({ id })),
  victim("drop a namespace", CHILD_TABLE, "absent", (ns) => ns.dropNamespace({ id: ["a"] })),
  victim("drop a namespace and all in it", CHILD_TABLE, "table", (ns) =>
    ns.dropNamespace({ id: ["a"], behavior: "Cascade" }),
  ),
]);
