/**
 * Operations that create and drop indexes, and those that wait for jobs, such as the builds of indexes. The
 * first call of one of them loads this module.
 */

export { createTableIndex, createTableScalarIndex } from "../operations/index/createTableIndex.js";
export { dropTableIndex } from "../operations/index/dropTableIndex.js";
export { cancelJob } from "../operations/job/cancelJob.js";
export { waitForJob } from "../operations/job/waitForJob.js";
