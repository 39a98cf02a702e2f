/** MigrateManifestNames: renames manifests to scheme V2. This operation is not in the namespace spec. */

import { requireTableDirectory } from "../../catalog/locations/tables.js";
import { TableBranchNotFoundError } from "../../errors.js";
import { formatIdentifier } from "../../ident.js";
import { confirmDirectory } from "../../io/disk/confinement.js";
import { checkBranchName, isMainBranch } from "../../table/refs/refNames.js";
import { renameManifestsToV2 } from "../../table/versions/manifestMigration.js";
import { tableAt } from "../../table/versions/tableAt.js";
import { isRegistered } from "../findRefs.js";
import type { OperationBody } from "../operation.js";
import { optionalString, requireTableId } from "../request.js";

export const migrateManifestNames: OperationBody<"migrateManifestNames"> = async (context, request) => {
  const id = requireTableId(request.id);
  const branch = optionalString(request.branch, "branch");
  const onMain = isMainBranch(branch);
  if (!onMain) checkBranchName(branch);
  // A crash may have left a table that mixes both schemes, whose versions cannot be listed.
  const directory = await requireTableDirectory(context, id);
  const table = tableAt(context, directory, onMain ? null : branch);
  if (!onMain && !(await isRegistered(table, branch))) {
    throw new TableBranchNotFoundError(`table ${formatIdentifier(id)} has no branch ${branch}`);
  }
  await confirmDirectory(context.confinement, table.root);
  return { numRenamed: await renameManifestsToV2(table, request.signal) };
};
