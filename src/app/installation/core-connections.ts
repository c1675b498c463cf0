/** How requests to the core share the connections to the store with each other, and leave some to the rest of the process. */
import { createSharedSemaphore } from '#src/platform/sharing/semaphore.ts';
import { coreConnectionsMax, type Settings } from '../settings/config.ts';

/** By caller. `waiting`: requests that wait for a connection here, and not in the pool. */
export type CoreConnections = ReturnType<typeof createSharedSemaphore>;

/** A request waits as long as for a connection of the pool (connectTimeoutMs of platform/db/pool.ts). */
const bounds = { waitingMax: 1_000, waitMsMax: 5_000 };

/**
 * One caller gets four fifths: while all of its requests wait for a lock, which may take as long as a statement, those of others go on
 * over the rest.
 */
export const createCoreConnections = (settings: Settings): CoreConnections => {
  const atOnceMax = coreConnectionsMax(settings);
  return createSharedSemaphore({ ...bounds, atOnceMax, eachMax: Math.max(1, Math.floor((atOnceMax * 4) / 5)) });
};
