/**
 * The circuit breaker of an endpoint that only fails (interface 12.4). Pure: its state is stored, so that all workers see
 * the same.
 */
import { breaking } from './bounds.ts';

export const { failuresToHold, holdMsMax } = breaking;

/** How long the next attempts are held after so many failures in a row; 0: they are not held. */
export const holdMs = (failuresCount: number): number =>
  failuresCount < failuresToHold
    ? 0
    : Math.min(breaking.longestHoldMs, breaking.firstHoldMs * 2 ** Math.min(10, failuresCount - failuresToHold));
