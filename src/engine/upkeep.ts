/** Operations that start or control long work. The first call of one of them loads this module. */

export { cleanupTable } from "../operations/table/cleanupTable.js";
export { configureCleanup } from "../operations/table/configureCleanup.js";
export { configureLsmWrites } from "../operations/table/configureLsmWrites.js";
export { configureUpkeep } from "../operations/table/configureUpkeep.js";
export { optimizeTable } from "../operations/table/optimizeTable.js";
export { alterTransaction } from "../operations/transaction/alterTransaction.js";
